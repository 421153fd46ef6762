// The schema of an answer as a model is sent it (I4). Providers that follow a schema strictly take closed objects only, and
// refuse a request with a schema that they cannot follow.

import type { Json } from "../json.ts";

type Fields = { readonly [key: string]: Json };

/**
 * Returns `schema` with `additionalProperties: false` on every object that lists its properties and does not say otherwise.
 * Parts that describe one object together (`allOf`, `if`) stay open: closed, each would forbid the properties of the others.
 */
export function closed(schema: Json): Json {
  if (!isFields(schema)) return schema;
  const made: Record<string, Json> = { ...schema };
  for (const key of ["properties", "$defs", "definitions"]) {
    const inner = schema[key];
    if (isFields(inner))
      made[key] = Object.fromEntries(Object.entries(inner).map(([name, each]) => [name, closed(each)]));
  }
  for (const key of ["items", "additionalProperties"]) if (isFields(schema[key])) made[key] = closed(schema[key]);
  for (const key of ["anyOf", "oneOf", "prefixItems"]) {
    const inner = schema[key];
    if (Array.isArray(inner)) made[key] = (inner as readonly Json[]).map(closed);
  }
  const isWhole = isFields(schema.properties) && !SHARED.some((key) => Object.hasOwn(schema, key));
  if (isWhole && schema.additionalProperties === undefined) made.additionalProperties = false;
  return made;
}

/** Keywords by which other parts of a schema, or other names, add properties to the same object. */
const SHARED = [
  "allOf",
  "anyOf",
  "oneOf",
  "if",
  "then",
  "else",
  "dependentSchemas",
  "patternProperties",
  "unevaluatedProperties",
];

/** The keywords that strict providers take. One that none of them knows makes a schema loose, never a request invalid. */
const STRICT = new Set([
  "type",
  "title",
  "description",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "anyOf",
  "enum",
  "const",
  "$ref",
  "$defs",
  "definitions",
  "pattern",
  "format",
  "multipleOf",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minItems",
  "maxItems",
]);

const FORMATS = new Set(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]);

/** True if a provider can follow `schema` strictly: an object at the root, every object closed, and all of its keys required. */
export function isStrict(schema: Json): boolean {
  return isFields(schema) && schema.type === "object" && schema.anyOf === undefined && isStrictPart(schema);
}

function isStrictPart(schema: Json): boolean {
  if (!isFields(schema) || Object.keys(schema).some((key) => !STRICT.has(key))) return false;
  const { type, properties, format, items, anyOf } = schema;
  if (format !== undefined && !FORMATS.has(format as string)) return false;
  const isObject = type === "object" || (Array.isArray(type) && type.includes("object")) || properties !== undefined;
  if (isObject && !isStrictObject(schema)) return false;
  if (items !== undefined && !isStrictPart(items)) return false;
  if (type === "array" && items === undefined) return false;
  if (anyOf !== undefined && !(anyOf as readonly Json[]).every(isStrictPart)) return false;
  return [schema.$defs, schema.definitions].every((defs) => !isFields(defs) || Object.values(defs).every(isStrictPart));
}

function isStrictObject({ properties, required, additionalProperties }: Fields): boolean {
  if (!isFields(properties) || additionalProperties !== false) return false;
  const names = Object.keys(properties);
  const needed: readonly Json[] = Array.isArray(required) ? required : [];
  return names.every((name) => needed.includes(name)) && Object.values(properties).every(isStrictPart);
}

function isFields(value: Json | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
