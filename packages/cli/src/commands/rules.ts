// belay rules: the calls that run without asking, those that never run, and the source of each rule. The built-in rules and
// those of the file come first, then the remembered rules: here, in every folder, in other folders. Rules of earlier releases
// are about no folder and do not apply; they are listed to be kept for a folder, or removed.

import { realpathSync } from "node:fs";
import type { Json, PermissionRule, RememberedRule, Runner } from "@belay/core";
import { allThreads } from "../all-threads.ts";
import { configFolderOf, currentFolder, dataFolderOf } from "../data/folders.ts";
import { EXIT } from "../headless/exit-codes.ts";
import { writeJson } from "../headless/write-json.ts";
import {
  asPermissionRule,
  type FolderRule,
  forgetRule,
  readRules,
  rulesIn,
  saveRule,
} from "../permissions/folder-rules.ts";
import { Policy } from "../permissions/policy.ts";
import { readRulesFile, rulesFileOf, writeRulesFile } from "../permissions/rules-file.ts";
import { problem } from "../problem.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { leadsTo } from "../tools/paths.ts";
import { folderTools } from "../tools/tools.ts";
import { userName } from "../user-name.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { openDesk } from "./desk.ts";
import { findId } from "./find.ts";

export interface RulesOptions extends CommandOptions {
  readonly config?: string;
  /** The folder whose rules are listed. Default: the current one. */
  readonly folder?: string;
  readonly thread?: string;
}

export async function listRules(options: RulesOptions, io: CommandIo): Promise<number> {
  const { file, exists, builtIn, own } = readRulesFile(configFolderOf(options.config));
  const remembered = readRules(dataFolderOf(options.dataFolder));
  const desk = await openDesk(options);
  try {
    const withoutFolder = await desk.runner.rules();
    const inThread =
      options.thread === undefined
        ? []
        : await desk.runner.rules({ threadId: await threadOf(desk.runner, options.thread) });
    if (options.json) {
      io.stdout.write(`${writeJson({ file, exists, builtIn, own, remembered, withoutFolder, thread: inThread })}\n`);
      return EXIT.done;
    }
    const { commands } = io.texts;
    const section = (title: string, rules: readonly PermissionRule[]) =>
      rules.length === 0 ? [] : [title, ...rules.map((rule) => `  ${describeRule(rule)}`)];
    const here = realpathSync(options.folder ?? currentFolder());
    const of = (which: (rule: FolderRule) => boolean) => remembered.filter(which).map(asPermissionRule);
    const elsewhere = remembered.filter(({ folder }) => folder !== undefined && folder !== here);
    const lines = [
      ...(builtIn.length === 0 ? [commands.rulesNoBuiltIn(file)] : section(commands.rulesBuiltIn(file), builtIn)),
      ...section(commands.rulesOfFile(file), own.rules ?? []),
      ...(own.default === undefined ? [] : [commands.rulesDefault(own.default)]),
      ...section(
        commands.rulesHere(sanitizeLine(here, 500)),
        of(({ folder }) => folder === here),
      ),
      ...section(
        commands.rulesEverywhere,
        of(({ folder }) => folder === undefined),
      ),
      ...[...new Set(elsewhere.map(({ folder }) => folder!))].flatMap((each) =>
        section(
          commands.rulesElsewhere(sanitizeLine(each, 500)),
          of(({ folder }) => folder === each),
        ),
      ),
      ...section(commands.rulesThread, inThread),
      ...section(commands.rulesWithoutFolder, withoutFolder),
      commands.rulesElse,
    ];
    io.stdout.write(`${lines.join("\n")}\n`);
    return EXIT.done;
  } finally {
    await desk.close();
  }
}

