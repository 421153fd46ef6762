// The keywords that look at a string, a number, an array or an object. Each compiles to a check, and to none where
// the schema has no such keyword. Properties are own properties only: a value cannot borrow one from a prototype.

import { belayError } from "../error.ts";
import type { Json } from "../json.ts";
import { describe, type Issues, issue, join, MAX_ISSUES, NONE, type Place, show } from "./json-schema-issue.ts";

/** The results of references for each object so far. */
export interface Run {
  seen?: Map<object, Map<object, Issues>>;
}
export type Check = (value: unknown, at: Place, run: Run) => Issues;
export type SchemaObject = { readonly [key: string]: Json };

/** Compiles the schemas below a schema: `pointer` is its place, for the words of a refusal. */
export type Below = (schema: Json, pointer: string) => Check;

export function refuse(pointer: string, value: unknown, needed: string): never {
  throw belayError("OPTION_INVALID", { option: `jsonSchema(…) at ${pointer}`, value: show(value), needed });
}

/** Reads a keyword, refusing it where `is` does not hold. */
export function read<T extends Json>(
  schema: SchemaObject,
  key: string,
  pointer: string,
  is: (value: Json) => value is T,
  needed: string,
): T | undefined {
  if (!Object.hasOwn(schema, key)) return undefined;
  const value = schema[key]!;
  return is(value) ? value : refuse(`${pointer}/${key}`, value, needed);
}

export const isObject = (value: unknown): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const isList = (value: unknown): value is readonly Json[] => Array.isArray(value);
const isNumber = (value: Json): value is number => typeof value === "number";
const isCount = (value: Json): value is number => typeof value === "number" && Number.isInteger(value) && value >= 0;
const isNames = (value: Json): value is readonly string[] => isList(value) && value.every((v) => typeof v === "string");

function count(schema: SchemaObject, key: string, pointer: string): number | undefined {
  return read(schema, key, pointer, isCount, "a whole number, 0 or more");
}

/** A step down into the value. */
function below(at: Place, key: string | number): Place {
  return { key, above: at, depth: at.depth + 1 };
}

function regularExpression(source: Json | undefined, pointer: string): RegExp {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(source as string, flags);
    } catch {}
  }
  return refuse(pointer, source, "a valid regular expression");
}

function size(at: Place, found: number, least: number | undefined, most: number | undefined, unit: string): Issues {
  if (least !== undefined && found < least) return issue(at, `expected at least ${least} ${unit}, got ${found}`);
  if (most !== undefined && found > most) return issue(at, `expected at most ${most} ${unit}, got ${found}`);
  return NONE;
}

export function stringCheck(schema: SchemaObject, pointer: string): Check | undefined {
  const least = count(schema, "minLength", pointer);
  const most = count(schema, "maxLength", pointer);
  const source = read(schema, "pattern", pointer, (v) => typeof v === "string", "text");
  if (least === undefined && most === undefined && source === undefined) return undefined;
  const pattern = source === undefined ? undefined : regularExpression(source, `${pointer}/pattern`);
  return (value, at) => {
    if (typeof value !== "string") return NONE;
    const sized =
      least === undefined && most === undefined ? NONE : size(at, codePoints(value), least, most, "characters");
    if (pattern === undefined || pattern.test(value)) return sized;
    return join(sized, issue(at, `expected text matching ${source}, got ${show(value)}`));
  };
}

function codePoints(text: string): number {
  let n = text.length;
  for (let i = 1; i < text.length; i++) {
    const low = text.charCodeAt(i);
    if (low < 0xdc00 || low > 0xdfff) continue;
    const high = text.charCodeAt(i - 1);
    if (high >= 0xd800 && high <= 0xdbff) n--;
  }
  return n;
}

