// The remembered rules: one small file for each, in `rules` of the data folder. A rule is about the real folder that it was
// allowed in, or, if the person has chosen so, about every folder.

import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Json, PermissionRule } from "@belay/core";
import { inDataFolder } from "../data/folders.ts";
import { makeFolder } from "../data/make-folder.ts";

export interface FolderRule {
  readonly id: string;
  readonly tool: string;
  readonly args: { readonly [path: string]: Json };
  /** The real folder; undefined: every folder. */
  readonly folder?: string;
  readonly by: string;
  readonly at: number;
}

export function saveRule(dataFolder: string, rule: FolderRule): void {
  inDataFolder(dataFolder, () => {
    const file = fileOf(dataFolder, rule.id);
    const fresh = `${file}.${randomUUID()}`;
    makeFolder(join(dataFolder, "rules"));
    try {
      writeFileSync(fresh, `${JSON.stringify(rule)}\n`, { mode: 0o600 });
      renameSync(fresh, file);
    } catch (error) {
      rmSync(fresh, { force: true });
      throw error;
    }
  });
}

/** The oldest first. A file that is no rule allows nothing. */
export function readRules(dataFolder: string): readonly FolderRule[] {
  const names = readNames(join(dataFolder, "rules")).filter((name) => name.endsWith(".json"));
  return names
    .flatMap((name) => readRule(join(dataFolder, "rules", name)) ?? [])
    .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
}

/** Those that hold in `folder`. */
export function rulesIn(rules: readonly FolderRule[], folder: string): readonly FolderRule[] {
  return rules.filter((rule) => rule.folder === undefined || rule.folder === folder);
}

export function forgetRule(dataFolder: string, id: string): void {
  inDataFolder(dataFolder, () => rmSync(fileOf(dataFolder, id), { force: true }));
}

export function asPermissionRule({ id, tool, args, by }: FolderRule): PermissionRule {
  return { id, tool, args, effect: "allow", reason: `approved by ${by}` };
}

function readRule(file: string): FolderRule | undefined {
  try {
    const rule = JSON.parse(readFileSync(file, "utf8")) as Partial<FolderRule> | null;
    const { id, tool, args, folder, by, at } = rule ?? {};
    const named = typeof id === "string" && id !== "" && typeof tool === "string" && /^[A-Za-z0-9_*-]+$/.test(tool);
    const speaks = typeof args === "object" && args !== null && !Array.isArray(args);
    if (!named || !speaks || (folder !== undefined && typeof folder !== "string")) return undefined;
    return { id, tool, args, by: String(by), at: Number(at), ...(folder !== undefined && { folder }) };
  } catch {
    return undefined;
  }
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function fileOf(dataFolder: string, id: string): string {
  const name = id.replace(/[^A-Za-z0-9.-]/g, (char) => `_${char.codePointAt(0)!.toString(16)}_`).slice(0, 200);
  return join(dataFolder, "rules", `${name}.json`);
}
