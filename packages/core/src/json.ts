// What may be recorded. Invariants:
// 1. A value that leaves `toJson` is plain JSON and shares no object with what came in: later changes by its
//    giver cannot reach a record.
// 2. What JSON cannot hold (F5) is refused with the path to it; it is never bent into something else.
// 3. Where a runner's `maxBytes` is given, what takes more than that as JSON is refused (P12), and nothing of it is kept.

import { belayError } from "./error.ts";

/** Any value that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Copies `value` as plain JSON. Undefined properties are dropped, an undefined value is null. Throws `NOT_SERIALIZABLE`, or
 * `TOO_LARGE` where it takes more than `most` bytes.
 */
export function toJson(value: unknown, what: string, most = Number.POSITIVE_INFINITY): Json {
  return fitting(copy({ what, converts: false }, value, "", undefined), what, most);
}

/** toJson() of what code gave back (I3): an object with a method `toJSON` is what that returns, so a Date is its ISO text. */
export function toStored(value: unknown, what: string, most = Number.POSITIVE_INFINITY): Json {
  return fitting(copy({ what, converts: true }, value, "", undefined), what, most);
}

/** `value`, which is plain JSON, as it is. Throws `TOO_LARGE` where it takes more than `most` bytes. */
export function fitting<T>(value: T, what: string, most: number): T {
  const bytes = bytesOver(value as Json, most);
  if (bytes !== undefined) throw belayError("TOO_LARGE", { what, bytes, most });
  return value;
}

/** How many bytes `value` takes as JSON, where that is more than `most`; undefined where it fits. */
export function bytesOver(value: Json, most: number): number | undefined {
  if (most === Number.POSITIVE_INFINITY || bytesAtMost(value) <= most) return undefined;
  const bytes = bytesOf(value);
  return bytes > most ? bytes : undefined;
}

function bytesOf(value: Json): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    // Longer than any text can be.
    return bytesAtMost(value);
  }
}

/** What a character may take in JSON: one that is escaped, such as half of a pair that lost the other half. */
export const CHARACTER_BYTES = 6;

/** An estimate that is never too low, and far cheaper than writing it down. */
export function bytesAtMost(value: Json | undefined): number {
  if (typeof value === "string") return CHARACTER_BYTES * value.length + 2;
  if (typeof value !== "object" || value === null) return 26;
  let bytes = 2;
  if (Array.isArray(value)) for (const item of value as readonly Json[]) bytes += 1 + bytesAtMost(item);
  else {
    const object = value as { readonly [key: string]: Json };
    for (const key in object) bytes += CHARACTER_BYTES * key.length + 4 + bytesAtMost(object[key]);
  }
  return bytes;
}

/** Room for values that come one after the other, each an item of one list. */
export class Room {
  readonly #most: number;
  /** What the list takes, with all that was counted: also with the value that did not fit. */
  bytes = 1;

  constructor(most: number) {
    this.#most = most;
  }

  /** False where it does not fit any more. */
  take(value: Json): boolean {
    this.bytes += bytesOf(value) + 1;
    return this.bytes <= this.#most;
  }

  /** The same for a text that goes on with one that is in the last of them. */
  extend(text: string): boolean {
    this.bytes += bytesOf(text) - 2;
    return this.bytes <= this.#most;
  }
}

/** What is deeper can be walked here and overflow the stack of whoever reads it. */
const MAX_DEPTH = 500;

interface Above {
  readonly value: object;
  readonly depth: number;
  readonly above: Above | undefined;
}

interface Copying {
  readonly what: string;
  /** Whether `toJSON` is called. */
  readonly converts: boolean;
}

function copy(by: Copying, given: unknown, path: string, above: Above | undefined): Json {
  const value = by.converts ? converted(given, path) : given;
  const { what } = by;
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
      return copyObject(by, value, path, below(value, what, path, above));
    default:
      return refuse(what, path, `a ${typeof value}`);
  }
}

/** As JSON.stringify() does it. */
function converted(value: unknown, path: string): unknown {
  if ((typeof value !== "object" && typeof value !== "bigint") || value === null) return value;
  const { toJSON } = value as { readonly toJSON?: unknown };
  return typeof toJSON === "function" ? toJSON.call(value, path.slice(path.lastIndexOf(".") + 1)) : value;
}

function below(value: object, what: string, path: string, above: Above | undefined): Above {
  const depth = (above?.depth ?? 0) + 1;
  if (depth > MAX_DEPTH) return refuse(what, `${path.slice(0, 40)}…`, `more than ${MAX_DEPTH} levels`);
  return { value, depth, above };
}

function copyObject(by: Copying, value: object, path: string, above: Above): Json {
  const { what } = by;
  if (Array.isArray(value)) return Array.from(value as unknown[], (item, i) => copy(by, item, `${path}[${i}]`, above));
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
    out[key] = copy(by, item, at, above);
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
