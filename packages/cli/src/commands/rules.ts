// belay rules: what may run without asking, what never may, and who said so. The file is for people to edit; what they let
// be remembered in a dialog is listed here, and can be removed.

import type { Json, PermissionRule } from "@belay/core";
import { configFolderOf, currentFolder } from "../data/folders.ts";
import { EXIT } from "../headless/exit-codes.ts";
import { writeJson } from "../headless/write-json.ts";
import { judgeBy } from "../permissions/judge.ts";
import { readRulesFile, rulesFileOf, writeDefaultRules } from "../permissions/rules-file.ts";
import { problem } from "../problem.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { folderTools } from "../tools/tools.ts";
import { userName } from "../user-name.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { openDesk } from "./desk.ts";
import { findId } from "./find.ts";

export interface RulesOptions extends CommandOptions {
  readonly config?: string;
  readonly thread?: string;
}

export async function listRules(options: RulesOptions, io: CommandIo): Promise<number> {
  const { file, exists, permissions } = readRulesFile(configFolderOf(options.config));
  const desk = await openDesk(options);
  try {
    const remembered = await desk.runner.rules();
    const inThread =
      options.thread === undefined
        ? []
        : await desk.runner.rules({ threadId: await threadOf(desk.runner, options.thread) });
    if (options.json) {
      io.stdout.write(`${writeJson({ file, exists, permissions, remembered, thread: inThread })}\n`);
      return EXIT.done;
    }
    const { commands } = io.texts;
    const section = (title: string, rules: readonly PermissionRule[]) =>
      rules.length === 0 ? [] : [title, ...rules.map((rule) => `  ${describeRule(rule)}`)];
    const lines = [
      ...section(exists ? commands.rulesOfFile(file) : commands.rulesBuiltIn(file), permissions.rules ?? []),
      ...(permissions.default === undefined ? [] : [commands.rulesDefault(permissions.default)]),
      ...section(commands.rulesAlways, remembered),
      ...section(commands.rulesThread, inThread),
      commands.rulesElse,
    ];
    io.stdout.write(`${lines.join("\n")}\n`);
    return EXIT.done;
  } finally {
    await desk.close();
  }
}

export async function removeRule(id: string, options: RulesOptions, io: CommandIo): Promise<number> {
  const desk = await openDesk(options);
  try {
    const threadId = options.thread === undefined ? undefined : await threadOf(desk.runner, options.thread);
    const of = threadId === undefined ? {} : { threadId };
    const rule = findId(
      "rule",
      (await desk.runner.rules(of)).map((each) => each.id),
      id,
    );
    const removed = await desk.runner.removeRule(rule, { ...of, by: userName() });
    io.stdout.write(`${io.texts.commands.ruleRemoved(sanitizeLine(rule, 100))}\n`);
    return removed ? EXIT.done : EXIT.failed;
  } finally {
    await desk.close();
  }
}

/** What the file says of one call, and which rule says it. */
export async function explainRule(tool: string, args: string, options: RulesOptions, io: CommandIo): Promise<number> {
  const { permissions } = readRulesFile(configFolderOf(options.config));
  let given: Json;
  try {
    given = JSON.parse(args) as Json;
  } catch (error) {
    throw problem("OPTION_NOT_JSON", { option: "args", reason: (error as Error).message }, error);
  }
  const folder = currentFolder();
  const judge = judgeBy(permissions, () => folderTools(folder, judge));
  const { effect, words } = await judge(tool, given);
  io.stdout.write(`${effect}: ${sanitizeLine(words, 1_000)}\n`);
  return EXIT.done;
}

export function initRules(options: RulesOptions, io: CommandIo): number {
  const folder = configFolderOf(options.config);
  const made = writeDefaultRules(folder);
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

async function threadOf(
  runner: { threads(): Promise<readonly { threadId: string }[]> },
  given: string,
): Promise<string> {
  return findId(
    "thread",
    (await runner.threads()).map(({ threadId }) => threadId),
    given,
  );
}
