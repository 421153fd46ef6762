// The policy of a folder: the rules, applied to the real effect of a call, and the person's mode. Invariants:
// 1. A path is judged as it is given and as it leads, links resolved; the stricter verdict holds.
// 2. A command is allowed by a pattern only part by part. One that hides commands or files from the pattern asks, unless a
//    rule names it exactly, or names no command at all.
// 3. Remembered rules hold in the folder that they were allowed in, or in every folder if the person said so.
// 4. A mode never lifts a rule that denies or asks. In plan mode nothing runs that changes something.
// 5. It never throws: a call that cannot be judged is judged as it is given.

import type { Json, PermissionRule, Permissions, Tool } from "@belay/core";
import { ignoresCase } from "./ignores-case.ts";
import { type Judge, judgeBy, type Verdict } from "./judge.ts";
import type { Mode } from "./mode.ts";
import { commandParts } from "./shell-command.ts";

export interface PolicyOptions {
  /** With all links resolved. */
  readonly folder: string;
  readonly permissions: Permissions;
  /** The remembered rules that hold in this folder; read for each call. */
  readonly remembered?: () => readonly PermissionRule[];
  readonly tools: () => readonly Tool<unknown>[];
  /** Resolves a path relative to the folder, with links resolved; undefined if it leads outside. */
  readonly leadsTo: (path: string) => Promise<string | undefined>;
  /** By default as the file system has it. */
  readonly foldsCase?: boolean;
}

/** Tools that change files of the folder, and show the difference. */
const EDITS: ReadonlySet<string> = new Set(["edit", "write"]);
/** Tools that change nothing here, although they are not marked as read-only. */
const HARMLESS: ReadonlySet<string> = new Set(["fetch", "ask_user"]);

const strictness = { allow: 0, ask: 1, deny: 2 } as const;

export class Policy {
  readonly #options: PolicyOptions;
  readonly #foldsCase: boolean;
  /** The judges for the remembered rules that were read last. */
  #courts: { readonly key: string; readonly all: Judge; readonly named: Judge } | undefined;
  mode: Mode = "ask";

  constructor(options: PolicyOptions) {
    this.#options = options;
    this.#foldsCase = options.foldsCase ?? ignoresCase(options.folder);
  }

  readonly judge: Judge = async (tool, args) => {
    const verdicts = await Promise.all((await this.#readings(args)).map((reading) => this.#byRules(tool, reading)));
    return this.#byMode(tool, strictest(verdicts));
  };

  /** Returns why a call may not run at all; undefined if it may, or a person decides. */
  async denial(tool: string, args: Json): Promise<string | undefined> {
    const { effect, words } = await this.judge(tool, args);
    return effect === "deny" ? words : undefined;
  }

  /** The call as it is given, and as its path leads. */
  async #readings(args: Json): Promise<readonly Json[]> {
    const { path } = fieldsOf(args);
    if (typeof path !== "string") return [args];
    const real = await this.#options.leadsTo(path);
    const paths = real === undefined || real === path ? [path] : [path, real];
    const readings = paths.map((each) => ({ ...fieldsOf(args), path: each }));
    return this.#foldsCase ? readings.map(withLowerPath) : readings;
  }

  async #byRules(tool: string, args: Json): Promise<Verdict> {
    const { all, named } = this.#judges();
    const { command } = fieldsOf(args);
    if (tool !== "shell" || typeof command !== "string") return all(tool, args);
    const { parts, hidden } = commandParts(command);
    const whole = await all(tool, args);
    const each = await Promise.all(parts.map((part) => judgePart(all, part)));
    const strict = [whole, ...each].find(({ effect }) => effect === "deny");
    if (strict !== undefined) return strict;
    const asks = each.find(({ effect, rule }) => effect === "ask" && rule !== undefined);
    if (asks !== undefined) return asks;
    const exact = await named(tool, args);
    if (exact.effect === "allow") return exact;
    if (hidden !== undefined) return hides(hidden);
    return each.find(({ effect }) => effect === "ask") ?? each[0] ?? exact;
  }

  #judges() {
    const { permissions, tools } = this.#options;
    const remembered = this.#options.remembered?.() ?? [];
    // Servers may add tools at any time.
    const key = JSON.stringify([remembered, tools().map(({ name }) => name)]);
    if (this.#courts?.key === key) return this.#courts;
    const rules = [...(permissions.rules ?? []), ...remembered].map((rule) => (this.#foldsCase ? folded(rule) : rule));
    const all = judgeBy({ ...permissions, rules }, tools);
    const named = judgeBy({ ...permissions, rules: rules.filter(namesCommand) }, tools);
    this.#courts = { key, all, named };
    return this.#courts;
  }

  #byMode(tool: string, verdict: Verdict): Verdict {
    switch (this.mode) {
      case "ask":
        return verdict;
      case "accept-edits":
        if (!EDITS.has(tool) || verdict.effect !== "ask" || verdict.rule !== undefined) return verdict;
        return { effect: "allow", source: "default", words: `${tool} is allowed because the person accepts edits.` };
      case "plan": {
        const { readOnly = false } = this.#options.tools().find(({ name }) => name === tool) ?? {};
        if (readOnly || HARMLESS.has(tool) || verdict.effect === "deny") return verdict;
        return { effect: "deny", source: "default", words: planWords(tool) };
      }
      default:
        return this.mode satisfies never;
    }
  }
}

function planWords(tool: string): string {
  return `${tool} does not run: the person has chosen plan mode, in which nothing is changed. Read what you need, then say what you would do. The person ends plan mode with Shift-Tab.`;
}

/** `npm test *` is also about `npm test` alone. */
async function judgePart(judge: Judge, command: string): Promise<Verdict> {
  const verdict = await judge("shell", { command });
  if (verdict.effect !== "ask" || verdict.rule !== undefined) return verdict;
  const open = await judge("shell", { command: `${command} ` });
  return open.effect === "allow" ? open : verdict;
}

function hides(hidden: string): Verdict {
  const shown = JSON.stringify(hidden);
  const words = `shell needs approval because the command has ${shown} in it, which no pattern speaks of.`;
  return { effect: "ask", source: "default", words };
}

/** False for a rule that allows commands by a pattern. */
function namesCommand({ tool, args = {}, effect }: PermissionRule): boolean {
  if (effect !== "allow" || !couldBeShell(tool)) return true;
  const pattern = args.command ?? args[""];
  return typeof pattern !== "string" || !hasStar(pattern);
}

function couldBeShell(tool: string): boolean {
  return tool === "shell" || tool.includes("*");
}

/** A star with an even number of backslashes before it matches any text. */
function hasStar(pattern: string): boolean {
  return /(?<!\\)(?:\\\\)*\*/.test(pattern);
}

function folded(rule: PermissionRule): PermissionRule {
  if (rule.args === undefined) return rule;
  const { "": all, ...others } = fieldsOf(withLowerPath(rule.args));
  return { ...rule, args: all === undefined ? others : { ...others, "": withLowerPath(all) } };
}

function withLowerPath(args: Json): Json {
  const { path } = fieldsOf(args);
  return typeof path === "string" ? { ...fieldsOf(args), path: path.toLowerCase() } : args;
}

function strictest([first, ...others]: readonly Verdict[]): Verdict {
  return others.reduce((most, each) => (strictness[each.effect] > strictness[most.effect] ? each : most), first!);
}

function fieldsOf(args: Json): { readonly [name: string]: Json } {
  return typeof args === "object" && args !== null && !Array.isArray(args)
    ? (args as { readonly [name: string]: Json })
    : {};
}
