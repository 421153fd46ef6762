// The rules that people write by hand: permissions.json in the config folder. The built-in rules hold below them, so that a
// rule of a person can allow a call that asks, and never one that is denied; `"builtin": false` drops them.

import { randomUUID } from "node:crypto";
import { constants, copyFileSync, linkSync, lstatSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BelayError, type PermissionRule, type Permissions } from "@belay/core";
import { writing } from "../data/folders.ts";
import { makeFolder } from "../data/make-folder.ts";
import { problem } from "../problem.ts";
import { builtInRules } from "./built-in.ts";
import { checkPermissions } from "./judge.ts";

export interface RulesFile {
  readonly file: string;
  readonly exists: boolean;
  /** None if the file drops them. */
  readonly builtIn: readonly PermissionRule[];
  /** Of the file. */
  readonly own: Permissions;
  /** Both, as they are judged by: the later rule is the stronger. */
  readonly permissions: Permissions;
}

export function rulesFileOf(configFolder: string): string {
  return join(configFolder, "permissions.json");
}

/** Throws `CONFIG_INVALID`: rules with a slip in them protect nothing, so nothing runs by them. */
export function readRulesFile(configFolder: string): RulesFile {
  const file = rulesFileOf(configFolder);
  const refuse = (words: string, cause?: unknown) => problem("CONFIG_INVALID", { file, problem: words }, cause);
  let given: unknown;
  try {
    // One that is out of reach, or a link that leads nowhere, was meant to be read.
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined)
      return { file, exists: false, builtIn: builtInRules, own: {}, permissions: { rules: builtInRules } };
    given = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw refuse((error as Error).message, error);
  }
  const { builtin = true, ...own } = (isFields(given) ? given : {}) as Permissions & { readonly builtin?: unknown };
  if (typeof builtin !== "boolean") throw refuse(`builtin is ${JSON.stringify(builtin)}, not true or false`);
  const builtIn = builtin ? builtInRules : [];
  // Ids of rules without one are made of their place in the file.
  const rules = Array.isArray(own.rules) ? own.rules.map(withId) : own.rules;
  const permissions = { ...own, rules: [...builtIn, ...(Array.isArray(rules) ? rules : [])] };
  try {
    // Read as the runner will read it: alone, so that a slip is named by its place in the file, and with the others.
    checkPermissions(isFields(given) ? { ...own, ...(rules !== undefined && { rules }) } : (given as Permissions));
    checkPermissions(permissions);
  } catch (error) {
    throw error instanceof BelayError ? refuse(problemIn(error), error) : error;
  }
  return { file, exists: true, builtIn, own: { ...own, ...(rules !== undefined && { rules }) }, permissions };
}

function withId(rule: PermissionRule, at: number): PermissionRule {
  return isFields(rule) && rule.id === undefined ? { id: `file#${at}`, ...rule } : rule;
}

function isFields(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What `belay rules init` writes. */
const emptyFile = { builtin: true, rules: [] };

/** Writes the file as a whole, or not at all. False if there is one already; a broken link counts as one. */
export function writeRulesFile(configFolder: string): boolean {
  const file = rulesFileOf(configFolder);
  const fresh = `${file}.${randomUUID()}`;
  return writing(file, () => {
    makeFolder(configFolder);
    // Also if the folder is not writable.
    if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) return false;
    try {
      // By a disk that is full it is cut: half of the rules are none, and nothing would run by them.
      writeFileSync(fresh, `${JSON.stringify(emptyFile, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
      giveName(fresh, file);
      return true;
    } catch (error) {
      // Another process may have made it just now: only the system can decide.
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

/** Returns the fault, as the end of a sentence. The file knows no runner: an unknown option is a field of it. */
function problemIn({ code, details, message }: BelayError): string {
  if (code === "OPTION_UNKNOWN") return `it has a field ${JSON.stringify(details.option)} that does not exist`;
  return String(details.problem ?? message.replace(/\.$/, ""));
}
