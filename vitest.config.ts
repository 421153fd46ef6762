import { defineConfig } from "vitest/config";
import { sources } from "./scripts/sources.mjs";

export default defineConfig({
  resolve: {
    // Tests read the sources: nothing has to be built first.
    alias: Object.entries(sources).map(([door, replacement]) => ({ find: new RegExp(`^${door}$`), replacement })),
  },
  test: {
    include: [
      "packages/*/src/**/*.test.ts",
      "packages/*/src/**/*.test.tsx",
      "examples/**/*.test.ts",
      "scripts/**/*.test.ts",
      "test/**/*.test.ts",
    ],
    // Starts nothing by itself: a test that needs a server asks for it.
    globalSetup: ["scripts/services.mjs"],
    passWithNoTests: true,
    // No test is about time: what takes long on a busy machine has not failed.
    testTimeout: 180_000,
    hookTimeout: 120_000,
  },
});
