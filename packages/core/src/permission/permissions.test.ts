import { describe, expect, test } from "vitest";
import { BelayError } from "../index.ts";
import { type Permissions, readPermissions } from "./permissions.ts";
import type { PermissionRule } from "./rule.ts";

describe("permissions", () => {
  test("a rule without an id gets one from its owner and position (Q9)", () => {
    const given: Permissions = {
      rules: [
        { tool: "read_*", effect: "allow" },
        { id: "no-refunds", tool: "refund", effect: "deny", reason: "Refunds are final" },
        { tool: "shell", args: { command: "git *" }, effect: "always-ask" },
      ],
      default: "ask",
    };
    expect(readPermissions(given, "agent:support")).toEqual({
      rules: [
        { id: "agent:support#0", tool: "read_*", effect: "allow" },
        { id: "no-refunds", tool: "refund", effect: "deny", reason: "Refunds are final" },
        { id: "agent:support#2", tool: "shell", args: { command: "git *" }, effect: "always-ask" },
      ],
      default: "ask",
    });
    expect(readPermissions({}, "runner")).toEqual({ rules: [] });
  });

  test("later changes to the given object have no effect (Q9)", () => {
    const rule = { tool: "refund", args: { order: "1" }, effect: "deny" as PermissionRule["effect"] };
    const rules: PermissionRule[] = [rule];
    const read = readPermissions({ rules }, "runner");
    rule.effect = "allow";
    rule.args.order = "2";
    rules.pop();
    expect(read.rules).toEqual([{ id: "runner#0", tool: "refund", args: { order: "1" }, effect: "deny" }]);
    expect(() => Object.assign(read.rules[0]!, { effect: "allow" })).toThrow(TypeError);
  });

  const rule = (fields: object) => ({ rules: [{ tool: "refund", effect: "deny", ...fields }] });

  test.each<[string, unknown, string]>([
    ["nothing", undefined, "they are not an object"],
    ["a list", [], "they are not an object"],
    ["rules that are no list", { rules: {} }, "rules is not a list"],
    ["an unknown default", { default: "always-ask" }, 'default is "always-ask", not one of allow, ask, deny'],
    ["a rule that is none", { rules: ["deny"] }, "rule 0: it is not an object"],
    [
      "an unknown effect",
      rule({ effect: "Deny" }),
      'rule 0: effect is "Deny", not one of allow, ask, always-ask, deny',
    ],
    ["no effect", { rules: [{ tool: "a" }] }, "rule 0: effect is undefined, not one of allow, ask, always-ask, deny"],
    [
      "an inherited effect",
      rule({ effect: "constructor" }),
      'rule 0: effect is "constructor", not one of allow, ask, always-ask, deny',
    ],
    [
      "no tool",
      { rules: [{ effect: "deny" }] },
      "rule 0: tool is undefined, not the name of a tool, with * for any characters",
    ],
    [
      "a tool that none can be named",
      rule({ tool: "shell(git *)" }),
      'rule 0: tool is "shell(git *)", not the name of a tool, with * for any characters',
    ],
    ["an empty id", rule({ id: "" }), 'rule 0: id is "", not text'],
    ["a reason that is no text", rule({ reason: 1 }), "rule 0: reason is 1, not text"],
    ["args that are no patterns", rule({ args: "git *" }), "rule 0: args is not an object of patterns by path"],
    ["a regular expression", rule({ args: { order: /x/ } }), "a RegExp at rules[0].args.order"],
    [
      "a pattern that came out undefined, or the rule would be about every call",
      rule({ args: { order: undefined } }),
      'rule 0: args has undefined at "order"',
    ],
    ["a function", rule({ args: { order: () => true } }), "a function at rules[0].args.order"],
    ["a path with a hole", rule({ args: { "a..b": 1 } }), 'rule 0: the path "a..b" has an empty step'],
    [
      "a path into a prototype",
      rule({ args: { "a.constructor": 1 } }),
      'rule 0: the path "a.constructor" goes through constructor',
    ],
    ["a __proto__ key", rule({ args: JSON.parse('{ "__proto__": 1 }') }), "a __proto__ key at rules[0].args.__proto__"],
    [
      "one id for two rules",
      {
        rules: [
          { id: "runner#1", tool: "a", effect: "ask" },
          { tool: "b", effect: "ask" },
        ],
      },
      'two rules have the id "runner#1"',
    ],
  ])("%s is refused when it is defined, with the problem (Q9)", (_, given, problem) => {
    let thrown: unknown;
    try {
      readPermissions(given as Permissions, "runner");
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(BelayError);
    const { code, message } = thrown as BelayError;
    expect({ code, message }).toEqual({
      code: "PERMISSION_INVALID",
      message: `The permissions of runner are not valid: ${problem}.`,
    });
  });
});
