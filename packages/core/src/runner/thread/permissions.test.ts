import {
  eachStore,
  factsOf,
  gate,
  happens,
  history,
  type KitOptions,
  openKit,
  paying,
  pays,
  requestOf,
  said,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  approve,
  humanApproval,
  humanInput,
  jsonSchema,
  type PermissionRule,
  reject,
  type Store,
  tool,
} from "../../index.ts";

const rule = (effect: PermissionRule["effect"], more: Partial<PermissionRule> = {}): PermissionRule => ({
  tool: "pay",
  effect,
  ...more,
});
const rules = (...list: PermissionRule[]) => ({ permissions: { rules: list } });

describe.each(eachStore)("permissions ($name)", ({ make }) => {
  /** Returns how one payment of 1 ends: asked, ran or denied. */
  async function pay(options: KitOptions & { readonly needsApproval?: boolean }) {
    const { needsApproval, ...rest } = options;
    const { tools, ran } = paying({ needsApproval: needsApproval ?? false });
    const kit = await openKit([pays("a"), "done"], { store: await make(), tools, ...rest });
    const result = await kit.session.run("go").result;
    const how = result.status === "interrupted" ? "asked" : ran.length > 0 ? "ran" : "denied";
    return { kit, ran, how };
  }

  test("Q9: rules of the runner and of the agent decide; a deny beats all, always-ask beats an allow", async () => {
    const cases: (readonly [KitOptions & { readonly needsApproval?: boolean }, string])[] = [
      [{}, "ran"],
      [{ runner: rules(rule("allow")) }, "ran"],
      [{ runner: rules(rule("ask")) }, "asked"],
      [{ runner: rules(rule("deny")) }, "denied"],
      [{ runner: rules(rule("ask")), agent: rules(rule("allow")) }, "ran"],
      [{ runner: rules(rule("allow")), agent: rules(rule("ask")) }, "asked"],
      [{ runner: rules(rule("deny")), agent: rules(rule("allow")) }, "denied"],
      [{ runner: rules(rule("always-ask")), agent: rules(rule("allow")) }, "asked"],
      [{ runner: rules(rule("allow")), needsApproval: true }, "asked"],
      [{ runner: rules(rule("deny")), needsApproval: true }, "denied"],
      [{ runner: { permissions: { default: "deny" } } }, "denied"],
      [{ runner: { permissions: { default: "ask" } } }, "asked"],
      [{ runner: { permissions: {} } }, "asked"],
      [{ runner: rules(rule("deny", { args: { n: 1 } })) }, "denied"],
      [{ runner: rules(rule("allow"), rule("deny", { args: { n: 2 } })) }, "ran"],
    ];
    for (const [options, wanted] of cases) {
      const { how, kit } = await pay(options);
      expect([options, how]).toEqual([options, wanted]);
      expect(kit.problems()).toEqual([]);
    }
  });

  test("Q9: a destructive tool asks unless it says that it need not; one that changes nothing does not ask", async () => {
    const of = async (more: Parameters<typeof paying>[0], options: KitOptions = {}) => {
      const { tools } = paying({ needsApproval: undefined as never, ...more });
      const kit = await openKit([pays("a"), "done"], { store: await make(), tools, ...options });
      return (await kit.session.run("go").result).status;
    };
    expect(await of({ destructive: true })).toBe("interrupted");
    expect(await of({ destructive: true, needsApproval: false })).toBe("completed");
    expect(await of({ destructive: true }, { runner: rules(rule("allow")) })).toBe("completed");
    expect(await of({ readOnly: true }, { runner: { permissions: {} } })).toBe("completed");
    expect(await of({ repeatable: true }, { runner: { permissions: {} } })).toBe("completed");
    expect(await of({}, { runner: { permissions: {} } })).toBe("interrupted");
  });

  test("Q9: every decision names the rule that made it: to the model, to the person, on record, and in permission()", async () => {
    const denied = await pay({ runner: rules(rule("deny", { id: "broke", reason: "no money" })) });
    expect(JSON.stringify(denied.kit.requests[1]!.messages)).toContain(
      "pay is denied by rule broke of the runner: no money",
    );
    const asked = await pay({ agent: rules(rule("ask", { id: "careful" })) });
    expect(requestOf(asked.kit, "a").rule).toBe("careful");
    const allowed = await pay({ agent: rules(rule("allow", { id: "free" })) });
    const facts = await factsOf(allowed.kit.store);
    expect(facts.find(({ type }) => type === "tool-start")).toMatchObject({ rule: "free" });
    expect(await allowed.kit.session.permission("pay", { n: 1 })).toMatchObject({
      effect: "allow",
      rule: "free",
      source: "agent",
      words: "pay is allowed by rule free of the agent.",
    });
    for (const name of ["nonsense", undefined as never]) {
      await expect(allowed.kit.session.permission(name, {})).rejects.toMatchObject({ code: "OPTION_INVALID" });
    }
  });

  /** A thread that pays 1, 1 and 2, one after the other, and asks each time unless it may. */
  async function payer(store: Store, options: KitOptions = {}) {
    const { tools, ran } = paying({ needsApproval: true });
    const one = (id: string, n: number) => [{ call: "pay", id, args: { n } }];
    const kit = await openKit([one("a", 1), one("b", 1), one("c", 2), "done"], { store, tools, ...options });
    await kit.session.run("go").result;
    return { kit, tools, ran };
  }

  test('Q9: remember "thread": the same call runs in this thread, also for another process; no other thread, no other arguments', async () => {
    const store = await make();
    const { kit, tools, ran } = await payer(store);
    const { id } = requestOf(kit, "a");
    await kit.session.resume({ answers: { [id]: approve({ remember: "thread", by: "ann" }) } }).result;
    expect(ran).toEqual(["pay 1", "pay 1"]);
    expect(kit.session.interrupts.map(({ callId }) => callId)).toEqual(["c"]);
    const [remembered] = kit.session.rules;
    expect(remembered).toMatchObject({ id: `rule.${id}`, tool: "pay", effect: "allow", by: "ann" });
    expect([await kit.runner.rules(), await kit.runner.rules({ threadId: "thread" })]).toEqual([[], [remembered]]);
    const other = await openKit([[{ call: "pay", id: "d", args: { n: 1 } }], "done"], { store, tools });
    expect(other.session.rules).toEqual([remembered]);
    expect(await other.session.permission("pay", { n: 1 })).toMatchObject({ effect: "allow", source: "thread" });
    expect(await other.session.permission("pay", { n: 2 })).toMatchObject({ effect: "ask" });
    await other.session.resume({ input: "never mind" }).result;
    expect(ran).toEqual(["pay 1", "pay 1", "pay 1"]);
    const elsewhere = await payer(store, { threadId: "elsewhere" });
    expect(elsewhere.kit.session.interrupts.map(({ callId }) => callId)).toEqual(["a"]);
  });

  test("Q9: rules remembered in a thread can be taken back, at rest and while it runs, by any process", async () => {
    const store = await make();
    const { kit, tools, ran } = await payer(store);
    const { id } = requestOf(kit, "a");
    await kit.session.resume({ answers: { [id]: approve({ remember: "thread", by: "ann" }) } }).result;
    const other = await openKit([[{ call: "pay", id: "d", args: { n: 1 } }], "done"], { store, tools });
    expect(await other.session.removeRule("nonsense")).toBe(false);
    expect(await other.runner.removeRule(`rule.${id}`, { threadId: "thread", by: "bob" })).toBe(true);
    expect(await other.session.removeRule(`rule.${id}`)).toBe(false);
    expect([other.session.rules, await kit.runner.rules({ threadId: "thread" })]).toEqual([[], []]);
    expect(said(await factsOf(store, "thread")).slice(-2)).toEqual([
      `rule-removed rule.${id} by bob`,
      "state paused tool_interrupt",
    ]);
    expect(other.session.interrupts.map(({ callId }) => callId)).toEqual(["c"]);
    await other.session.resume({ input: "never mind" }).result;
    expect([ran, other.session.interrupts.map(({ callId }) => callId)]).toEqual([["pay 1", "pay 1"], ["d"]]);
    const { id: second } = requestOf(other, "d");
    const begun = gate();
    const end = gate();
    const look = tool({
      name: "look",
      description: "",
      input: jsonSchema({ type: "object" }),
      execute: async () => {
        begun.open();
        await end.opened;
      },
    });
    const turns = [[{ call: "look", id: "l" }], [{ call: "pay", id: "e", args: { n: 1 } }]];
    const last = await openKit(turns, { store, tools: [tools[0]!, look] });
    const run = last.session.resume({ answers: { [second]: approve({ remember: "thread" }) } });
    await begun.opened;
    expect(await last.session.removeRule(`rule.${second}`)).toBe(true);
    end.open();
    await run.result;
    expect(last.session.interrupts.map(({ callId }) => callId)).toEqual(["e"]);
  });

  test("Q9: a rule is not removed by a session that is closed meanwhile: it stays, and the caller gets SESSION_CLOSED", async () => {
    const store = await make();
    const { kit } = await payer(store);
    const { id } = requestOf(kit, "a");
    await kit.session.resume({ answers: { [id]: approve({ remember: "thread" }) } }).result;
    void kit.session.resume({ input: "never mind" });
    const removing = expect(kit.session.removeRule(`rule.${id}`)).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    await kit.session.close();
    await removing;
    const next = await openKit([], { store });
    expect(next.session.rules.map((rule) => rule.id)).toEqual([`rule.${id}`]);
  });

  test('Q9: remember "always": it holds in every thread and process, until it is removed', async () => {
    const store = await make();
    const { kit } = await payer(store);
    const { id } = requestOf(kit, "a");
    await kit.session.answer(id, approve({ remember: "always", by: "ann" }));
    const second = await payer(store, { threadId: "second" });
    expect(second.ran).toEqual(["pay 1", "pay 1"]);
    expect(second.kit.session.interrupts.map(({ callId }) => callId)).toEqual(["c"]);
    const [remembered] = await second.kit.runner.rules();
    expect(remembered).toMatchObject({ id: `rule.${id}`, tool: "pay", effect: "allow", reason: "approved by ann" });
    expect(second.kit.session.rules).toEqual([]);
    expect(await second.kit.runner.removeRule(`rule.${id}`)).toBe(true);
    expect(await second.kit.runner.removeRule(`rule.${id}`)).toBe(false);
    expect(await kit.runner.rules()).toEqual([]);
    const third = await payer(store, { threadId: "third" });
    expect(third.ran).toEqual([]);
  });

  test("Q9: a pattern allows what fits it; edited arguments are remembered as they ran", async () => {
    const store = await make();
    const { kit, ran } = await payer(store);
    const wide = approve({ remember: { scope: "thread", args: {} } });
    expect((await kit.session.resume({ answers: { [requestOf(kit, "a").id]: wide } }).result).status).toBe("completed");
    expect(ran).toEqual(["pay 1", "pay 1", "pay 2"]);
    const edited = await payer(await make());
    const answer = approve({ args: { n: 2 }, remember: "thread" });
    await edited.kit.session.resume({ answers: { [requestOf(edited.kit, "a").id]: answer } }).result;
    expect(edited.ran).toEqual(["pay 2"]);
    await edited.kit.session.resume({ answers: { [requestOf(edited.kit, "b").id]: reject("no") } }).result;
    expect(edited.ran).toEqual(["pay 2", "pay 2"]);
  });

  test("Q9: no remembered rule overrides always-ask or deny, or counts in a quorum", async () => {
    const store = await make();
    const strict = { runner: rules(rule("always-ask")) };
    const { kit, ran } = await payer(store, strict);
    await kit.session.resume({ answers: { [requestOf(kit, "a").id]: approve({ remember: "always" }) } }).result;
    expect([ran, kit.session.interrupts.map(({ callId }) => callId)]).toEqual([["pay 1"], ["b"]]);
    const denied = await payer(store, { threadId: "denied", runner: rules(rule("deny")) });
    expect([denied.ran, denied.kit.session.state]).toEqual([[], "completed"]);
    for (const remember of ["always", "thread"] as const) {
      const { tools, ran: shared } = paying({ needsApproval: () => humanApproval("Pay?", { quorum: 2 }) });
      const two = await openKit([pays("a"), "done"], { store: await make(), tools });
      await two.session.run("go").result;
      const { id } = requestOf(two, "a");
      await two.session.answer(id, approve({ by: "ann", remember }));
      expect([await two.runner.rules(), two.session.rules]).toEqual([[], []]);
      await two.session.answer(id, approve({ by: "bob" }));
      await happens(shared, "pay 1");
      expect([await two.runner.rules(), two.session.rules]).toEqual([[], []]);
      const answers = (await factsOf(two.store)).filter((fact) => fact.type === "request-answered");
      expect(answers.map((fact) => [fact.by, fact.rule])).toEqual([
        ["ann", undefined],
        ["bob", undefined],
      ]);
    }
  });
});

