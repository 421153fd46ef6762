// What may be recorded. Invariants:
// 1. A value that leaves `toJson` is plain JSON and shares no object with what came in: later changes by its
//    giver cannot reach a record.
// 2. What JSON cannot hold (F5) is refused with the path to it; it is never bent into something else.

import { belayError } from "./error.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Copies `value` as plain JSON. Undefined properties are dropped, an undefined value is null. Throws `NOT_SERIALIZABLE`. */
export function toJson(value: unknown, what: string): Json {
  return copy(value, what, "", undefined);
}

/** How many bytes `value` takes as JSON, where that is more than `most`; undefined where it fits. */
export function bytesOver(value: Json, most: number): number | undefined {
  if (atMost(value) <= most) return undefined;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return bytes > most ? bytes : undefined;
}

/** An estimate that is never too low, and far cheaper than writing it down: a character takes six bytes at most. */
function atMost(value: Json): number {
  if (typeof value === "string") return 6 * value.length + 2;
  if (typeof value !== "object" || value === null) return 26;
  let bytes = 2;
  if (Array.isArray(value)) for (const item of value as readonly Json[]) bytes += 1 + atMost(item);
  else for (const [key, item] of Object.entries(value)) bytes += 6 * key.length + 4 + atMost(item);
  return bytes;
}

/** What is deeper can be walked here and overflow the stack of whoever reads it. */
const MAX_DEPTH = 500;

interface Above {
  readonly value: object;
  readonly depth: number;
  readonly above: Above | undefined;
}

function copy(value: unknown, what: string, path: string, above: Above | undefined): Json {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (Number.isFinite(value)) return value === 0 ? 0 : value;
      return refuse(what, path, String(value));
    case "undefined":
      return null;
    case "object":
      if (value === null) return null;
      for (let a = above; a !== undefined; a = a.above) if (a.value === value) return refuse(what, path, "a cycle");
      return copyObject(value, what, path, below(value, what, path, above));
    default:
      return refuse(what, path, `a ${typeof value}`);
  }
}

function below(value: object, what: string, path: string, above: Above | undefined): Above {
  const depth = (above?.depth ?? 0) + 1;
  if (depth > MAX_DEPTH) return refuse(what, `${path.slice(0, 40)}…`, `more than ${MAX_DEPTH} levels`);
  return { value, depth, above };
}

function copyObject(value: object, what: string, path: string, above: Above): Json {
  if (Array.isArray(value))
    return Array.from(value as unknown[], (item, i) => copy(item, what, `${path}[${i}]`, above));
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    return refuse(what, path, `a ${value.constructor?.name || "class instance"}`);
  }
  const out: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    const at = path === "" ? key : `${path}.${key}`;
    if (key === "__proto__") return refuse(what, at, "a __proto__ key");
    out[key] = copy(item, what, at, above);
  }
  return out;
}

function refuse(what: string, path: string, found: string): never {
  throw belayError("NOT_SERIALIZABLE", { what, path: path === "" ? "(the value itself)" : path, found });
}

/** Text as it is, nothing as no words, anything else as JSON. */
export function asText(value: Json): string {
  if (value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Plain data as it is now, that nobody can write into. What is no plain data, such as an error, is handed over itself. */
export function frozen<T>(value: T, met = new Map<unknown, unknown>()): T {
  if (typeof value !== "object" || value === null) return value;
  const isList = Array.isArray(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!isList && prototype !== Object.prototype && prototype !== null) return value;
  if (met.has(value)) return met.get(value) as T;
  const copy: Record<string, unknown> | unknown[] = isList ? [] : {};
  met.set(value, copy);
  for (const [key, item] of Object.entries(value)) (copy as Record<string, unknown>)[key] = frozen(item, met);
  return Object.freeze(copy) as T;
}