export function numberCheck(schema: SchemaObject, pointer: string): Check | undefined {
  const tests: ((n: number) => string | undefined)[] = [];
  const bound = (key: string, exclusiveKey: string, words: string, beyond: (n: number, limit: number) => boolean) => {
    const limit = read(schema, key, pointer, isNumber, "a number");
    const exclusive = Object.hasOwn(schema, exclusiveKey) ? schema[exclusiveKey] : undefined;
    if (exclusive !== undefined && typeof exclusive !== "number" && typeof exclusive !== "boolean") {
      refuse(`${pointer}/${exclusiveKey}`, exclusive, "a number");
    }
    const strict = (limit: number) => (n: number) =>
      beyond(n, limit) || n === limit ? `${words} than ${limit}` : undefined;
    // `true` is how older drafts made `minimum` and `maximum` exclusive.
    if (typeof exclusive === "number") tests.push(strict(exclusive));
    if (limit === undefined) return;
    tests.push(exclusive === true ? strict(limit) : (n) => (beyond(n, limit) ? `${limit} or ${words}` : undefined));
  };
  bound("minimum", "exclusiveMinimum", "more", (n, limit) => n < limit);
  bound("maximum", "exclusiveMaximum", "less", (n, limit) => n > limit);
  const unit = read(schema, "multipleOf", pointer, (v): v is number => isNumber(v) && v > 0, "a number above 0");
  if (unit !== undefined) tests.push((n) => (isMultiple(n, unit) ? undefined : `a multiple of ${unit}`));
  if (tests.length === 0) return undefined;
  return (value, at) => {
    if (typeof value !== "number") return NONE;
    let found = NONE;
    for (const test of tests) {
      const expected = test(value);
      if (expected !== undefined) found = join(found, issue(at, `expected ${expected}, got ${value}`));
    }
    return found;
  };
}

function isMultiple(n: number, unit: number): boolean {
  const times = n / unit;
  // 0.3 / 0.1 is not quite 3.
  return n % unit === 0 || Math.abs(times - Math.round(times)) <= 2 * Number.EPSILON * Math.abs(times);
}

const ofArrays = ["minItems", "maxItems", "uniqueItems", "items", "prefixItems", "contains"];

export function arrayCheck(schema: SchemaObject, pointer: string, compile: Below): Check | undefined {
  if (!ofArrays.some((key) => Object.hasOwn(schema, key))) return undefined;
  const least = count(schema, "minItems", pointer);
  const most = count(schema, "maxItems", pointer);
  const unique = Object.hasOwn(schema, "uniqueItems") && schema.uniqueItems === true;
  const items = Object.hasOwn(schema, "items") ? schema.items : undefined;
  // A list in `items`, with `additionalItems`, is the older spelling of `prefixItems` with `items`.
  const older = isList(items);
  const prefix = read(schema, older ? "items" : "prefixItems", pointer, isList, "a list of schemas") ?? [];
  const first = prefix.map((s, i) => compile(s, `${pointer}/${older ? "items" : "prefixItems"}/${i}`));
  const restKey = older ? "additionalItems" : "items";
  const rest = Object.hasOwn(schema, restKey) ? compile(schema[restKey]!, `${pointer}/${restKey}`) : undefined;
  const contains = Object.hasOwn(schema, "contains") ? compile(schema.contains!, `${pointer}/contains`) : undefined;
  const minContains = count(schema, "minContains", pointer) ?? 1;
  const maxContains = count(schema, "maxContains", pointer);
  return (value, at, run) => {
    if (!Array.isArray(value)) return NONE;
    let found = size(at, value.length, least, most, "items");
    if (unique) found = join(found, repeated(value, at));
    const checked = rest === undefined ? Math.min(first.length, value.length) : value.length;
    for (let i = 0; i < checked && found.length < MAX_ISSUES; i++) {
      found = join(found, (first[i] ?? rest!)(value[i], below(at, i), run));
    }
    if (contains === undefined) return found;
    const fitting = value.filter((item, i) => contains(item, below(at, i), run) === NONE).length;
    return join(found, size(at, fitting, minContains, maxContains, `items that are ${describe(schema.contains)}`));
  };
}

