import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../index.ts";
import { compileJsonSchema } from "./json-schema.ts";

/** Everything wrong with a value, one line each. */
function wrong(schema: Json, value: unknown): string[] {
  return compileJsonSchema(schema)(value).map(({ path, message }) => `${path.join("/")}: ${message}`);
}

/** [schema, values that fit, values that do not] */
const cases: Record<string, [Json, readonly unknown[], readonly unknown[]]> = {
  "true allows all, false nothing": [{ properties: { a: true, b: false } }, [{}, { a: 1 }], [{ b: 1 }]],
  string: [{ type: "string" }, ["", "a"], [1, null, [], {}, true, undefined]],
  number: [{ type: "number" }, [0, 1.5], ["1", Number.NaN, Number.POSITIVE_INFINITY, 1n]],
  integer: [{ type: "integer" }, [0, -3, 1.0, 1e20], [1.5, "1"]],
  "array is not object": [{ type: "object" }, [{}], [[], null, () => {}]],
  "object is not array": [{ type: "array" }, [[]], [{}, "a"]],
  "several types": [{ type: ["string", "null"] }, ["", null], [1]],
  "integer beside number": [{ type: ["integer", "number"] }, [1.5, 2], ["1"]],
  nullable: [{ type: "string", nullable: true, enum: ["a"] }, ["a", null], ["b", 1]],
  enum: [{ enum: [1, "a", null, { a: [1], b: 2 }] }, [1, "a", null, { b: 2, a: [1] }], ["1", { a: [1] }, undefined]],
  const: [{ const: { a: 1 } }, [{ a: 1 }], [{ a: 1, b: 1 }, [1], "a"]],
  "const null": [{ const: null }, [null], [0, "", false]],
  "const false is not 0": [{ const: false }, [false], [0, null]],
  minimum: [{ minimum: 2, maximum: 4 }, [2, 4, "x"], [1.9, 4.1]],
  exclusive: [{ exclusiveMinimum: 2, exclusiveMaximum: 4 }, [2.1, 3.9], [2, 4]],
  "exclusive, older": [{ minimum: 2, exclusiveMinimum: true, maximum: 4, exclusiveMaximum: false }, [2.1, 4], [2, 5]],
  "minimum of 0": [{ minimum: 0 }, [0], [-1]],
  multipleOf: [{ multipleOf: 0.1 }, [0, 0.3, 4.35e2, -0.7, "x"], [0.35, 0.25]],
  "multipleOf, whole": [{ multipleOf: 3 }, [9, 0, -3], [10, 1e-9]],
  length: [{ minLength: 2, maxLength: 3 }, ["ab", "💥💥", "💥💥💥", 5], ["a", "💥", "abcd"]],
  pattern: [{ pattern: "^a.c$" }, ["abc", "a💥c", 1], ["ab", "xabc"]],
  "pattern that only older rules allow": [{ pattern: "^[\\w-.]+$" }, ["a-b.c"], ["a b"]],
  items: [{ items: { type: "number" } }, [[], [1, 2], "x"], [[1, "2"]]],
  prefixItems: [{ prefixItems: [{ type: "number" }, { const: "a" }] }, [[1, "a", null], [1], []], [["a"], [1, "b"]]],
  "prefixItems, then items": [{ prefixItems: [true], items: { type: "null" } }, [[1, null]], [[1, 1]]],
  "prefixItems and no more": [{ prefixItems: [true], items: false }, [[1], []], [[1, 1]]],
  "items, older": [{ items: [{ type: "number" }], additionalItems: false }, [[1]], [["a"], [1, 2]]],
  size: [{ minItems: 1, maxItems: 2 }, [[1], [1, 2]], [[], [1, 2, 3]]],
  "maxItems of 0": [{ maxItems: 0 }, [[]], [[1]]],
  uniqueItems: [
    { uniqueItems: true },
    [[1, "1", true, [1], { a: 1 }], []],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [1, 1],
    ],
  ],
  contains: [{ contains: { const: 1 }, maxContains: 2 }, [[1], [2, 1, 1]], [[], [2], [1, 1, 1]]],
  required: [{ required: ["a"] }, [{ a: null }, "x", []], [{}, { a: undefined }, { b: 1 }]],
  properties: [{ properties: { a: { type: "string" } } }, [{}, { a: "" }, { b: 1 }, []], [{ a: 1 }]],
  closed: [{ properties: { a: true }, additionalProperties: false }, [{ a: 1 }, {}], [{ b: 1 }]],
  "others have a schema": [
    { properties: { a: true }, additionalProperties: { type: "null" } },
    [{ a: 1, b: null }],
    [{ b: 1 }],
  ],
  patternProperties: [
    { patternProperties: { "^x": { type: "number" } }, additionalProperties: false },
    [{ x1: 1 }, {}],
    [{ x1: "a" }, { y: 1 }],
  ],
  "number of properties": [{ minProperties: 1, maxProperties: 1 }, [{ a: 1 }], [{}, { a: 1, b: 1 }]],
  propertyNames: [{ propertyNames: { maxLength: 1 } }, [{ a: 1 }], [{ ab: 1 }]],
  dependentRequired: [{ dependentRequired: { a: ["b"] } }, [{}, { a: 1, b: 1 }, { b: 1 }], [{ a: 1 }]],
  anyOf: [{ anyOf: [{ type: "string" }, { minimum: 3 }] }, ["a", 3, null], [2]],
  oneOf: [{ oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] }, [2, 3], [6, 1]],
  allOf: [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1, 2], [0, 3]],
  not: [{ not: { type: "string" } }, [1], ["a"]],
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema.
  "if, then, else": [{ if: { const: 1 }, then: { type: "number" }, else: { type: "string" } }, [1, "a"], [2, null]],
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema.
  "then without if": [{ then: false }, [1], []],
  $defs: [{ $ref: "#/$defs/a", $defs: { a: { type: "string" } } }, ["x"], [1]],
  definitions: [{ $ref: "#/definitions/a~1b%25", definitions: { "a/b%": { type: "string" } } }, ["x"], [1]],
  "reference with siblings": [{ $ref: "#/$defs/a", minLength: 2, $defs: { a: { type: "string" } } }, ["xy"], ["x", 1]],
  "reference to a reference": [
    { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { type: "null" } } },
    [null],
    [1],
  ],
  "a property called $ref": [{ properties: { $ref: { type: "string" } } }, [{ $ref: "a" }], [{ $ref: 1 }]],
  recursive: [
    { type: "object", properties: { v: { type: "number" }, next: { $ref: "#" } }, required: ["v"] },
    [{ v: 1, next: { v: 2, next: { v: 3 } } }],
    [
      { v: 1, next: { v: 2, next: {} } },
      { v: 1, next: 1 },
    ],
  ],
  "unknown keywords": [{ format: "email", "x-order": 3, examples: 5, unevaluatedItems: false }, ["no mail", [1]], []],
};

