import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../index.ts";
import { canonical } from "../interrupt/digest.ts";
import { rememberedRule } from "./remembered.ts";
import { ruleMatches } from "./rule.ts";

const args = { command: "rm *.log", options: { force: true } };

describe("an approval that is remembered", () => {
  test("leaves a rule with the allowed call, the person and the time (Q9)", () => {
    expect(rememberedRule("r1", "shell", args, "thread", "anna", 5)).toEqual({
      id: "r1",
      tool: "shell",
      args: { "": args },
      effect: "allow",
      reason: "approved by anna",
      by: "anna",
      at: 5,
    });
  });

  test("allows exactly that call: a star in it is a star, and no argument may be added (Q9)", () => {
    for (const remember of ["thread", "always", { scope: "thread" }] as const) {
      const rule = rememberedRule("r1", "shell", args, remember, "anna", 5);
      expect(ruleMatches(rule, "shell", { options: { force: true }, command: "rm *.log" })).toBe(true);
      expect(ruleMatches(rule, "shell", { ...args, command: "rm all.log" })).toBe(false);
      expect(ruleMatches(rule, "shell", { ...args, sudo: true })).toBe(false);
      expect(ruleMatches(rule, "shell", { command: "rm *.log" })).toBe(false);
      expect(ruleMatches(rule, "shells", args)).toBe(false);
    }
  });

  test("of a call without arguments allows no call with some (Q9)", () => {
    const rule = rememberedRule("r1", "deploy", {}, "always", "anna", 5);
    expect(ruleMatches(rule, "deploy", {})).toBe(true);
    expect(ruleMatches(rule, "deploy", { to: "production" })).toBe(false);
  });

  test("allows exactly the arguments equal to its own, for any arguments (Q9)", () => {
    const json = fc.jsonValue({ maxDepth: 2 }).map((it) => it as Json);
    const text = fc.string({ unit: fc.constantFrom("a", "*", "\\"), maxLength: 4 });
    const some = fc.oneof(json, text, fc.dictionary(text, fc.oneof(text, json), { maxKeys: 3 }));
    fc.assert(
      fc.property(some, some, (it, other) => {
        const rule = rememberedRule("r1", "shell", it, "thread", "anna", 5);
        expect(ruleMatches(rule, "shell", it)).toBe(true);
        expect(ruleMatches(rule, "shell", other)).toBe(canonical(it) === canonical(other));
      }),
    );
  });

  test("with patterns allows the calls that they match (Q9)", () => {
    const rule = rememberedRule("r1", "shell", args, { scope: "always", args: { command: "rm *" } }, "anna", 5);
    expect(rule.args).toEqual({ command: "rm *" });
    expect(ruleMatches(rule, "shell", { command: "rm all.log" })).toBe(true);
    expect(ruleMatches(rule, "shell", { command: "mv a b" })).toBe(false);
    const any = rememberedRule("r2", "shell", args, { scope: "always", args: {} }, "anna", 5);
    expect(ruleMatches(any, "shell", { command: "mv a b" })).toBe(true);
  });
});
