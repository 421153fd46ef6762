// A model's arguments, made a JSON object or refused with words for the model. Two readers of one text must not see different
// arguments (the approved call is the one that runs), so a doubled key is refused rather than resolved.

import { errorText } from "../error.ts";
import { type Json, toJson } from "../json.ts";
import { got } from "../schema/json-schema-issue.ts";
import { countColons, type Fault, scanJson } from "./scan-json.ts";

export type Args = { readonly [key: string]: Json };

export type ParsedArgs =
  | { readonly ok: true; readonly args: Args }
  /** `args` is recorded: the text as it came, or the value. */
  | { readonly ok: false; readonly args: Json; readonly problem: string };

const MAX_DEPTH = 200;

export function parseArgs(raw: unknown): ParsedArgs {
  if (raw === undefined) return { ok: true, args: {} };
  return typeof raw === "string" ? parseText(raw) : parseValue(raw);
}

function parseText(text: string): ParsedArgs {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (text.trim() === "") return { ok: true, args: {} };
    const fault = scanJson(text);
    const words = fault === undefined ? errorText(error) : faultText(text, fault);
    return { ok: false, args: text, problem: `the arguments are not valid JSON: ${words}` };
  }
  const members = walk(value);
  if (typeof members === "string") return { ok: false, args: text, problem: members };
  // A doubled key is a member that the text has and the value has lost.
  const fault = members === countColons(text) ? undefined : scanJson(text);
  if (fault !== undefined) return { ok: false, args: text, problem: faultText(text, fault) };
  return { ok: true, args: value as Args };
}

function parseValue(raw: unknown): ParsedArgs {
  let value: Json;
  try {
    value = toJson(raw, "The arguments");
  } catch (error) {
    return { ok: false, args: null, problem: errorText(error) };
  }
  const members = walk(value);
  return typeof members === "number"
    ? { ok: true, args: value as Args }
    : { ok: false, args: recordable(value), problem: members };
}

/** A value too deep for others to walk is recorded as its text. */
function recordable(value: Json): Json {
  if (typeof membersOf(value, 0) === "number") return value;
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}

function faultText(text: string, { at, problem }: Fault): string {
  if (at >= text.length) return `${problem} at position ${at}, where the text ends`;
  return `${problem} at position ${at}, near ${JSON.stringify(text.slice(at, at + 20))}`;
}

/** Returns the number of members of all its objects, or the fault of the arguments. */
function walk(value: Json): number | string {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return membersOf(value, 0);
  return `the arguments must be a JSON object, got ${got(value)}`;
}

function membersOf(value: Json, depth: number): number | string {
  if (typeof value === "number") return Number.isFinite(value) ? 0 : "the arguments have a number too large to hold";
  if (typeof value !== "object" || value === null) return 0;
  if (depth >= MAX_DEPTH) return `the arguments are nested more than ${MAX_DEPTH} levels deep`;
  let n = 0;
  if (Array.isArray(value)) {
    for (const item of value) {
      const members = membersOf(item, depth + 1);
      if (typeof members === "string") return members;
      n += members;
    }
    return n;
  }
  for (const key in value) {
    if (key === "__proto__") return "the arguments have a key __proto__, which is not allowed";
    const members = membersOf((value as Args)[key]!, depth + 1);
    if (typeof members === "string") return members;
    n += members + 1;
  }
  return n;
}