function repeated(items: readonly unknown[], at: Place): Issues {
  const seen = new Map<string, number>();
  for (const [i, item] of items.entries()) {
    const text = canonical(item);
    const before = seen.get(text);
    if (before !== undefined) return issue(at, `items must differ, but [${before}] and [${i}] are both ${show(item)}`);
    seen.set(text, i);
  }
  return NONE;
}

/** Returns the same text for equal JSON values, in any order of their keys. */
export function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? String(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  const of = value as Record<string, unknown>;
  const keys = Object.keys(of).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(of[key])}`).join()}}`;
}

const ofObjects = [
  "minProperties",
  "maxProperties",
  "required",
  "properties",
  "patternProperties",
  "additionalProperties",
  "propertyNames",
  "dependentRequired",
];

export function objectCheck(schema: SchemaObject, pointer: string, compile: Below): Check | undefined {
  if (!ofObjects.some((key) => Object.hasOwn(schema, key))) return undefined;
  const least = count(schema, "minProperties", pointer);
  const most = count(schema, "maxProperties", pointer);
  const required = read(schema, "required", pointer, isNames, "a list of property names") ?? [];
  const properties = read(schema, "properties", pointer, isObject, "an object of schemas") ?? {};
  const patterns = read(schema, "patternProperties", pointer, isObject, "an object of schemas") ?? {};
  const dependent = read(schema, "dependentRequired", pointer, isObject, "an object of lists of names") ?? {};
  const one = (key: string) => (Object.hasOwn(schema, key) ? compile(schema[key]!, `${pointer}/${key}`) : undefined);
  const rest = one("additionalProperties");
  const names = one("propertyNames");
  const closed = rest !== undefined && schema.additionalProperties === false;
  const known = new Map(Object.entries(properties).map(([k, s]) => [k, compile(s, `${pointer}/properties/${k}`)]));
  const matching = Object.entries(patterns).map(([source, s]) => ({
    pattern: regularExpression(source, `${pointer}/patternProperties`),
    check: compile(s, `${pointer}/patternProperties/${source}`),
  }));
  const needs = Object.entries(dependent).map(([key, names]) => ({
    key,
    names: isNames(names) ? names : refuse(`${pointer}/dependentRequired/${key}`, names, "a list of property names"),
  }));
  const has = (value: SchemaObject, key: string) => Object.hasOwn(value, key) && value[key] !== undefined;
  const expected = (key: string) => describe(Object.hasOwn(properties, key) ? properties[key] : undefined);
  const missing = (value: SchemaObject, key: string, at: Place, why: string) =>
    has(value, key) ? NONE : issue(below(at, key), `is missing${why}, expected ${expected(key)}`);

  return (value, at, run) => {
    if (!isObject(value)) return NONE;
    let found: Issues = NONE;
    for (const key of required) found = join(found, missing(value, key, at, ""));
    for (const { key, names } of needs) {
      if (has(value, key)) for (const name of names) found = join(found, missing(value, name, at, ` beside ${key}`));
    }
    const keys = Object.keys(value);
    if (least !== undefined || most !== undefined)
      found = join(found, size(at, keys.length, least, most, "properties"));
    for (const key of keys) {
      if (found.length >= MAX_ISSUES) break;
      const item = value[key];
      if (item === undefined) continue;
      const place = below(at, key);
      const check = known.get(key);
      let declared = check !== undefined;
      if (check !== undefined) found = join(found, check(item, place, run));
      for (const { pattern, check } of matching) {
        if (!pattern.test(key)) continue;
        declared = true;
        found = join(found, check(item, place, run));
      }
      if (!declared && closed) found = join(found, issue(place, unknownProperty(known)));
      else if (!declared && rest !== undefined) found = join(found, rest(item, place, run));
      if (names !== undefined && names(key, place, run) !== NONE) {
        found = join(found, issue(place, `the name ${show(key)} is not ${describe(schema.propertyNames)}`));
      }
    }
    return found;
  };
}

function unknownProperty(known: ReadonlyMap<string, unknown>): string {
  return known.size === 0
    ? "is not allowed: no properties are known here"
    : `is not a known property; known: ${[...known.keys()].join(", ")}`;
}
