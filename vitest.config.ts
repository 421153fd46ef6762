import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./packages/core/src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    // Tests read the sources: nothing has to be built first.
    alias: [
      { find: /^@belay\/core$/, replacement: source("index.ts") },
      { find: /^@belay\/core\/sqlite$/, replacement: source("sqlite.ts") },
      { find: /^@belay\/core\/postgres$/, replacement: source("postgres.ts") },
      { find: /^@belay\/core\/redis$/, replacement: source("redis.ts") },
      { find: /^@belay\/core\/testing$/, replacement: source("testing/index.ts") },
    ],
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
