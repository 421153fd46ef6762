import { amount, eachStore, openKit, requestOf, until } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type Approval, approve, humanApproval, humanInput, reject, respond, tool } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const START = Date.UTC(2026, 0, 1);

describe.each(eachStore)("what code reads of a decision ($name)", ({ make }) => {
  test("O4: ctx.approval has the approver, the time, the note and the edited arguments; without a gate there is none", async () => {
    const store = await make();
    const clock = fakeClock(START);
    const seen: (Approval | undefined)[] = [];
    const execute = (_args: unknown, ctx: { readonly approval?: Approval | undefined }) => {
      seen.push(ctx.approval);
      return "done";
    };
    const pay = tool({ name: "pay", description: "", input: amount, needsApproval: true, execute });
    const look = tool({ name: "look", description: "", input: amount, execute });
    const tools = [pay, look];
    const calls = [
      { call: "pay", id: "p", args: { n: 1 } },
      { call: "look", id: "l", args: { n: 2 } },
    ];
    const kit = await openKit([calls, "done"], { store, clock, tools });
    await kit.session.run("go").result;
    expect(seen).toEqual([undefined]);
    await clock.advance(5000);
    const id = requestOf(kit, "p").id;
    // Another process runs the approved call.
    const other = await openKit([], { store, clock, tools, threadId: "other" });
    await other.runner.answer(id, approve({ by: "ann", note: "once", args: { n: 3 } }));
    await until(() => seen.length === 2);
    expect(seen[1]).toEqual({ approved: true, by: "ann", at: START + 5000, note: "once", args: { n: 3 } });
  });

  test("O4: the value of an asked approval has the time of the decision, also of a rejection and of an expiry", async () => {
    const store = await make();
    const clock = fakeClock(START);
    const got: unknown[] = [];
    const ask = tool({
      name: "ask",
      description: "",
      input: amount,
      execute: async (_args, ctx) => {
        got.push(await ctx.ask(humanApproval("One?"), { key: "one" }));
        got.push(await ctx.ask(humanApproval("Two?", { expiresAt: START + 3000 }), { key: "two" }));
        return "done";
      },
    });
    const kit = await openKit([[{ call: "ask", id: "a", args: { n: 1 } }], "done"], { store, clock, tools: [ask] });
    await kit.session.run("go").result;
    await clock.advance(1000);
    await kit.session.answer(requestOf(kit, "a").id, reject("no", { by: "bob" }));
    await until(() => got.length === 1);
    expect(got[0]).toEqual({ approved: false, by: "bob", at: START + 1000, note: "no" });
    await clock.advance(9000);
    await kit.session.resume().result;
    expect(got[1]).toMatchObject({ approved: false, by: "runtime", at: expect.any(Number) });
  });

  test("O4: a request raised inside a call carries the call's arguments, in inbox, look and events; edited ones as they run", async () => {
    const store = await make();
    const deploy = tool({
      name: "deploy",
      description: "",
      input: amount,
      needsApproval: true,
      execute: (_args, ctx) => ctx.ask(humanInput("Which?")),
    });
    const ask = tool({
      name: "ask",
      description: "",
      input: amount,
      execute: (_args, ctx) => ctx.ask(humanInput("Who?")),
    });
    const calls = [
      { call: "deploy", id: "d", args: { n: 1 } },
      { call: "ask", id: "a", args: { n: 7 } },
    ];
    const tools = [deploy, ask];
    const kit = await openKit([calls, "done"], { store, tools });
    await kit.session.run("go").result;
    await kit.session.answer(requestOf(kit, "d").id, approve({ args: { n: 5 } }));
    const reader = await openKit([], { store, tools, threadId: "other" });
    const asked = (all: readonly { readonly callId?: string; readonly kind: string; readonly args?: unknown }[]) =>
      Object.fromEntries(all.flatMap(({ callId, kind, args }) => (kind === "input" ? [[callId, args]] : [])));
    const args = { a: { n: 7 }, d: { n: 5 } };
    await until(() => Object.keys(asked(kit.session.interrupts)).length === 2);
    expect(asked((await reader.runner.look("thread"))!.interrupts)).toEqual(args);
    expect(asked(kit.session.interrupts)).toEqual(args);
    expect(asked([...(await reader.runner.inbox()).items])).toEqual(args);
    const raised = (await reader.runner.journal("thread")).items.flatMap((fact) =>
      fact.type === "action" && fact.action.interrupted && !("data" in fact.action.interrupted)
        ? [fact.action.interrupted]
        : [],
    );
    expect(asked(raised)).toEqual(args);
    // The journal has the arguments of the model once.
    const lines = (await store.load({ tenant: "default", threadId: "thread" }))!.lines
      .map(({ body }) => body)
      .join("\n");
    expect(lines.split('{"n":7}')).toHaveLength(2);
    await kit.session.resume({ answers: { [requestOf(kit, "a").id]: respond("me") } }).result;
  });
});
