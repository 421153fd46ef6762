import { type } from "arktype";
import * as v from "valibot";
import { assert, describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { Json } from "../index.ts";
import {
  type InferInput,
  type InferOutput,
  isSchema,
  jsonSchema,
  type StandardSchema,
  toJsonSchema,
  validate,
} from "./schema.ts";

interface Person {
  name: string;
  age: number;
}

const written = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "number" } },
  required: ["name", "age"],
} as const;

const schemas = {
  zod: z.object({ name: z.string(), age: z.number() }),
  valibot: v.object({ name: v.string(), age: v.number() }),
  arktype: type({ name: "string", age: "number" }),
  belay: jsonSchema<Person>(written),
};

function custom(validate: StandardSchema["~standard"]["validate"], more: object = {}): StandardSchema {
  return { "~standard": { version: 1, vendor: "custom", validate, ...more } };
}

describe("types", () => {
  it("flow from a schema of any library", () => {
    expectTypeOf<InferOutput<typeof schemas.zod>>().toEqualTypeOf<Person>();
    expectTypeOf<InferOutput<typeof schemas.valibot>>().toEqualTypeOf<Person>();
    expectTypeOf<InferOutput<typeof schemas.arktype>>().toEqualTypeOf<Person>();
    expectTypeOf<InferOutput<typeof schemas.belay>>().toEqualTypeOf<Person>();
    expectTypeOf(jsonSchema(true)).toExtend<StandardSchema<Json, Json>>();
  });

  it("distinguish input from output", () => {
    const _zod = z.object({ n: z.string().transform(Number), d: z.number().default(1) });
    expectTypeOf<InferInput<typeof _zod>>().toEqualTypeOf<{ n: string; d?: number | undefined }>();
    expectTypeOf<InferOutput<typeof _zod>>().toEqualTypeOf<{ n: number; d: number }>();
    const _valibot = v.object({ n: v.pipe(v.string(), v.transform(Number)) });
    expectTypeOf<InferInput<typeof _valibot>>().toEqualTypeOf<{ n: string }>();
    expectTypeOf<InferOutput<typeof _valibot>>().toEqualTypeOf<{ n: number }>();
    const _arktype = type({ n: type("string").pipe(Number) });
    expectTypeOf<InferInput<typeof _arktype>>().toEqualTypeOf<{ n: string }>();
    expectTypeOf<InferOutput<typeof _arktype>>().toEqualTypeOf<{ n: number }>();
  });
});

