// One rule, and whether it matches a call. An argument that cannot be read safely does not match.

import { canonical } from "../interrupt/digest.ts";
import type { Json } from "../json.ts";
import { matchesGlob } from "./glob.ts";

/** The effect of a rule on a call. Nothing overrides `always-ask`. */
export type PermissionEffect = "allow" | "ask" | "always-ask" | "deny";

/** A rule for calls, by tool and arguments. */
export interface PermissionRule {
  /** Names the rule in verdicts. By default made from its owner and position. */
  readonly id?: string;
  /** A tool's name, or a pattern of names: `*` matches any characters. */
  readonly tool: string;
  /**
   * Patterns by path ("command", "options.force", "files.0"; "" is all arguments together). For text it is a pattern,
   * in which `*` matches any text and `\*` a star; otherwise exactly this value. A missing argument does not
   * match.
   */
  readonly args?: { readonly [path: string]: Json };
  readonly effect: PermissionEffect;
  /** Shown with the verdict. */
  readonly reason?: string;
}

export function ruleMatches(rule: PermissionRule, tool: string, args: Json): boolean {
  if (!matchesGlob(rule.tool, tool)) return false;
  return Object.entries(rule.args ?? {}).every(([path, pattern]) => {
    const value = valueAt(args, path);
    return value !== undefined && patternMatches(pattern, value);
  });
}

/** Returns why no argument can be at this path. A rule with such a path would protect nothing. */
export function pathProblem(path: string): string | undefined {
  if (path === "") return undefined;
  const steps = path.split(".");
  if (steps.includes("")) return "has an empty step";
  const unsafe = steps.find((step) => UNSAFE.includes(step));
  return unsafe && `goes through ${unsafe}`;
}

const UNSAFE: readonly string[] = ["__proto__", "constructor", "prototype"];

const INDEX = /^(0|[1-9][0-9]*)$/;

function valueAt(args: Json, path: string): Json | undefined {
  let value = args;
  for (const step of path === "" ? [] : path.split(".")) {
    if (typeof value !== "object" || value === null || UNSAFE.includes(step)) return undefined;
    if (Array.isArray(value) && !INDEX.test(step)) return undefined;
    if (!Object.hasOwn(value, step)) return undefined;
    value = (value as { readonly [key: string]: Json })[step]!;
  }
  return value;
}

function patternMatches(pattern: Json, value: Json): boolean {
  if (typeof pattern === "string") return typeof value === "string" && matchesGlob(pattern, value);
  if (typeof pattern !== "object" || typeof value !== "object") return pattern === value;
  return canonical(pattern) === canonical(value);
}