describe.each(eachStore)("unattended ($name)", ({ make }) => {
  const alone = { runner: { unattended: true } };

  test("Q9: a call that would ask is denied, no request is raised, and the model gets the denial", async () => {
    const { tools, ran } = paying();
    const kit = await openKit([pays("a"), "done"], { store: await make(), tools, ...alone });
    expect(await kit.session.run("go").result).toMatchObject({ status: "completed" });
    expect([ran, (await kit.runner.inbox()).items]).toEqual([[], []]);
    expect(history(kit.session.messages)[2]).toBe("tool: a rejected");
    expect(JSON.stringify(kit.requests[1]!.messages)).toContain("denied because nobody is there to be asked");
    expect(await kit.session.permission("pay", { n: 1 })).toMatchObject({ effect: "deny", source: "unattended" });
  });

  test("Q9: a call that a person has approved before runs all the same", async () => {
    const store = await make();
    const { tools, ran } = paying();
    const kit = await openKit([pays("a", "b")], { store, tools });
    await kit.session.run("go").result;
    const a = requestOf(kit, "a").id;
    const other = await openKit(["done"], { store, tools, ...alone });
    await other.session.answer(a, approve());
    await happens(ran, "pay 1");
    expect(ran).toEqual(["pay 1"]);
  });

  test("Q9: ctx.ask is declined: an approval says no, a question throws, and the request is on record", async () => {
    const ask = tool({
      name: "ask",
      description: "",
      input: jsonSchema({ type: "object" }),
      execute: async (_args, ctx) => {
        const { approved, note } = await ctx.ask(humanApproval("May I?"));
        const name = await ctx.ask(humanInput("Who?")).catch((error: { code: string }) => error.code);
        return `${approved} ${note} ${name}`;
      },
    });
    const kit = await openKit([[{ call: "ask", id: "a" }], "done"], { store: await make(), tools: [ask], ...alone });
    expect(await kit.session.run("go").result).toMatchObject({ status: "completed" });
    expect(JSON.stringify(kit.requests[1]!.messages)).toContain(
      "false nobody is there to ask (unattended) REQUEST_REJECTED",
    );
    expect((await kit.runner.inbox()).items).toEqual([]);
  });
});
