// Files in which the people of a folder say how to work in it: AGENTS.md, else CLAUDE.md, else GEMINI.md, of the folder and of
// each folder above it. They become part of the model's instructions, the nearest one last.

import { createHash } from "node:crypto";
import { readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

const NAMES = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];
/** A file is cut after this, and the model reads that. */
const MOST_BYTES = 32_000;

export interface Guide {
  readonly path: string;
  readonly text: string;
}

/** From the root of the file system to the folder. */
export function readGuides(folder: string): readonly Guide[] {
  const guides: Guide[] = [];
  for (let at = folder; ; at = dirname(at)) {
    const guide = NAMES.map((name) => readGuide(join(at, name))).find((each) => each !== undefined);
    if (guide !== undefined) guides.unshift(guide);
    if (dirname(at) === at) return guides;
  }
}

/** Returns undefined if the path does not exist, is not a file, belongs to another user, or leads to a file that is not a guide. */
function readGuide(path: string): Guide | undefined {
  try {
    const found = realpathSync(path);
    const stats = statSync(found);
    // A link must not send some other file to the model, nor another user's file in a shared folder speak to it.
    if (!NAMES.includes(basename(found)) || !stats.isFile() || !isOurs(stats)) return undefined;
    const text = readFileSync(found, "utf8");
    if (text.trim() === "") return undefined;
    const cut = text.length > MOST_BYTES ? `${text.slice(0, MOST_BYTES).toWellFormed()}\n[the rest is left out]` : text;
    return { path, text: cut };
  } catch {
    return undefined;
  }
}

function isOurs({ uid }: Stats): boolean {
  const own = process.getuid?.();
  return own === undefined || uid === own || uid === 0;
}

/** As the header shows them: seen from the folder. */
export function guideNames(guides: readonly Guide[], folder: string): readonly string[] {
  return guides.map(({ path }) => relative(folder, path)).reverse();
}

/** Differs if any of them does. */
export function guidesDigest(guides: readonly Guide[]): string {
  return createHash("sha256").update(JSON.stringify(guides)).digest("hex");
}
