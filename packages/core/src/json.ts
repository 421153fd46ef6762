// The values that may be recorded. Invariants:
// 1. A value that leaves `toJson` is plain JSON and shares no object with its source: later changes to the source
//    cannot reach a record.
// 2. A value that JSON cannot hold (F5) is refused with the path to it. It is never converted silently.
// 3. If a runner's `maxBytes` is given, a value that takes more than that as JSON is refused (P12), and no part of it is
//    kept.

import { belayError } from "./error.ts";

/** Any value that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Copies `value` as plain JSON. Undefined properties are dropped, and an undefined value becomes null. Throws
 * `NOT_SERIALIZABLE`, or `TOO_LARGE` if it takes more than `most` bytes.
 */
export function toJson(value: unknown, what: string, most = Number.POSITIVE_INFINITY): Json {
  return fitting(copy({ what, converts: false }, value, "", undefined), what, most);
}

/**
 * Copies the return value of user code as JSON (I3). Unlike `toJson()` it calls the `toJSON` method of an object, so a
 * Date becomes its ISO text.
 */
export function toStored(value: unknown, what: string, most = Number.POSITIVE_INFINITY): Json {
  return fitting(copy({ what, converts: true }, value, "", undefined), what, most);
}

/** Returns `value`, which is plain JSON, unchanged. Throws `TOO_LARGE` if it takes more than `most` bytes. */
export function fitting<T>(value: T, what: string, most: number): T {
  const bytes = bytesOver(value as Json, most);
  if (bytes !== undefined) throw belayError("TOO_LARGE", { what, bytes, most });
  return value;
}

/** Returns the bytes that `value` takes as JSON if they exceed `most`; undefined if it fits. */
export function bytesOver(value: Json, most: number): number | undefined {
  if (most === Number.POSITIVE_INFINITY || bytesAtMost(value) <= most) return undefined;
  const bytes = bytesOf(value);
  return bytes > most ? bytes : undefined;
}

function bytesOf(value: Json): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    // The JSON is longer than a string can be.
    return bytesAtMost(value);
  }
}

/** The most bytes that one character takes in JSON: an escaped one, such as half of a surrogate pair. */
export const CHARACTER_BYTES = 6;

/** Returns an upper bound for the size of the JSON, far cheaper than writing it. */
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

/** Limits the size of a list whose values arrive one by one. */
export class Room {
  readonly #most: number;
  /** The size of the list with everything counted so far, including the value that did not fit. */
  bytes = 1;

  constructor(most: number) {
    this.#most = most;
  }

  /** Counts a value. Returns false if the list no longer fits. */
  take(value: Json): boolean {
    this.bytes += bytesOf(value) + 1;
    return this.bytes <= this.#most;
  }

  /** Counts text that is added to the last value. Returns false if the list no longer fits. */
  extend(text: string): boolean {
    this.bytes += bytesOf(text) - 2;
    return this.bytes <= this.#most;
  }
}

/** A deeper value can be copied here and overflow the stack of its reader. */
const MAX_DEPTH = 500;

interface Above {
  readonly value: object;
  readonly depth: number;
  readonly above: Above | undefined;
}

interface Copying {
  readonly what: string;
  /** Whether to call `toJSON`. */
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

/** Calls `toJSON` like JSON.stringify() does. */
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

/** Returns text as it is, null as an empty string, and anything else as JSON. */
export function asText(value: Json): string {
  if (value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns a frozen copy of plain data. Anything else, such as an error, is returned itself. */
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
