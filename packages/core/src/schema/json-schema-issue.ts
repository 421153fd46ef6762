// The words of the JSON Schema validator: the fault, its place, and the value found there.

import type { Json } from "../json.ts";

export interface Issue {
  readonly message: string;
  readonly path: readonly (string | number)[];
  /** The value is of another kind altogether (type, const, enum): the form it was held against was not meant. */
  readonly otherKind?: true;
}

export type Issues = readonly Issue[];

/** A position in the value that is checked. `seen`: what references said of a value that is not an object. */
export interface Place {
  readonly key: string | number;
  readonly above: Place | undefined;
  readonly depth: number;
  seen?: Map<object, Issues>;
}

/** The one empty list: compared by identity, so a good value allocates nothing. */
export const NONE: Issues = [];
/** More issues would not help. */
export const MAX_ISSUES = 20;

export function join(a: Issues, b: Issues): Issues {
  if (a === NONE) return b;
  return b === NONE ? a : [...a, ...b].slice(0, MAX_ISSUES);
}

export function issue(at: Place, message: string): Issues {
  return [{ message, path: pathOf(at) }];
}

export function otherKind(at: Place, expected: string, value: unknown): Issues {
  return [{ message: `expected ${expected}, got ${got(value)}`, path: pathOf(at), otherKind: true }];
}

function pathOf(at: Place): (string | number)[] {
  const path: (string | number)[] = [];
  for (let place = at; place.above !== undefined; place = place.above) path.push(place.key);
  return path.reverse();
}

/** A value as a person reads it, short. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return `array of ${value.length}`;
  const keys = Object.keys(value);
  if (keys.length === 0) return "empty object";
  return `object with ${keys.slice(0, 5).join(", ")}${keys.length > 5 ? ", …" : ""}`;
}

export function got(value: unknown): string {
  if (value === null || value === undefined || typeof value === "object") return show(value);
  return typeof value === "function" || typeof value === "symbol"
    ? `a ${typeof value}`
    : `${typeof value} ${show(value)}`;
}

/** Describes a schema in a few words. */
export function describe(schema: Json | undefined): string {
  if (schema === undefined || schema === true) return "anything";
  if (schema === false || schema === null || typeof schema !== "object" || Array.isArray(schema)) return "nothing";
  const of = schema as { readonly [key: string]: Json };
  const read = (key: string) => (Object.hasOwn(of, key) ? of[key] : undefined);
  if (read("const") !== undefined) return show(read("const"));
  const choice = read("enum");
  if (Array.isArray(choice)) return choice.length === 1 ? show(choice[0]) : `one of ${choice.map(show).join(", ")}`;
  const type = read("type");
  if (type !== undefined) {
    const types = (Array.isArray(type) ? type : [type]).map(String);
    return (read("nullable") === true ? [...types, "null"] : types).join(" or ");
  }
  const forms = read("anyOf") ?? read("oneOf");
  if (Array.isArray(forms)) return [...new Set(forms.map(describe))].join(" or ");
  const ref = read("$ref");
  if (typeof ref === "string") return ref === "#" ? "the same form again" : ref.slice(ref.lastIndexOf("/") + 1);
  return read("properties") !== undefined ? "object" : "a fitting value";
}
