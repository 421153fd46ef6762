import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../index.ts";
import { decide, type RuleSource, type ToolNature } from "./decide.ts";
import { rememberedRule } from "./remembered.ts";
import { type PermissionRule, ruleMatches } from "./rule.ts";

const plain: ToolNature = { name: "refund", readOnly: false, repeatable: false, destructive: false };
const args = { order: "7" };

const rule = (effect: PermissionRule["effect"], fields: Partial<PermissionRule> = {}): PermissionRule => ({
  id: effect,
  tool: "refund",
  effect,
  ...fields,
});

const from = (source: RuleSource["source"], ...rules: PermissionRule[]): RuleSource => ({ source, rules });

const remembered = from("thread", rememberedRule("r1", "refund", args, "thread", "anna", 5));

describe("the order of decisions", () => {
  test("a deny rule wins over everything, in any position (Q9)", () => {
    const sources = [from("runner", rule("deny", { reason: "Refunds are final." }), rule("allow")), remembered];
    expect(decide(plain, args, false, sources, false)).toEqual({
      effect: "deny",
      rule: "deny",
      source: "runner",
      words: "refund is denied by rule deny of the runner: Refunds are final.",
    });
  });

  test("an always-ask rule asks whatever allows the call, also a remembered approval (Q9)", () => {
    const sources = [from("agent", rule("always-ask"), rule("allow", { id: "later" })), remembered];
    expect(decide(plain, args, undefined, sources, false)).toEqual({
      effect: "ask",
      rule: "always-ask",
      source: "agent",
      words: "refund always needs approval under rule always-ask of the agent.",
    });
  });

  test("a tool that needs approval asks although a rule allows it (Q9)", () => {
    expect(decide(plain, args, true, [from("agent", rule("allow"))], false)).toEqual({
      effect: "ask",
      source: "tool",
      words: "refund needs approval because the tool asks for it.",
    });
  });

  test("a tool that needs approval does not ask again for a call that a person chose to remember (Q9)", () => {
    const sources = [from("agent", rule("ask")), remembered];
    expect(decide(plain, args, true, sources, false)).toEqual({
      effect: "allow",
      rule: "r1",
      source: "thread",
      words: "refund is allowed by rule r1 remembered in this thread: approved by anna.",
    });
    expect(decide(plain, { order: "8" }, true, sources, false).effect).toBe("ask");
  });

  test("a tool that needs approval cannot lift a default deny by asking (Q9)", () => {
    const sources: RuleSource[] = [{ source: "runner", rules: [], default: "deny" }];
    expect(decide(plain, args, true, sources, false)).toEqual({
      effect: "deny",
      source: "default",
      words: "refund is denied by default of the runner: no rule speaks of it.",
    });
    expect(decide(plain, args, true, [...sources, from("agent", rule("ask"))], false).effect).toBe("ask");
  });

  test("of allow and ask in one list the later rule wins (Q9)", () => {
    expect(decide(plain, args, undefined, [from("agent", rule("ask"), rule("allow"))], false)).toEqual({
      effect: "allow",
      rule: "allow",
      source: "agent",
      words: "refund is allowed by rule allow of the agent.",
    });
    expect(decide(plain, args, undefined, [from("agent", rule("allow"), rule("ask"))], false)).toEqual({
      effect: "ask",
      rule: "ask",
      source: "agent",
      words: "refund needs approval under rule ask of the agent.",
    });
  });

  test("between lists the thread beats always, always the agent, the agent the runner (Q9)", () => {
    const order = ["runner", "agent", "always", "thread"] as const;
    for (const [at, stronger] of order.entries()) {
      for (const weaker of order.slice(0, at)) {
        for (const [effect, other] of [
          ["allow", "ask"],
          ["ask", "allow"],
        ] as const) {
          const pair = [from(weaker, rule(other)), from(stronger, rule(effect))];
          const { source, effect: got } = decide(plain, args, undefined, pair, false);
          expect({ source, effect: got }).toEqual({ source: stronger, effect });
          expect(decide(plain, args, undefined, pair.reverse(), false).source).toBe(stronger);
        }
      }
    }
  });

  test("a rule of another tool or other arguments decides nothing (Q9)", () => {
    const sources = [
      from("agent", rule("deny", { tool: "refunds" }), rule("deny", { args: { order: "8" } })),
      from("runner", rule("always-ask", { args: { missing: "*" } })),
    ];
    expect(decide({ ...plain, readOnly: true }, args, undefined, sources, false).effect).toBe("allow");
  });

  test("a default decides calls that no rule matches, the agent's before the runner's (Q9)", () => {
    const runner: RuleSource = { source: "runner", rules: [], default: "deny" };
    const agent: RuleSource = { source: "agent", rules: [], default: "allow" };
    const destructive = { ...plain, destructive: true };
    expect(decide(destructive, args, undefined, [runner, agent], false)).toEqual({
      effect: "allow",
      source: "default",
      words: "refund is allowed by default of the agent: no rule speaks of it.",
    });
    expect(decide({ ...plain, readOnly: true }, args, undefined, [runner, from("agent")], false).effect).toBe("deny");
  });

  test.each<[string, Partial<ToolNature>, RuleSource[], string, string, string]>([
    [
      "destructive asks",
      { destructive: true },
      [],
      "ask",
      "tool",
      "refund needs approval because it is destructive and no rule speaks of it.",
    ],
    [
      "destructive asks, with any other annotation",
      { destructive: true, readOnly: true },
      [],
      "ask",
      "tool",
      "refund needs approval because it is destructive and no rule speaks of it.",
    ],
    [
      "read-only is allowed",
      { readOnly: true },
      [from("agent")],
      "allow",
      "tool",
      "refund is allowed because it changes nothing.",
    ],
    [
      "repeatable is allowed",
      { repeatable: true },
      [from("runner")],
      "allow",
      "tool",
      "refund is allowed because running it twice does no harm.",
    ],
    [
      "any other is allowed without permissions",
      {},
      [remembered].slice(1),
      "allow",
      "default",
      "refund is allowed because there are no permissions to heed.",
    ],
    [
      "any other asks if the agent has permissions",
      {},
      [from("agent")],
      "ask",
      "default",
      "refund needs approval because no rule speaks of it.",
    ],
    [
      "any other asks if the runner has permissions",
      {},
      [from("runner")],
      "ask",
      "default",
      "refund needs approval because no rule speaks of it.",
    ],
    [
      "rules remembered for other calls do not count as permissions",
      {},
      [from("always", rule("allow", { tool: "other" }))],
      "allow",
      "default",
      "refund is allowed because there are no permissions to heed.",
    ],
  ])("without rule or default the tool decides: %s (Q9)", (_, nature, sources, effect, source, words) => {
    expect(decide({ ...plain, ...nature }, args, undefined, sources, false)).toEqual({ effect, source, words });
  });

  test("unattended, an ask becomes a deny that names the rule behind it (Q9)", () => {
    expect(decide(plain, args, undefined, [from("agent", rule("ask", { reason: "money" }))], true)).toEqual({
      effect: "deny",
      rule: "ask",
      source: "unattended",
      words:
        "refund is denied because nobody is there to be asked: it needs approval under rule ask of the agent: money.",
    });
    expect(decide(plain, args, true, [], true)).toEqual({
      effect: "deny",
      source: "unattended",
      words: "refund is denied because nobody is there to be asked: it needs approval because the tool asks for it.",
    });
    expect(decide(plain, args, undefined, [], true).effect).toBe("allow");
  });

  test("a rule without an id is named by its place (Q9)", () => {
    const { id: _, ...nameless } = rule("deny");
    expect(decide(plain, args, undefined, [from("agent", rule("allow"), nameless)], false).rule).toBe("agent#1");
  });
});