describe("validate", () => {
  it.each(Object.entries(schemas))("answers at once with the value, a copy (%s)", (_, schema) => {
    const given = { name: "Ada", age: 36 };
    const result = validate(schema as StandardSchema<Person>, given);
    assert("ok" in result && result.ok);
    expect(result.value).toEqual(given);
    expect(result.value).not.toBe(given);
  });

  it.each([
    ["zod", "age: Invalid input: expected number, received string"],
    ["valibot", 'age: Invalid type: Expected number but received "abc"'],
    ["arktype", "age must be a number (was a string)"],
    ["belay", 'age: expected number, got string "abc"'],
  ] as const)("says where and what is wrong, in the words of %s", (name, problem) => {
    const schema: StandardSchema = schemas[name];
    expect(validate(schema, { name: "Ada", age: "abc" })).toEqual({ ok: false, problem });
  });

  it("lists several problems on one line", () => {
    expect(validate(schemas.belay, { name: 1 })).toEqual({
      ok: false,
      problem: "age: is missing, expected number; name: expected string, got number 1",
    });
    const list = jsonSchema({ properties: { "a b": { items: { required: ["x"] } } } });
    expect(validate(list, { "a b": [{}] })).toEqual({
      ok: false,
      problem: '["a b"][0].x: is missing, expected anything',
    });
    const many = custom(() => ({ issues: Array.from({ length: 14 }, (_, i) => ({ message: `no\n  ${i}` })) }));
    const result = validate(many, 1);
    expect(result).toMatchObject({ problem: expect.stringMatching(/^no 0; no 1; .*; no 9; and 4 more$/) });
  });

  it("leaves out the full stop at the end of a message: it stands within other words", () => {
    const saying = (message: string) => ({
      "~standard": { version: 1 as const, vendor: "test", validate: () => ({ issues: [{ message }] }) },
    });
    expect(validate(saying("Only what is in this folder."), 1)).toEqual({
      ok: false,
      problem: "Only what is in this folder",
    });
    expect(validate(saying("so it goes..."), 1)).toEqual({ ok: false, problem: "so it goes..." });
  });

  it("returns a value that shares no object with its input, also deep inside", () => {
    const loose: StandardSchema[] = [
      z.object({ any: z.any() }),
      v.object({ any: v.any() }),
      type({ any: "unknown" }),
      jsonSchema({}),
    ];
    for (const schema of loose) {
      const given = { any: { list: [1] } };
      const result = validate(schema, given);
      assert("ok" in result && result.ok);
      (result.value as typeof given).any.list.push(2);
      expect(given).toEqual({ any: { list: [1] } });
    }
  });

  it("applies transforms and defaults", () => {
    const zod = z.object({ n: z.string().transform(Number), d: z.number().default(7) });
    expect(validate(zod, { n: "5" })).toEqual({ ok: true, value: { n: 5, d: 7 } });
    const valibot = v.object({ n: v.pipe(v.string(), v.transform(Number)), d: v.optional(v.number(), 7) });
    expect(validate(valibot, { n: "5" })).toEqual({ ok: true, value: { n: 5, d: 7 } });
    const arktype = type({ n: type("string").pipe(Number), d: "number = 7" });
    expect(validate(arktype, { n: "5" })).toEqual({ ok: true, value: { n: 5, d: 7 } });
  });

  it("is a promise only for an asynchronous schema", async () => {
    const isFree = async (name: string) => name !== "taken";
    const asynchronous: StandardSchema[] = [
      z.object({ name: z.string().refine(isFree, "is taken") }),
      v.objectAsync({ name: v.pipeAsync(v.string(), v.checkAsync(isFree, "is taken")) }),
    ];
    for (const schema of asynchronous) {
      const result = validate(schema, { name: "free" });
      expect(result).toBeInstanceOf(Promise);
      expect(await result).toEqual({ ok: true, value: { name: "free" } });
      expect(await validate(schema, { name: "taken" })).toEqual({ ok: false, problem: "name: is taken" });
    }
  });

  it("takes a schema that throws, rejects or answers nonsense as a refusal in its words", async () => {
    const thrown = custom(() => {
      throw new Error("no\nnetwork");
    });
    expect(validate(thrown, 1)).toEqual({ ok: false, problem: "no network" });
    const rejected = custom(() => Promise.reject(new Error("no network")));
    expect(await validate(rejected, 1)).toEqual({ ok: false, problem: "no network" });
    const nonsense = custom(() => undefined as never);
    expect(validate(nonsense, 1)).toMatchObject({ ok: false });
    expect(
      await validate(
        custom(async () => undefined as never),
        1,
      ),
    ).toMatchObject({ ok: false });
    expect(
      validate(
        custom(() => ({ issues: [] })),
        1,
      ),
    ).toMatchObject({ ok: false });
    const loop: unknown[] = [];
    loop.push(loop);
    expect(validate(schemas.belay, loop)).toMatchObject({ ok: false });
  });

  it("lets a __proto__ key change no prototype", () => {
    const result = validate(jsonSchema({}), JSON.parse('{"__proto__":{"admin":true}}'));
    assert("ok" in result && result.ok);
    expect(Object.getPrototypeOf(result.value)).toBe(Object.prototype);
  });
});

