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

test("every text is there in every language, takes the same values and says something", () => {
  for (const [room, names] of Object.entries(en)) {
    for (const [name, text] of Object.entries(names)) {
      const other = (zh as Record<string, Record<string, unknown>>)[room]?.[name];
      expect(typeof other, `${room}.${name}`).toBe(typeof text);
      if (typeof text === "string") expect((other as string).trim(), `${room}.${name}`).not.toBe("");
      if (Array.isArray(text)) expect((other as unknown[]).length, `${room}.${name}`).toBe(text.length);
    }
  }
});
