// The program's note on a thread beside its journal: its folder. One small file for each, written
// before the thread's first run and removed after the thread: a note without a thread means nothing, a thread without one is
// about the folder that one is in. It never changes, except for a fork that continues in another folder, once nothing that was
// allowed in the first one counts in it.

import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { problem } from "../problem.ts";
import { inDataFolder } from "./folders.ts";
import { makeFolder } from "./make-folder.ts";

export interface ThreadNote {
  readonly folder: string;
}

export function noteThread(dataFolder: string, threadId: string, note: ThreadNote): void {
  const file = fileOf(dataFolder, threadId);
  const fresh = `${file}.${randomUUID()}`;
  inDataFolder(dataFolder, () => {
    makeFolder(join(dataFolder, "notes"));
    try {
      writeFileSync(fresh, `${JSON.stringify(note)}\n`, { mode: 0o600 });
      renameSync(fresh, file);
    } catch (error) {
      rmSync(fresh, { force: true });
      throw error;
    }
  });
}

export function readNote(dataFolder: string, threadId: string): ThreadNote | undefined {
  try {
    const note = JSON.parse(readFileSync(fileOf(dataFolder, threadId), "utf8")) as Partial<ThreadNote> | null;
    return typeof note?.folder === "string" ? { folder: note.folder } : undefined;
  } catch {
    return undefined;
  }
}

/** Throws `FOLDER_OTHER`: the requests of a thread are about its folder, and take effect there or not at all. */
export function checkFolder(dataFolder: string, threadId: string, folder: string): void {
  const about = readFolder(dataFolder, threadId);
  if (about !== undefined && about !== folder) throw problem("FOLDER_OTHER", { thread: threadId, about, folder });
}

/** Returns the folder of a thread. Throws `FOLDER_MOVED` if the path leads elsewhere, or nowhere. */
export function readFolder(dataFolder: string, threadId: string): string | undefined {
  const about = readNote(dataFolder, threadId)?.folder;
  const now = about && whereItLeads(about);
  if (about !== undefined && now !== about) throw problem("FOLDER_MOVED", { thread: threadId, about, now });
  return about;
}

function whereItLeads(folder: string): string | undefined {
  try {
    return realpathSync(folder);
  } catch {
    return undefined;
  }
}

/** Of a thread that is deleted. */
export function forgetThread(dataFolder: string, threadId: string): void {
  inDataFolder(dataFolder, () => rmSync(fileOf(dataFolder, threadId), { force: true }));
}

/** Returns the folder of the only thread with this beginning of its id; undefined if none or several match. */
export function folderOfThread(dataFolder: string, given: string): string | undefined {
  const exact = readNote(dataFolder, given);
  if (exact !== undefined || !/^[A-Za-z0-9-]+$/.test(given)) return exact?.folder;
  const names = readNames(join(dataFolder, "notes")).filter((name) => name.startsWith(given) && name.endsWith(".json"));
  return names.length === 1 ? readNote(dataFolder, names[0]!.slice(0, -".json".length))?.folder : undefined;
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Ids are untrusted: in the name of a file only letters, digits and - stay as they are. */
function fileOf(dataFolder: string, threadId: string): string {
  const name = threadId.replace(/[^A-Za-z0-9-]/g, (char) => `_${char.codePointAt(0)!.toString(16)}_`).slice(0, 200);
  return join(dataFolder, "notes", `${name}.json`);
}
