import { expect, it, test } from "vitest";
import { z } from "zod";
import type { Json } from "../json.ts";
import { closed, isStrict } from "./closed.ts";
import { toJsonSchema } from "./schema.ts";

const text = { type: "string" } as const;
const object = (properties: { readonly [key: string]: Json }, more: object = {}) =>
  ({ type: "object", properties, required: Object.keys(properties), ...more }) as unknown as Json;

it("I4: objects are closed at every level that does not say otherwise", () => {
  const inner = object({ a: text });
  const shut = object({ a: text }, { additionalProperties: false });
  const given = object({
    one: inner,
    list: { type: "array", items: inner },
    either: { anyOf: [inner, { type: "null" }] },
  });
  expect(closed({ ...(given as object), $defs: { inner } } as unknown as Json)).toEqual({
    type: "object",
    properties: { one: shut, list: { type: "array", items: shut }, either: { anyOf: [shut, { type: "null" }] } },
    required: ["one", "list", "either"],
    additionalProperties: false,
    $defs: { inner: shut },
  });
  for (const open of [true, { type: "number" }]) {
    const map = { type: "object", properties: { a: text }, additionalProperties: open };
    expect(closed(map)).toEqual(map);
  }
});

it("I4: parts that describe one object together stay open, and so does an object that lists no properties", () => {
  const both: Json = { allOf: [object({ a: text }), object({ b: text })] };
  expect(closed(both)).toEqual(both);
  const more = object({ a: text }, { anyOf: [{ required: ["a"] }] });
  expect(closed(more)).toEqual(more);
  expect(closed({ type: "object" })).toEqual({ type: "object" });
});

test.each<[string, z.ZodType, boolean]>([
  [
    "an object of required keys",
    z.object({ name: z.string(), tags: z.array(z.object({ id: z.number().int() })) }),
    true,
  ],
  ["null in place of an absent key", z.object({ name: z.string().nullable() }), true],
  ["an enum and a date as text", z.object({ kind: z.enum(["a", "b"]), at: z.iso.datetime() }), true],
  ["an optional key", z.object({ name: z.string().optional() }), false],
  ["an optional key inside", z.object({ inner: z.object({ name: z.string().optional() }) }), false],
  ["an open map", z.object({ by: z.record(z.string(), z.number()) }), false],
  ["an object with any keys", z.looseObject({ name: z.string() }), false],
  ["a list at the root", z.array(z.string()), false],
  ["anything at all", z.object({ value: z.unknown() }), true],
  ["a default", z.object({ name: z.string().default("x") }), false],
  ["a bound on the length of a text", z.object({ name: z.string().min(3) }), false],
  ["an address", z.object({ url: z.url() }), false],
])("I4: %s: a strict provider takes it: %s", (_name, schema, strict) => {
  expect(isStrict(closed(toJsonSchema(schema, "the test")))).toBe(strict);
});
