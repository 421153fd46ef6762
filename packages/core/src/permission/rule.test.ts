import { describe, expect, test } from "vitest";
import type { Json } from "../index.ts";
import { type PermissionRule, ruleMatches } from "./rule.ts";

const rule = (tool: string, args?: PermissionRule["args"]): PermissionRule => ({
  tool,
  effect: "deny",
  ...(args && { args }),
});

describe("a rule matches a call", () => {
  test.each([
    ["refund", "refund", true],
    ["refund", "refund_all", false],
    ["refund*", "refund_all", true],
    ["*_file", "delete_file", true],
    ["*", "anything", true],
  ])("by its tool: %s on %s: %j (Q9)", (pattern, tool, expected) => {
    expect(ruleMatches(rule(pattern), tool, {})).toBe(expected);
  });

  const args = {
    command: "git push\n--force",
    options: { force: true, depth: 1 },
    files: ["a.txt", { name: "b" }],
    none: null,
  };

  test.each<[string, Json, boolean]>([
    ["command", "git push*", true],
    ["command", "git pull*", false],
    ["options.force", true, true],
    ["options.force", false, false],
    ["options.force", "true", false],
    ["options.depth", 1, true],
    ["options.depth", "*", false],
    ["options", { depth: 1, force: true }, true],
    ["options", { force: true }, false],
    ["options", null, false],
    ["files.0", "*.txt", true],
    ["files.1.name", "b", true],
    ["files", ["a.txt", { name: "b" }], true],
    ["files", ["*.txt", { name: "b" }], false],
    ["none", null, true],
    ["", { ...args }, true],
    ["", {}, false],
  ])("by an argument: %s %j: %j (Q9)", (path, pattern, expected) => {
    expect(ruleMatches(rule("shell", { [path]: pattern }), "shell", args)).toBe(expected);
  });

  test.each([
    "missing",
    "command.length",
    "files.length",
    "files.2",
    "files.00",
    "files.-1",
    "options.force.x",
    "none.x",
    "options.",
  ])("a path that leads to no argument does not match: %s (Q9)", (path) => {
    for (const pattern of ["*", "", null, 0, 2, {}]) {
      expect(ruleMatches(rule("shell", { [path]: pattern }), "shell", args)).toBe(false);
    }
  });

  test("only when its tool and all of its arguments match (Q9)", () => {
    const both = rule("shell", { command: "git *", "options.force": true });
    expect(ruleMatches(both, "shell", args)).toBe(true);
    expect(ruleMatches(both, "bash", args)).toBe(false);
    expect(ruleMatches(both, "shell", { command: "git push", options: { force: false } })).toBe(false);
    expect(ruleMatches(both, "shell", null)).toBe(false);
    expect(ruleMatches(both, "shell", "git *")).toBe(false);
  });

  test("inherited properties of an argument are ignored (Q9)", () => {
    const names = [
      "__proto__",
      "constructor",
      "prototype",
      "constructor.name",
      "options.__proto__",
      "toString",
      "hasOwnProperty",
    ];
    for (const path of names) {
      for (const pattern of ["*", "Object", {}, null]) {
        const it = JSON.parse(`{ ${JSON.stringify(path)}: ${JSON.stringify(pattern)} }`) as Record<string, Json>;
        expect(ruleMatches({ tool: "*", args: it, effect: "allow" }, "shell", args), path).toBe(false);
      }
    }
  });

  test("properties added to its prototype are ignored (Q9)", () => {
    const it = Object.create({ force: true, command: "x" }) as Json;
    expect(ruleMatches(rule("shell", { force: true }), "shell", it)).toBe(false);
    expect(ruleMatches(rule("shell", { command: "*" }), "shell", it)).toBe(false);
  });

  test("__proto__ and constructor never match, not even as an argument's own name (Q9)", () => {
    const own = JSON.parse('{ "__proto__": "x", "constructor": "x", "a": { "__proto__": "x" } }') as Json;
    for (const path of ["__proto__", "constructor", "a.__proto__"]) {
      const it = JSON.parse(`{ ${JSON.stringify(path)}: "x" }`) as Record<string, Json>;
      expect(ruleMatches({ tool: "*", args: it, effect: "allow" }, "shell", own), path).toBe(false);
    }
  });

  test("a hostile argument of 100 kB is matched like any other (Q9)", () => {
    const command = `${"rm -rf * ".repeat(12_000)}!`;
    expect(ruleMatches(rule("shell", { command: "*rm*-rf*rm*-rf*?" }), "shell", { command })).toBe(false);
    expect(ruleMatches(rule("shell", { command: "*rm*-rf*rm*-rf*!" }), "shell", { command })).toBe(true);
  });
});
