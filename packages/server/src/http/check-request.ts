// Queries and bodies against the schemas of their route.

import { jsonSchema } from "@belay/core";
import { ServerError } from "../problem.ts";
import type { AnyRoute, Schema } from "./route.ts";

type Checker = (value: unknown) => string | undefined;

const checkers = new WeakMap<Schema, Checker>();

/** Compiles a schema once. The check returns the faults, in one line. */
export function checker(schema: Schema): Checker {
  const known = checkers.get(schema);
  if (known !== undefined) return known;
  const { validate } = jsonSchema(schema)["~standard"];
  const check = (value: unknown) => {
    const { issues } = validate(value) as {
      readonly issues?: readonly { readonly message: string; readonly path?: readonly PropertyKey[] }[];
    };
    return issues
      ?.slice(0, 5)
      .map(({ message, path = [] }) => (path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`))
      .join("; ");
  };
  checkers.set(schema, check);
  return check;
}

/** Returns the query as the handler takes it: numbers and flags are read from their text. */
export function checkQuery({ query = {}, path }: AnyRoute, given: URLSearchParams): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  for (const name of new Set(given.keys())) {
    if (!Object.hasOwn(query, name)) {
      const known = Object.keys(query).join(", ") || "nothing";
      throw new ServerError("BODY_INVALID", `${path} has no parameter ${JSON.stringify(name)}; it takes ${known}.`);
    }
    const all = given.getAll(name);
    if (all.length > 1 && name !== "label")
      throw new ServerError("BODY_INVALID", `The parameter ${name} is there twice.`);
    read[name] = coerced(query[name]!, all.join(","));
    const problem = checker(withoutRequired(query[name]!))(read[name]);
    if (problem !== undefined)
      throw new ServerError("BODY_INVALID", `The parameter ${name} cannot be used: ${problem}.`);
  }
  for (const [name, schema] of Object.entries(query)) {
    if (schema.required === true && !Object.hasOwn(read, name)) {
      throw new ServerError("BODY_INVALID", `${path} needs the parameter ${name}.`);
    }
  }
  return read;
}

const bare = new WeakMap<Schema, Schema>();

/** `required: true` is a mark of the table, not of JSON Schema. */
export function withoutRequired(schema: Schema): Schema {
  if (schema.required !== true) return schema;
  const known = bare.get(schema);
  if (known !== undefined) return known;
  const { required: _, ...rest } = schema;
  bare.set(schema, rest);
  return rest;
}

function coerced({ type }: Schema, text: string): unknown {
  if (type === "integer") return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
  if (type === "boolean")
    return text === "1" || text === "true" ? true : text === "0" || text === "false" ? false : text;
  return text;
}

/** Refuses a body that does not fit its route. `by` has a refusal of its own: it comes from the login. */
export function checkBody({ body: schema, bodyOptional, path }: AnyRoute, body: unknown): void {
  if (schema === undefined) {
    if (body === undefined || (isObject(body) && Object.keys(body).length === 0)) return;
    throw new ServerError("BODY_INVALID", `${path} takes no body.`);
  }
  if (body === undefined && bodyOptional) return;
  if (namesBy(body)) throw new ServerError("BY_NOT_ALLOWED", "The body has `by`, which comes from the login.");
  const problem = checker(schema)(body);
  if (problem === undefined) return;
  throw new ServerError("BODY_INVALID", `The body cannot be used: ${problem}.`, { problem });
}

function namesBy(body: unknown): boolean {
  if (!isObject(body)) return false;
  const inside = isObject(body.answers) || Array.isArray(body.answers) ? Object.values(body.answers) : [];
  return Object.hasOwn(body, "by") || inside.some((each) => isObject(each) && Object.hasOwn(each, "by"));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