describe("compileJsonSchema", () => {
  it.each(Object.entries(cases))("%s", (_, [schema, good, bad]) => {
    for (const value of good) expect(wrong(schema, value)).toEqual([]);
    for (const value of bad) expect(wrong(schema, value), String(value)).not.toEqual([]);
  });

  it("names the place, the expected and the found value", () => {
    const schema = {
      type: "object",
      properties: {
        age: { type: "number", minimum: 0 },
        name: { type: "string", minLength: 2, pattern: "^[A-Z]" },
        kind: { enum: ["a", "b"] },
        tags: { type: "array", items: { type: "string" }, maxItems: 1, uniqueItems: true },
      },
      required: ["age", "city"],
      additionalProperties: false,
    };
    const value = { age: "abc", name: "x", kind: "c", tags: [1, 1], extra: true };
    expect(wrong(schema, value)).toEqual([
      "city: is missing, expected anything",
      'age: expected number, got string "abc"',
      "name: expected at least 2 characters, got 1",
      'name: expected text matching ^[A-Z], got "x"',
      'kind: expected one of "a", "b", got string "c"',
      "tags: expected at most 1 items, got 2",
      "tags: items must differ, but [0] and [1] are both 1",
      "tags/0: expected string, got number 1",
      "tags/1: expected string, got number 1",
      "extra: is not a known property; known: age, name, kind, tags",
    ]);
    expect(wrong({ ...schema }, [1])).toEqual([": expected object, got array of 1"]);
    expect(wrong({ minimum: 3 }, 2)).toEqual([": expected 3 or more, got 2"]);
    expect(wrong({ exclusiveMaximum: 3 }, 3)).toEqual([": expected less than 3, got 3"]);
  });

  it("speaks of the form that was meant", () => {
    const forms: Json = {
      anyOf: [
        { properties: { kind: { const: "a" }, x: { type: "number" } }, required: ["kind", "x"] },
        { properties: { kind: { const: "b" }, y: { type: "string" } }, required: ["kind", "y"] },
      ],
    };
    expect(wrong(forms, { kind: "b", y: 1 })).toEqual(["y: expected string, got number 1"]);
    expect(wrong({ oneOf: [{ type: "string", minLength: 3 }, { type: "null" }] }, "a")).toEqual([
      ": expected at least 3 characters, got 1",
    ]);
    expect(wrong({ anyOf: [{ type: "string" }, { type: "null" }] }, true)).toEqual([
      ": expected string or null, got boolean true",
    ]);
    expect(wrong({ oneOf: [true, true] }, 1)).toEqual([": fits forms 1 and 2 of oneOf, must fit exactly one"]);
    expect(wrong({ not: { type: "string" } }, "a")).toEqual([': must not be string, got string "a"']);
  });

  it("looks at own properties only", () => {
    expect(wrong({ required: ["toString"], properties: {} }, {})).toEqual(["toString: is missing, expected anything"]);
    expect(wrong({ properties: { constructor: { type: "string" } } }, {})).toEqual([]);
    expect(wrong({ additionalProperties: false }, JSON.parse('{"__proto__":1}'))).toHaveLength(1);
    expect(wrong({ required: ["a"] }, Object.create({ a: 1 }))).toHaveLength(1);
  });

  it.each<[Json, string]>([
    [null, "at # is null"],
    ["string", 'at # is "string"'],
    [[], "at # is array of 0"],
    [
      { properties: { a: { pattern: "(" } } },
      'at #/properties/a/pattern is "("; it must be a valid regular expression',
    ],
    [{ patternProperties: { "[": true } }, "at #/patternProperties"],
    [{ properties: { a: 5 } }, "at #/properties/a is 5"],
    [{ properties: [] }, "at #/properties is array of 0"],
    [{ type: "strng" }, 'at #/type is "strng"; it must be one of string, number'],
    [{ type: ["string", 5] }, "at #/type is 5"],
    [{ required: "a" }, 'at #/required is "a"'],
    [{ enum: "a" }, 'at #/enum is "a"'],
    [{ minimum: "1" }, 'at #/minimum is "1"'],
    [{ exclusiveMinimum: "1" }, 'at #/exclusiveMinimum is "1"'],
    [{ minLength: -1 }, "at #/minLength is -1"],
    [{ multipleOf: 0 }, "at #/multipleOf is 0"],
    [{ anyOf: [] }, "at #/anyOf is array of 0"],
    [{ anyOf: {} }, "at #/anyOf is empty object"],
    [{ items: { allOf: [1] } }, "at #/items/allOf/0 is 1"],
    [{ $ref: "#/$defs/none" }, 'at #/$ref is "#/$defs/none"'],
    [{ $ref: "#/toString" }, 'at #/$ref is "#/toString"'],
    [{ $ref: "https://example.com/a.json" }, "a reference into the same schema"],
    [{ $ref: "#" }, "does not lead back to itself"],
    [
      { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { not: { $ref: "#/$defs/a" } } } },
      "itself",
    ],
    [
      { items: { $ref: "#/$defs/a" }, $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } } },
      "does not lead back to itself",
    ],
  ])("refuses %j when it is given", (schema, words) => {
    expect(() => compileJsonSchema(schema)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    expect(() => compileJsonSchema(schema)).toThrow(words);
  });

  it("checks a definition once per place, however many forms lead to it", () => {
    const twice = (ref: string): Json => ({ anyOf: [{ $ref: ref }, { $ref: ref }] });
    const chain: Record<string, Json> = { d40: { type: "null" } };
    for (let i = 0; i < 40; i++) chain[`d${i}`] = twice(`#/$defs/d${i + 1}`);
    expect(wrong({ $ref: "#/$defs/d0", $defs: chain }, 1)).toHaveLength(1);

    const nested = (n: number): Json => (n === 0 ? 1 : { x: nested(n - 1) });
    const tree: Json = {
      $defs: {
        t: {
          oneOf: [
            { type: "object", properties: { x: { $ref: "#/$defs/t" } }, required: ["x", "y"] },
            { type: "object", properties: { x: { $ref: "#/$defs/t" } }, required: ["x"] },
            { type: "object", properties: { x: { $ref: "#/$defs/t" } }, required: ["x", "z"] },
            { type: "number" },
          ],
        },
      },
      $ref: "#/$defs/t",
    };
    expect(wrong(tree, nested(60))).toEqual([]);
  });

  it("refuses a value nested beyond all measure, and one that contains itself", () => {
    const list: Json = { type: "array", items: { $ref: "#" } };
    expect(wrong(list, JSON.parse("[".repeat(5000) + "]".repeat(5000)))[0]).toContain("more than 500 levels deep");
    const loop: unknown[] = [];
    loop.push(loop);
    expect(wrong(list, loop)[0]).toContain("more than 500 levels deep");
  });

  it("lists a limited number of issues, however many there are", () => {
    const many = Array.from({ length: 100_000 }, () => "x");
    expect(wrong({ items: { type: "number" } }, many)).toHaveLength(20);
  });

  it("never throws for any value, once a schema is compiled", () => {
    const check = compileJsonSchema(
      Object.fromEntries(Object.values(cases).flatMap(([s]) => Object.entries(s as object))),
    );
    fc.assert(fc.property(fc.anything(), (value) => void check(value)));
  });
});