describe("with any rules", () => {
  const name = fc.constantFrom("refund", "read", "shell");
  const value = fc.constantFrom<Json[]>("a", "b*", 1, true);
  const someArgs = fc.dictionary(fc.constantFrom("x", "y"), value, { maxKeys: 2 });
  const anyRule: fc.Arbitrary<PermissionRule> = fc.record(
    {
      id: fc.string({ minLength: 1, maxLength: 3 }),
      tool: fc.oneof(name, fc.constantFrom("*", "re*", "\\*")),
      args: fc.dictionary(fc.constantFrom("x", "y", "x.y", ""), fc.oneof(value, fc.constant("*")), { maxKeys: 2 }),
      effect: fc.constantFrom<PermissionRule["effect"][]>("allow", "ask", "always-ask", "deny"),
      reason: fc.string({ maxLength: 5 }),
    },
    { requiredKeys: ["tool", "effect"] },
  );
  const anySource: fc.Arbitrary<RuleSource> = fc.record(
    {
      source: fc.constantFrom<RuleSource["source"][]>("runner", "agent", "thread", "always"),
      rules: fc.array(anyRule, { maxLength: 4 }),
      default: fc.constantFrom("allow", "ask", "deny"),
    },
    { requiredKeys: ["source", "rules"] },
  );
  const call = fc.record({
    tool: fc.record({ name, readOnly: fc.boolean(), repeatable: fc.boolean(), destructive: fc.boolean() }),
    args: someArgs,
    needsApproval: fc.constantFrom(true, false, undefined),
    sources: fc.array(anySource, { maxLength: 4 }),
    unattended: fc.boolean(),
  });
  type Call = typeof call extends fc.Arbitrary<infer C> ? C : never;
  const judge = ({ tool, args, needsApproval, sources, unattended }: Call) =>
    decide(tool, args, needsApproval, sources, unattended);
  const effects = ({ tool, args, sources }: Call) =>
    sources.flatMap(({ rules }) => rules.filter((it) => ruleMatches(it, tool.name, args)).map(({ effect }) => effect));
  const holds = (property: (it: Call) => void) => fc.assert(fc.property(call, property), { numRuns: 1000 });

  test("a matching deny denies (Q9)", () => {
    holds((it) => {
      if (effects(it).includes("deny")) expect(judge(it).effect).toBe("deny");
    });
  });

  test("a matching always-ask is never allowed (Q9)", () => {
    holds((it) => {
      if (effects(it).includes("always-ask")) expect(judge(it).effect).not.toBe("allow");
    });
  });

  test("a tool that needs approval runs unasked only by a remembered rule (Q9)", () => {
    holds((it) => {
      const { effect, source } = judge({ ...it, needsApproval: true });
      if (effect === "allow") expect(["thread", "always"]).toContain(source);
    });
  });

  test("a tool that needs approval is never allowed more than one that does not (Q9)", () => {
    const rank = { deny: 0, ask: 1, allow: 2 };
    holds((it) => {
      const needing = judge({ ...it, needsApproval: true });
      expect(rank[needing.effect]).toBeLessThanOrEqual(rank[judge({ ...it, needsApproval: undefined }).effect]);
    });
  });

  test("unattended never asks, and changes no other verdict (Q9)", () => {
    holds((it) => {
      const alone = judge({ ...it, unattended: true });
      const accompanied = judge({ ...it, unattended: false });
      if (accompanied.effect !== "ask") expect(alone).toEqual(accompanied);
      else expect(alone).toMatchObject({ effect: "deny", source: "unattended" });
    });
  });

  test("one more allow rule never lifts a matching deny or always-ask (Q9)", () => {
    fc.assert(
      fc.property(call, anySource, anyRule, (it, source, added) => {
        const more = {
          ...it,
          sources: [...it.sources, { ...source, rules: [{ ...added, effect: "allow" as const }] }],
        };
        if (effects(it).includes("deny")) expect(judge(more).effect).toBe("deny");
        if (effects(it).includes("always-ask")) expect(judge(more).effect).not.toBe("allow");
      }),
      { numRuns: 1000 },
    );
  });

  test("the verdict names an existing rule that matches, in its words too (Q9)", () => {
    holds((it) => {
      const verdict = judge(it);
      expect(verdict.words.startsWith(`${it.tool.name} `)).toBe(true);
      expect(verdict.words.endsWith(".")).toBe(true);
      if (verdict.rule === undefined) return;
      expect(verdict.words).toContain(`rule ${verdict.rule} `);
      const named = it.sources.flatMap(({ source, rules }) =>
        rules.filter((each, at) => (each.id ?? `${source}#${at}`) === verdict.rule),
      );
      expect(named.some((each) => ruleMatches(each, it.tool.name, it.args))).toBe(true);
    });
  });

  test("the same call gets the same verdict, in any order of the sources (Q9)", () => {
    holds((it) => {
      const one = new Map(it.sources.map((each) => [each.source, each]));
      const sources = [...one.values()];
      expect(judge({ ...it, sources })).toEqual(judge({ ...it, sources: sources.toReversed() }));
    });
  });
});
