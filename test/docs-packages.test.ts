// The docs and the published packages: a page of the reference for each import, one version, install lines that pack:check runs.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { installLines } from "../scripts/readme-lines.mjs";
import { referenceDoors } from "../scripts/reference-doc.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const manifests = readdirSync(join(root, "packages")).map((name) =>
  JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")),
);
const published = manifests.filter((manifest) => manifest.private !== true);

test("every import of a published package has a page of the reference", () => {
  const doors = published.flatMap(({ name, exports }) => Object.keys(exports).map((door) => `${name}${door.slice(1)}`));
  expect([...referenceDoors].sort()).toEqual(doors.sort());
});

test("all packages have one version, and depend on each other by it", () => {
  const versions = published.flatMap(({ version, dependencies = {} }) => [
    version,
    ...Object.entries(dependencies).flatMap(([name, wanted]) => (name.startsWith("@belay/") ? [wanted] : [])),
  ]);
  expect(new Set(versions).size).toBe(1);
});

test("the README's install lines end with the terminal app and the console", () => {
  const lines = installLines(readFileSync(join(root, "README.md"), "utf8"));
  expect(lines.slice(0, 2)).toEqual(["npm install @belay/core", "node hello.mjs"]);
  expect(lines.slice(-2)).toEqual(["npx belay", "npx belay serve"]);
});