export async function removeRule(id: string, options: RulesOptions, io: CommandIo): Promise<number> {
  const dataFolder = dataFolderOf(options.dataFolder);
  const desk = await openDesk(options);
  try {
    const threadId = options.thread === undefined ? undefined : await threadOf(desk.runner, options.thread);
    const of = threadId === undefined ? {} : { threadId };
    const kept = threadId === undefined ? readRules(dataFolder).map((each) => each.id) : [];
    const rule = findId("rule", [...kept, ...(await desk.runner.rules(of)).map((each) => each.id)], id);
    if (kept.includes(rule)) forgetRule(dataFolder, rule);
    const removed = kept.includes(rule) || (await desk.runner.removeRule(rule, { ...of, by: userName() }));
    io.stdout.write(`${io.texts.commands.ruleRemoved(sanitizeLine(rule, 100))}\n`);
    return removed ? EXIT.done : EXIT.failed;
  } finally {
    await desk.close();
  }
}

export interface KeepOptions extends RulesOptions {
  readonly everywhere?: boolean;
}

/** A rule of an earlier release, from now on in this folder, or in every one. */
export async function keepRule(id: string, options: KeepOptions, io: CommandIo): Promise<number> {
  const dataFolder = dataFolderOf(options.dataFolder);
  const desk = await openDesk(options);
  try {
    const old = await desk.runner.rules();
    const found = findId(
      "rule",
      old.map((each) => each.id),
      id,
    );
    const rule = old.find((each) => each.id === found)!;
    const folder = options.everywhere === true ? undefined : realpathSync(currentFolder());
    saveRule(dataFolder, keptRule(rule, folder));
    // Kept first: a rule that is listed twice for a moment does no harm, one that is lost would have to be made again.
    await desk.runner.removeRule(rule.id, { by: userName() });
    const { commands } = io.texts;
    io.stdout.write(`${commands.ruleKept(sanitizeLine(rule.id, 100), folder && sanitizeLine(folder, 500))}\n`);
    return EXIT.done;
  } finally {
    await desk.close();
  }
}

function keptRule({ id, tool, args = {}, at }: RememberedRule, folder: string | undefined): FolderRule {
  return { id, tool, args, ...(folder !== undefined && { folder }), by: userName(), at };
}

/** Returns the verdict on one call in this folder, and the rule that decides. */
export async function explainRule(tool: string, args: string, options: RulesOptions, io: CommandIo): Promise<number> {
  const { permissions } = readRulesFile(configFolderOf(options.config));
  const dataFolder = dataFolderOf(options.dataFolder);
  let given: Json;
  try {
    given = JSON.parse(args) as Json;
  } catch (error) {
    throw problem("OPTION_NOT_JSON", { option: "args", reason: (error as Error).message }, error);
  }
  const folder = realpathSync(currentFolder());
  const policy: Policy = new Policy({
    folder,
    permissions,
    remembered: () => rulesIn(readRules(dataFolder), folder).map(asPermissionRule),
    tools: () => folderTools(folder, policy.judge),
    leadsTo: (path) => leadsTo(folder, path),
  });
  const { effect, words } = await policy.judge(tool, given);
  io.stdout.write(`${effect}: ${sanitizeLine(words, 1_000)}\n`);
  return EXIT.done;
}

export function initRules(options: RulesOptions, io: CommandIo): number {
  const folder = configFolderOf(options.config);
  const made = writeRulesFile(folder);
  const file = rulesFileOf(folder);
  io.stdout.write(`${made ? io.texts.commands.rulesMade(file) : io.texts.commands.rulesThere(file)}\n`);
  return made ? EXIT.done : EXIT.failed;
}

function describeRule({ id, tool, args, effect, reason }: PermissionRule): string {
  const which = args === undefined ? tool : `${tool} ${writeJson(args)}`;
  const parts = [id ?? "", effect, which, reason === undefined ? "" : `(${reason})`];
  return parts
    .filter((part) => part !== "")
    .map((part) => sanitizeLine(part, 500))
    .join("  ");
}

async function threadOf(runner: Pick<Runner, "threads">, given: string): Promise<string> {
  return findId(
    "thread",
    (await allThreads(runner)).map(({ threadId }) => threadId),
    given,
  );
}
