// npm run docs: writes the parts of the docs that come from the code. The tests fail if a part is out of date.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureInstalled, root } from "./ensure.mjs";
import { errorsDoc } from "./errors-doc.mjs";
import { originsDoc } from "./origins.mjs";
import { referencePages } from "./reference-doc.mjs";
import { sources } from "./sources.mjs";
import { pages, syncDoc } from "./sync-docs.mjs";

await ensureInstalled();
const { tsImport } = await import("tsx/esm/api");
const { catalogue } = await tsImport(pathToFileURL(sources["@belay/core/inside"]).href, import.meta.url);
writeFileSync(join(root, "docs/errors.md"), errorsDoc(catalogue));
writeFileSync(join(root, "docs/origins.md"), originsDoc(root));
mkdirSync(join(root, "docs/reference"), { recursive: true });
for (const [path, text] of Object.entries(await referencePages(root))) writeFileSync(join(root, path), text);
for (const path of pages(root)) {
  const page = readFileSync(join(root, path), "utf8");
  const synced = syncDoc(page, root);
  if (synced === page) continue;
  writeFileSync(join(root, path), synced);
  console.log(`wrote ${path}`);
}
