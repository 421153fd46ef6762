import { expect, test } from "vitest";
import { en } from "./en.ts";
import { textsFor } from "./texts.ts";
import { zh } from "./zh.ts";

test("the language is the one asked for, else the environment's, else English", () => {
  expect(textsFor("zh", { LANG: "en_US.UTF-8" })).toBe(zh);
  expect(textsFor(undefined, { LANG: "zh_CN.UTF-8" })).toBe(zh);
  expect(textsFor(undefined, { LANG: "de_DE.UTF-8", LC_ALL: "" })).toBe(en);
  expect(textsFor(undefined, {})).toBe(en);
});

/** A value, which also serves as an object with any detail by name. */
const value = (name: string) =>
  new Proxy({}, { get: (_, key) => (key === Symbol.toPrimitive ? () => mark(name) : mark(key)) });
const mark = (key: string | symbol) => `‹${String(key)}›`;

type Text = string | ((...values: unknown[]) => string) | { readonly [name: string]: Text } | readonly Text[];

/** Returns every text by its path; a function is called for its text. */
function* said(text: Text, path: string): Generator<[path: string, said: string]> {
  if (typeof text === "string") yield [path, text];
  else if (typeof text === "function") {
    const names = Array.from({ length: Math.max(1, text.length) }, (_, at) => String(at + 1));
    // By number, by word, and by name.
    yield [`${path} of one`, String(text(...names.map(() => 1)))];
    yield [path, text(...names.map(mark))];
    yield [`${path} by name`, String(text(...names.map(value)))];
  } else for (const [name, inner] of Object.entries(text)) yield* said(inner, `${path}.${name}`);
}

const values = (text: string) => [...new Set(text.match(/‹.*?›/g) ?? [])].sort();

test("every text exists in every language, is not empty, and has the same values", () => {
  const english = new Map(said(en as unknown as Text, "texts"));
  const chinese = new Map(said(zh as unknown as Text, "texts"));
  expect([...chinese.keys()]).toEqual([...english.keys()]);
  for (const [path, text] of english) {
    const other = chinese.get(path)!;
    expect(other.trim(), path).not.toBe("");
    expect(values(other), `${path}: ${text} · ${other}`).toEqual(values(text));
  }
});
