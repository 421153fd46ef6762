// The permissions of an agent or a runner, checked when they are defined: a rule with a mistake would protect nothing.

import { BelayError, belayError } from "../error.ts";
import { undefinedPattern } from "../interrupt/answer.ts";
import { type Json, toJson } from "../json.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { type PermissionRule, pathProblem } from "./rule.ts";

/** The effect on calls that no rule matches. */
export type PermissionDefault = "allow" | "ask" | "deny";

/** Rules for calls: which may run, which a person must approve, which never run. */
export interface Permissions {
  readonly rules?: readonly PermissionRule[] | undefined;
  /** The effect on calls that no rule matches. */
  readonly default?: PermissionDefault | undefined;
}

/** Permissions, checked and copied. Every rule has an id. */
export interface CheckedPermissions {
  readonly rules: readonly (PermissionRule & { readonly id: string })[];
  readonly default?: PermissionDefault;
}

type Fields = { readonly [key: string]: Json };
type Refuse = (problem: string) => Error;

/**
 * Checks and copies permissions. `owner` is "runner" or "agent:name". Throws `PERMISSION_INVALID`, or `OPTION_UNKNOWN`.
 */
export function readPermissions(given: Permissions, owner: string): CheckedPermissions {
  const refuse: Refuse = (problem) => belayError("PERMISSION_INVALID", { owner, problem });
  const own = readFields(given, refuse);
  if (own === undefined) throw refuse("they are not an object");
  refuseUnknown(`permissions of ${owner}`, own, PERMISSIONS);
  const { rules = [], default: byDefault } = own;
  if (!Array.isArray(rules)) throw refuse("rules is not a list");
  for (const [position, rule] of given.rules?.entries() ?? []) {
    const nothing = undefinedPattern(rule?.args);
    if (nothing !== undefined) throw refuse(`rule ${position}: args has undefined at ${JSON.stringify(nothing)}`);
  }
  if (byDefault !== undefined) oneOf(byDefault, ["allow", "ask", "deny"], "default", refuse);
  const ids = new Set<string>();
  const read = (rules as readonly Json[]).map((rule, position) => {
    checkRule(rule, position, owner, refuse);
    const named = { id: `${owner}#${position}`, ...(rule as unknown as PermissionRule) };
    if (ids.has(named.id)) throw refuse(`two rules have the id ${JSON.stringify(named.id)}`);
    ids.add(named.id);
    return Object.freeze(named);
  });
  return Object.freeze({
    rules: Object.freeze(read),
    ...(byDefault !== undefined && { default: byDefault as PermissionDefault }),
  });
}

/** Returns the problem with argument patterns, or undefined. */
export function patternsProblem(patterns: unknown): string | undefined {
  if (!isFields(patterns)) return "args is not an object of patterns by path";
  for (const path of Object.keys(patterns)) {
    const problem = pathProblem(path);
    if (problem) return `the path ${JSON.stringify(path)} ${problem}`;
  }
  return undefined;
}

const PERMISSIONS: KnownOptions<Permissions> = { rules: true, default: true };

const RULE: KnownOptions<PermissionRule> = { id: true, tool: true, args: true, effect: true, reason: true };

/** A tool's name, with stars. */
const TOOL = /^[A-Za-z0-9_*-]+$/;

function checkRule(rule: Json, position: number, owner: string, refuse: Refuse): asserts rule is Fields {
  const wrong: Refuse = (problem) => refuse(`rule ${position}: ${problem}`);
  if (!isFields(rule)) throw wrong("it is not an object");
  refuseUnknown(`rule ${position} in the permissions of ${owner}`, rule, RULE);
  const { id, tool, args, effect, reason } = rule;
  if (typeof tool !== "string" || !TOOL.test(tool)) {
    throw wrong(`tool is ${JSON.stringify(tool)}, not the name of a tool, with * for any characters`);
  }
  oneOf(effect, ["allow", "ask", "always-ask", "deny"], "effect", wrong);
  if (id !== undefined && (typeof id !== "string" || id === "")) throw wrong(`id is ${JSON.stringify(id)}, not text`);
  if (reason !== undefined && typeof reason !== "string") throw wrong(`reason is ${JSON.stringify(reason)}, not text`);
  const problem = args === undefined ? undefined : patternsProblem(args);
  if (problem) throw wrong(problem);
}

/** Returns a copy that later changes cannot reach. */
function readFields(given: unknown, refuse: Refuse): Fields | undefined {
  if (!isFields(given)) return undefined;
  try {
    return toJson(given, "The permissions") as Fields;
  } catch (error) {
    const { found, path } = error instanceof BelayError ? error.details : {};
    throw refuse(`${found} at ${path}`);
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function oneOf(value: Json | undefined, allowed: readonly string[], what: string, refuse: Refuse): void {
  if (typeof value === "string" && allowed.includes(value)) return;
  throw refuse(`${what} is ${JSON.stringify(value)}, not one of ${allowed.join(", ")}`);
}
