// The client as a browser gets it.

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";

const entry = new URL("./index.ts", import.meta.url).pathname;

test("L2: the client needs nothing at run time, and bundles for browsers within 6 kB", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    platform: "browser",
    format: "esm",
    target: "es2023",
    logLevel: "silent",
  });
  const foreign = Object.keys(metafile.inputs).filter((file) => !/packages\/client\/src\/[^/]+\.ts$/.test(file));
  expect(foreign).toEqual([]);
  const code = outputFiles[0]!.text;
  expect(code).not.toMatch(/node:|process\.|require\(/);
  expect(gzipSync(code).length).toBeLessThan(6 * 1024);
  const bundle = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const base = { at: 5, threadId: "t", runId: "r", segment: 1, attempt: 1, agentName: "a", runPath: "a" };
  const view = bundle.foldThread(bundle.emptyThread, { type: "state", state: "initialized", seq: 1, ...base });
  expect(view).toMatchObject({ head: 1, state: "initialized" });
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  expect(manifest.dependencies ?? {}).toEqual({});
});
