// SQLite for the questions on a disk: the one that this Node has, in a folder of its own on the disk of this repository.

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);
const builtIn = major > 22 || (major === 22 && minor >= 13);
export const { DatabaseSync } = await import(builtIn ? "node:sqlite" : "@photostructure/sqlite");

/** Hands a new folder to `work`, and removes it. Below bench/ and not in /tmp, which may be memory. */
export async function inFolder(work) {
  const folder = mkdtempSync(join(fileURLToPath(new URL(".", import.meta.url)), ".sqlite-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The contents of the file once the log is written back into it. */
export function sizeOf(db, path) {
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  return statSync(path).size;
}

/** Text that repeats nothing, so that nothing about it is special. */
export function text(length, seed) {
  let out = "";
  for (let i = 0; out.length < length; i++) out += `${seed}.${i} some words `;
  return out.slice(0, length);
}