describe("toJsonSchema", () => {
  it.each(["zod", "arktype", "belay"] as const)("shows a model the input of a schema (%s)", (name) => {
    const seen = toJsonSchema(schemas[name], "tool greet") as { required: string[] };
    expect({ ...seen, required: seen.required.toSorted().toReversed() }).toEqual(written);
  });

  it("shows the input side", () => {
    const zod = z.object({ n: z.string().transform(Number), d: z.number().default(7) });
    expect(toJsonSchema(zod, "tool")).toEqual({
      type: "object",
      properties: { n: { type: "string" }, d: { type: "number", default: 7 } },
      required: ["n"],
    });
    expect(toJsonSchema(type({ n: type("string").pipe(Number) }), "tool")).toEqual({
      type: "object",
      properties: { n: { type: "string" } },
      required: ["n"],
    });
  });

  it("is computed once per schema", () => {
    expect(toJsonSchema(schemas.zod, "a")).toBe(toJsonSchema(schemas.zod, "b"));
  });

  it("says the same of our own schema after its giver has changed the object", () => {
    const given = { type: "string", $schema: "https://json-schema.org/draft/2020-12/schema" };
    const schema = jsonSchema(given);
    given.type = "number";
    expect(toJsonSchema(schema, "tool")).toEqual({ type: "string" });
    expect(validate(schema, "x")).toEqual({ ok: true, value: "x" });
    expect(toJsonSchema(jsonSchema(true), "tool")).toEqual({});
  });

  it("refuses a schema without a JSON Schema, with a hint", () => {
    expect(() => toJsonSchema(schemas.valibot, "tool greet")).toThrow(
      expect.objectContaining({
        code: "SCHEMA_UNSUPPORTED",
        message: "The schema of tool greet (valibot) cannot be turned into JSON Schema.",
        hint: expect.stringContaining("Standard JSON Schema"),
      }),
    );
  });

  it("takes a valibot schema that was given a converter", () => {
    const converter = { input: () => ({ ...written, $schema: "x" }), output: () => written };
    const schema = { ...schemas.valibot, "~standard": { ...schemas.valibot["~standard"], jsonSchema: converter } };
    expect(toJsonSchema(schema, "tool")).toEqual(written);
  });

  it("falls back to an older draft, then to a method of the schema", () => {
    const input = ({ target }: { target: string }) => {
      if (target === "draft-07") return { type: "null" };
      throw new Error("unknown target");
    };
    const older = custom((value) => ({ value }), { jsonSchema: { input } });
    expect(toJsonSchema(older, "tool")).toEqual({ type: "null" });
    const valid = custom((value) => ({ value }));
    const zodLike = { ...valid, toJSONSchema: ({ io }: { io: string }) => ({ title: io }) };
    expect(toJsonSchema(zodLike, "tool")).toEqual({ title: "input" });
    const arkLike = { ...valid, toJsonSchema: () => ({ title: "ark" }) };
    expect(toJsonSchema(arkLike, "tool")).toEqual({ title: "ark" });
  });

  it("says why a library could not", () => {
    expect(() => toJsonSchema(z.object({ at: z.date() }), "tool book")).toThrow(
      "The schema of tool book (zod: Date cannot be represented in JSON Schema) cannot be turned into JSON Schema.",
    );
    const nothing = custom((value) => ({ value }), { jsonSchema: { input: () => 5 } });
    expect(() => toJsonSchema(nothing, "tool")).toThrow("custom gave no JSON Schema object");
  });

  it("refuses a value that is not a schema", () => {
    for (const value of [{}, { type: "object" }, () => 1]) {
      expect(isSchema(value)).toBe(false);
      expect(() => toJsonSchema(value as StandardSchema, "tool")).toThrow("not a Standard Schema");
    }
    for (const schema of Object.values(schemas)) expect(isSchema(schema)).toBe(true);
  });
});

describe("jsonSchema", () => {
  it("refuses a malformed schema when it is given", () => {
    expect(() => jsonSchema({ type: "strng" })).toThrow("at #/type");
    expect(() => jsonSchema({ default: new Date() })).toThrow("a Date at default");
    expect(() => jsonSchema("string" as never)).toThrow("a JSON Schema: an object, true or false");
  });

  it("is a Standard Schema with Standard JSON Schema, for other libraries too", () => {
    const standard = schemas.belay["~standard"];
    expect(standard).toMatchObject({ version: 1, vendor: "belay" });
    expect(standard.jsonSchema.input()).toEqual(written);
    expect(standard.validate({ name: "Ada", age: "x" })).toMatchObject({
      issues: [{ path: ["age"], message: 'expected number, got string "x"' }],
    });
  });
});
