import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseArgs } from "./parse-args.ts";

const key = fc.string({ unit: "binary" }).filter((k) => k !== "__proto__");
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
    fc.string({ unit: "binary" }),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(key, tie("json"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const object = fc.dictionary(key, json, { maxKeys: 5, noNullPrototype: true });

function problem(raw: unknown): string {
  const parsed = parseArgs(raw);
  return parsed.ok ? "" : parsed.problem;
}

describe("parseArgs", () => {
  it("gives any JSON object back as it was, from text and from a value", () => {
    fc.assert(
      fc.property(object, fc.constantFrom(undefined, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const args = JSON.parse(text);
        expect(parseArgs(text)).toStrictEqual({ ok: true, args });
        expect(parseArgs(args)).toStrictEqual({ ok: true, args });
      }),
    );
  });

  it("refuses any text with a doubled key, however deep it is and however it is spelled", () => {
    const nest = (text: string, depth: number) => `${'{"in":['.repeat(depth)}${text}${"]}".repeat(depth)}`;
    const escaped = (k: string) =>
      `"${[...Array(k.length).keys()].map((i) => `\\u${k.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")}"`;
    fc.assert(
      fc.property(key, json, json, object, fc.nat(5), fc.boolean(), (k, a, b, rest, depth, spelled) => {
        const others = Object.entries(rest).filter(([other]) => other !== k);
        const members = [
          `${JSON.stringify(k)}:${JSON.stringify(a)}`,
          ...others.map(([other, value]) => `${JSON.stringify(other)}: ${JSON.stringify(value)}`),
          `${spelled ? escaped(k) : JSON.stringify(k)} : ${JSON.stringify(b)}`,
        ];
        const text = nest(`{${members.join(",")}}`, depth);
        const parsed = parseArgs(text);
        expect(parsed).toMatchObject({ ok: false, args: text });
        expect(problem(text)).toContain("is there twice at position");
      }),
    );
  });

  it("takes the same key in different objects, and colons and quotes inside texts", () => {
    const args = { a: { a: ':"a":1', b: [{ a: "\\" }, { a: '"' }] }, 'b":': "{:" };
    expect(parseArgs(JSON.stringify(args))).toStrictEqual({ ok: true, args });
  });

  it("takes no arguments at all as an empty object", () => {
    for (const raw of [undefined, "", " \n", "{}"]) expect(parseArgs(raw)).toEqual({ ok: true, args: {} });
  });

  it.each([
    ['{"a": x}', 'expected a value at position 6, near "x}"'],
    ['{"a": 1', 'expected "," or "}" at position 7, where the text ends'],
    ['{"a": 1,}', 'expected a key in double quotes at position 8, near "}"'],
    ["{a: 1}", 'expected a key in double quotes at position 1, near "a: 1}"'],
    ['{"a" 1}', 'expected ":" after the key "a" at position 5, near "1}"'],
    ['{"a": [1 2]}', 'expected "," or "]" at position 9, near "2]}"'],
    ['{"a": "b', 'a text that is not closed or has a bad character begins at position 6, near "\\"b"'],
    ['{"a": 01}', 'expected "," or "}" at position 7, near "1}"'],
    ["{} {}", 'expected nothing more at position 3, near "{}"'],
  ])("says what is wrong with %s, and where", (text, words) => {
    const expected = { ok: false, args: text, problem: `the arguments are not valid JSON: ${words}` };
    expect(parseArgs(text)).toEqual(expected);
  });

  it("finds a position in every text that is not JSON", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'{}[]",:1e-.\\u tfn') })), (text) => {
        let valid = text.trim() === "";
        try {
          JSON.parse(text);
          valid = true;
        } catch {}
        fc.pre(!valid);
        expect(problem(text)).toMatch(/^the arguments are not valid JSON: .* at position \d+, /s);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ["null", "null"],
    ["[1]", "array of 1"],
    ['"x"', 'string "x"'],
    ["3", "number 3"],
  ])("refuses %s, which is not an object, as text and as a value", (text, words) => {
    const said = `the arguments must be a JSON object, got ${words}`;
    expect(parseArgs(text)).toEqual({ ok: false, args: text, problem: said });
    const value = JSON.parse(text);
    if (typeof value !== "string") expect(parseArgs(value)).toEqual({ ok: false, args: value, problem: said });
  });

  it("refuses a __proto__ key anywhere, from text and from a value", () => {
    const text = '{"a":[{"__proto__":{"admin":true}}]}';
    expect(problem(text)).toContain("__proto__");
    expect(problem(JSON.parse(text))).toContain("__proto__");
    expect(problem('{"\\u005f_proto__":1}')).toContain("__proto__");
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  it("refuses arguments that are nested too deep, without running out of stack", () => {
    const deep = (n: number) => `${'{"a":'.repeat(n)}1${"}".repeat(n)}`;
    expect(parseArgs(deep(200)).ok).toBe(true);
    expect(problem(deep(201))).toBe("the arguments are nested more than 200 levels deep");
    expect(problem(deep(100_000))).toBe("the arguments are nested more than 200 levels deep");
    expect(problem("[".repeat(1_000_000))).toContain("at position 1000000, where the text ends");
    const value = JSON.parse(deep(201));
    expect(parseArgs(value)).toMatchObject({ ok: false, args: deep(201) });
  });

  it("refuses a number that would not survive being recorded", () => {
    expect(problem('{"a":[1e999]}')).toBe("the arguments have a number too large to hold");
  });

  it("keeps NUL and lone surrogates", () => {
    expect(parseArgs('{"a":"\\u0000\\ud800"}')).toEqual({ ok: true, args: { a: "\0\ud800" } });
  });

  it("refuses a value that is not plain JSON, with the path to it", () => {
    expect(parseArgs({ at: { when: new Date(0) } })).toEqual({
      ok: false,
      args: null,
      problem: "The arguments cannot be recorded: a Date at at.when.",
    });
  });

  it("shares no object with a value it was given", () => {
    const given = { list: [1] };
    const parsed = parseArgs(given);
    given.list.push(2);
    expect(parsed).toEqual({ ok: true, args: { list: [1] } });
  });

  it("reads a large text in time linear to its length", () => {
    const text = JSON.stringify({ a: Array.from({ length: 50_000 }, (_, i) => ({ i, text: '\\"x:'.repeat(5) })) });
    const before = process.cpuUsage();
    expect(parseArgs(text).ok).toBe(true);
    expect(problem(`${text.slice(0, -1)},"a":1}`)).toContain('the key "a" is there twice');
    expect(problem(`{"a":"${"x".repeat(20_000_000)}`)).toContain("at position 5, near");
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000);
  });
});
