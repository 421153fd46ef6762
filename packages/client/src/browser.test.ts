// The client as a browser gets it.

import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";

const entry = new URL("./index.ts", import.meta.url).pathname;

/** Bundles the named exports as a page would get them. */
async function bundled(names: string) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export ${names} from ${JSON.stringify(entry)}`, resolveDir: dirname(entry) },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    platform: "browser",
    format: "esm",
    target: "es2023",
    logLevel: "silent",
  });
  return { code: outputFiles[0]!.text, metafile };
}

test("gzipped, the line to a server takes 4 kB, the fold of its events 5.4 kB, and all of it 9 kB", async () => {
  const kilobytes = async (names: string) => gzipSync((await bundled(names)).code).length / 1024;
  expect(await kilobytes("{ connect, approve, reject, respond }")).toBeLessThan(4);
  expect(await kilobytes("{ foldThread, emptyThread, shownMessages }")).toBeLessThan(5.4);
  expect(await kilobytes("*")).toBeLessThan(9);
});

test("L2: the client needs nothing at run time, and bundles for browsers", async () => {
  const { code, metafile } = await bundled("*");
  const foreign = Object.keys(metafile.inputs).filter(
    (file) => file !== "<stdin>" && !/packages\/client\/src\/[^/]+\.ts$/.test(file),
  );
  expect(foreign).toEqual([]);
  expect(code).not.toMatch(/node:|process\.|require\(/);
  const bundle = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const base = { at: 5, threadId: "t", runId: "r", segment: 1, attempt: 1, agentName: "a", runPath: "a" };
  const view = bundle.foldThread(bundle.emptyThread, { type: "state", state: "initialized", seq: 1, ...base });
  expect(view).toMatchObject({ head: 1, state: "initialized" });
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  expect(manifest.dependencies ?? {}).toEqual({});
});
