// The rules that people write by hand: permissions.json in the config folder. Without the file the rules below hold; they
// are what `belay rules init` writes into a new one.

import { randomUUID } from "node:crypto";
import { constants, copyFileSync, linkSync, lstatSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BelayError, type Permissions } from "@belay/core";
import { writing } from "../data/folders.ts";
import { makeFolder } from "../data/make-folder.ts";
import { problem } from "../problem.ts";
import { checkPermissions } from "./judge.ts";

export const defaultPermissions: Permissions = {
  rules: [
    { id: "env-files", tool: "read", args: { path: "*.env*" }, effect: "ask", reason: "such files often hold keys" },
    { id: "env-search", tool: "search", args: { path: "*.env*" }, effect: "ask", reason: "such files often hold keys" },
    { id: "private-keys", tool: "read", args: { path: "*id_rsa*" }, effect: "deny", reason: "private keys stay here" },
    { id: "pem-files", tool: "read", args: { path: "*.pem" }, effect: "ask", reason: "such files often hold keys" },
  ],
};

export interface RulesFile {
  readonly file: string;
  readonly exists: boolean;
  readonly permissions: Permissions;
}

export function rulesFileOf(configFolder: string): string {
  return join(configFolder, "permissions.json");
}

/** Throws `CONFIG_INVALID`: rules with a slip in them protect nothing, so nothing runs by them. */
export function readRulesFile(configFolder: string): RulesFile {
  const file = rulesFileOf(configFolder);
  const refuse = (words: string, cause?: unknown) => problem("CONFIG_INVALID", { file, problem: words }, cause);
  let permissions: Permissions;
  try {
    // One that is out of reach, or a link that leads nowhere, was meant to be read.
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined)
      return { file, exists: false, permissions: defaultPermissions };
    permissions = JSON.parse(readFileSync(file, "utf8")) as Permissions;
  } catch (error) {
    throw refuse((error as Error).message, error);
  }
  try {
    // Read as the runner will read it.
    checkPermissions(permissions);
  } catch (error) {
    throw error instanceof BelayError ? refuse(String(error.details.problem ?? error.message), error) : error;
  }
  return { file, exists: true, permissions };
}

/** False where there is one already; a link that leads nowhere is there, too. Else it is there as a whole, or not at all. */
export function writeDefaultRules(configFolder: string): boolean {
  const file = rulesFileOf(configFolder);
  const fresh = `${file}.${randomUUID()}`;
  return writing(file, () => {
    makeFolder(configFolder);
    // Also where nothing can be written.
    if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) return false;
    try {
      // By a disk that is full it is cut: half of the rules are none, and nothing would run by them.
      writeFileSync(fresh, `${JSON.stringify(defaultPermissions, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
      giveName(fresh, file);
      return true;
    } catch (error) {
      // Somebody may have made it just now: only the system can tell.
      if (isThere(error)) return false;
      throw error;
    } finally {
      rmSync(fresh, { force: true });
    }
  });
}

/** Unlike rename(2) it takes no place that is taken. */
function giveName(fresh: string, file: string): void {
  try {
    linkSync(fresh, file);
  } catch (error) {
    if (isThere(error)) throw error;
    // Not every disk has links. A copy that fails is removed.
    copyFileSync(fresh, file, constants.COPYFILE_EXCL);
  }
}

function isThere(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EEXIST";
}
