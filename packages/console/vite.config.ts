import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { sources } from "../../scripts/sources.mjs";

export default defineConfig({
  root: import.meta.dirname,
  // Links inside the bundle are relative: the page works below any base path.
  base: "./",
  plugins: [react(), tailwind()],
  resolve: { alias: { "@belay/client": sources["@belay/client"] } },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    // The content security policy of the server refuses data: addresses.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
