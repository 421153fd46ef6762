// Schemas: the input of a tool. Any library with Standard Schema works; `jsonSchema` needs no library.

import { belayError, errorText, recordedWords } from "../error.ts";
import { type Json, toJson } from "../json.ts";
import { compileJsonSchema } from "./json-schema.ts";

export type MaybePromise<T> = T | Promise<T>;

/** Standard Schema, version 1 (standardschema.dev), as far as we call it. */
export interface StandardSchema<In = unknown, Out = In> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => MaybePromise<StandardResult<Out>>;
    readonly types?: { readonly input: In; readonly output: Out } | undefined;
  };
}

export type StandardResult<Out> =
  | { readonly value: Out; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type InferInput<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["input"];
export type InferOutput<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["output"];

/** Standard JSON Schema: a schema that can say how it looks to a model. */
interface JsonSchemaConverter {
  readonly input: (options: { readonly target: string }) => unknown;
}

/** A schema made by `jsonSchema()`. */
export interface JsonSchema<T> extends StandardSchema<T, T> {
  readonly "~standard": StandardSchema<T, T>["~standard"] & {
    readonly jsonSchema: { readonly input: () => Json; readonly output: () => Json };
  };
}

/** Makes a schema from JSON Schema; `T` is its type in TypeScript. Throws `OPTION_INVALID` when malformed. */
export function jsonSchema<T = Json>(schema: object | boolean): JsonSchema<T> {
  const given = toJson(schema, "The schema of jsonSchema(…)");
  const check = compileJsonSchema(given);
  return {
    "~standard": {
      version: 1,
      vendor: "belay",
      validate: (value) => {
        const issues = check(value);
        return issues.length === 0 ? { value: value as T } : { issues };
      },
      jsonSchema: { input: () => given, output: () => given },
    },
  };
}

export function isSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return false;
  const standard = (value as Partial<StandardSchema>)["~standard"];
  return typeof standard === "object" && standard !== null && typeof standard.validate === "function";
}

const converted = new WeakMap<object, Json>();

/** How a model sees what `schema` takes. `of` names its owner. Throws `SCHEMA_UNSUPPORTED`. */
export function toJsonSchema(schema: StandardSchema, of: string): Json {
  const known = converted.get(schema);
  if (known !== undefined) return known;
  if (!isSchema(schema)) throw belayError("SCHEMA_UNSUPPORTED", { of, vendor: "not a Standard Schema" });
  const found = convert(schema, of);
  converted.set(schema, found);
  return found;
}

function convert(schema: StandardSchema, of: string): Json {
  const { vendor } = schema["~standard"];
  let failure: { readonly error: unknown } | undefined;
  for (const attempt of conversions(schema)) {
    try {
      return withoutDialect(toJson(attempt(), of), schema);
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure === undefined) throw belayError("SCHEMA_UNSUPPORTED", { of, vendor });
  const words = `${vendor}: ${oneLine(errorText(failure.error))}`;
  throw belayError("SCHEMA_UNSUPPORTED", { of, vendor: words }, failure.error);
}

function conversions(schema: StandardSchema): (() => unknown)[] {
  const attempts: (() => unknown)[] = [];
  const { jsonSchema } = schema["~standard"] as { readonly jsonSchema?: JsonSchemaConverter };
  if (typeof jsonSchema?.input === "function") {
    for (const target of ["draft-2020-12", "draft-07"]) attempts.push(() => jsonSchema.input({ target }));
  }
  const methods = schema as { readonly toJSONSchema?: unknown; readonly toJsonSchema?: unknown };
  const { toJSONSchema, toJsonSchema } = methods;
  if (typeof toJSONSchema === "function") attempts.push(() => toJSONSchema.call(schema, { io: "input" }));
  if (typeof toJsonSchema === "function") attempts.push(() => toJsonSchema.call(schema));
  return attempts;
}

function withoutDialect(found: Json, schema: StandardSchema): Json {
  if (found === true) return {};
  if (found === false) return { not: {} };
  if (found === null || typeof found !== "object" || Array.isArray(found)) {
    throw new Error(`${schema["~standard"].vendor} gave no JSON Schema object`);
  }
  const { $schema: _, ...rest } = found as { readonly [key: string]: Json };
  return rest;
}

export type Validated<T> =
  | { readonly ok: true; readonly value: T }
  /** `problem` is one line: "path: message; path: message". */
  | { readonly ok: false; readonly problem: string };

/**
 * Checks `value`; synchronous if the schema is. The schema works on a copy: its result shares no object with `value`, so a tool
 * that changes its arguments cannot change the history.
 */
export function validate<S extends StandardSchema>(schema: S, value: unknown): MaybePromise<Validated<InferOutput<S>>> {
  try {
    const result = schema["~standard"].validate(copy(value));
    if (typeof (result as Promise<unknown>).then !== "function") return judge(result as StandardResult<InferOutput<S>>);
    return Promise.resolve(result)
      .then(judge<InferOutput<S>>)
      .catch(thrown);
  } catch (error) {
    return thrown(error);
  }
}

function judge<T>(result: StandardResult<T>): Validated<T> {
  return result.issues === undefined
    ? { ok: true, value: result.value }
    : { ok: false, problem: problemOf(result.issues) };
}

function thrown(error: unknown): Validated<never> {
  return { ok: false, problem: oneLine(recordedWords(errorText(error))) || "the schema failed" };
}

/** Plain arrays and objects are copied; anything else is handed on as it is. */
function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const item = copy((value as Record<string, unknown>)[key]);
    if (key !== "__proto__") out[key] = item;
    else Object.defineProperty(out, key, { value: item, enumerable: true, configurable: true, writable: true });
  }
  return out;
}

const MAX_SHOWN = 10;

function problemOf(issues: readonly StandardIssue[]): string {
  const shown = Array.from(issues.slice(0, MAX_SHOWN), ({ message, path }) => {
    const [at, words] = [pathText(path ?? []), oneLine(message)];
    // Some libraries begin their message with the path.
    return at === "" || words.startsWith(`${at} `) ? words : `${at}: ${words}`;
  });
  if (issues.length > MAX_SHOWN) shown.push(`and ${issues.length - MAX_SHOWN} more`);
  return recordedWords(shown.join("; ")) || "the schema refused it without saying why";
}

function pathText(path: NonNullable<StandardIssue["path"]>): string {
  let text = "";
  for (const step of path) {
    const key = typeof step === "object" ? step.key : step;
    if (typeof key === "number" || /^\d+$/.test(String(key))) text += `[${String(key)}]`;
    else if (/^[\w$-]+$/.test(String(key))) text += text === "" ? String(key) : `.${String(key)}`;
    else text += `[${JSON.stringify(String(key))}]`;
  }
  return text;
}

/** Without its last full stop: it stands within other words. */
function oneLine(text: string): string {
  return text
    .replace(/\s*[\r\n]+\s*/g, " ")
    .trim()
    .replace(/(?<!\.)\.$/, "");
}
