// Every public name has a doc comment, which editors show on hover.

import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { doors } from "./house.ts";
import { clientDoors } from "./house-of-client.ts";
import { engineDoors } from "./house-of-engines.ts";
import { serverDoors } from "./house-of-server.ts";

const packages = fileURLToPath(new URL("../packages/", import.meta.url));
const publicDoors = Object.entries({ core: doors, client: clientDoors, server: serverDoors, ...engineDoors }).flatMap(
  ([name, all]) =>
    Object.keys(all)
      .filter((door) => door !== "inside.ts")
      .map((door) => join(name, "src", door)),
);

interface Exported {
  readonly name: string;
  /** The doc comment directly before the declaration, or nothing. */
  readonly doc: string;
}

function exportsOf(door: string): readonly Exported[] {
  const text = readFileSync(join(packages, door), "utf8");
  return [...text.matchAll(/export (?:type )?\{([^}]*)\} from "([^"]+)";/g)].flatMap(([, names = "", from = ""]) => {
    const declared = readFileSync(normalize(join(packages, dirname(door), from)), "utf8");
    return names.split(",").flatMap((each) => {
      const name = each.trim().replace(/^type /, "");
      return name === "" ? [] : [{ name, doc: docOf(declared, name) }];
    });
  });
}

function docOf(text: string, name: string): string {
  const declaration = new RegExp(
    `(/\\*\\*(?:(?!\\*/)[^])*\\*/)\\nexport (?:async )?(?:function|class|interface|type|const) ${name}\\b`,
  );
  return declaration.exec(text)?.[1] ?? "";
}

test.each(publicDoors)("section 19: every name at the door %s has a doc comment", (door) => {
  const bare = exportsOf(door).flatMap(({ name, doc }) => (doc === "" ? [name] : []));
  expect(bare).toEqual([]);
});

test("section 19: the main functions have an example", () => {
  const examples = exportsOf("core/src/index.ts").flatMap(({ name, doc }) => (doc.includes("@example") ? [name] : []));
  expect(examples).toEqual(expect.arrayContaining(["agent", "createRunner", "graph", "tool"]));
});
