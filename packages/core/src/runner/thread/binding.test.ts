import {
  amount,
  eachStore,
  factsOf,
  gate,
  happens,
  history,
  type Kit,
  openKit,
  paying,
  pays,
  requestOf,
  settle,
  waiting,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type Answer, approve, humanApproval, jsonSchema, type Tool, tool } from "../../index.ts";

const key = { tenant: "default", threadId: "thread" };

/** Approves in one process with these tools, and resumes with them. */
async function approvedWith(kit: Kit, tools: readonly Tool<unknown>[], answer: Answer, more: object = {}) {
  const { id } = requestOf(kit, "a");
  const other = await openKit(["done"], { store: kit.store, tools, ...more });
  const run = other.session.resume({ answers: { [id]: answer } });
  const result = await run.result;
  return { other, result, told: JSON.stringify(other.requests[0]?.messages ?? []) };
}

describe.each(eachStore)("the approved call ($name)", ({ make }) => {
  test("Q5: another version of the tool does not run, and the model is asked to call anew", async () => {
    const first = paying({ version: "1" });
    const kit = await waiting(["a"], { store: await make(), tools: first.tools });
    const second = paying({ version: "2" });
    const { other, told } = await approvedWith(kit, second.tools, approve());
    expect([first.ran, second.ran]).toEqual([[], []]);
    expect(history(other.session.messages)[2]).toBe("tool: a rejected");
    expect(told).toContain("what was approved (pay version 1) is not what would run now (pay version 2)");
    expect(other.problems()).toEqual([]);
  });

  test("Q5: neither do arguments edited for another version", async () => {
    const first = paying({ version: "1" });
    const kit = await waiting(["a"], { store: await make(), tools: first.tools });
    const { id } = requestOf(kit, "a");
    await kit.session.answer(id, approve({ args: { n: 9 } }));
    await happens(first.ran, "pay 9");
    const store = await make();
    const again = await waiting(["a"], { store, tools: first.tools });
    const second = paying({ version: "2" });
    const { told } = await approvedWith(again, second.tools, approve({ args: { n: 9 } }));
    expect(second.ran).toEqual([]);
    expect(told).toContain("pay version 2");
  });

  test("Q5: a removed tool, or one with a changed schema, does not run", async () => {
    const first = paying();
    const kit = await waiting(["a"], { store: await make(), tools: first.tools });
    const gone = await approvedWith(kit, [], approve());
    expect(gone.told).toContain('There is no tool \\"pay\\"');
    const next = await waiting(["a"], { store: await make(), tools: first.tools });
    const ran: unknown[] = [];
    const strict = tool({
      name: "pay",
      description: "",
      input: jsonSchema({ type: "object", properties: { n: { type: "integer", minimum: 5 } } }),
      needsApproval: true,
      execute: (args) => ran.push(args),
    });
    const refused = await approvedWith(next, [strict], approve());
    expect(refused.told).toContain("The arguments do not fit the tool's schema");
    expect([first.ran, ran, gone.other.problems(), refused.other.problems()]).toEqual([[], [], [], []]);
  });

  test("Q5: a deny rule added between approval and run forbids it", async () => {
    const { tools, ran } = paying();
    const kit = await waiting(["a"], { store: await make(), tools });
    const rules = [{ tool: "pay", effect: "deny" as const, id: "no-more", reason: "the budget is spent" }];
    const { other, told } = await approvedWith(kit, tools, approve(), { runner: { permissions: { rules } } });
    expect(ran).toEqual([]);
    expect(history(other.session.messages)[2]).toBe("tool: a rejected");
    expect(told).toContain("denied by rule no-more of the runner: the budget is spent");
  });

  test("Q5, C1: it is compared again when a crash cut the call off and a person lets it run again", async () => {
    const store = await make();
    const begun = gate();
    const first = paying({
      version: "1",
      execute: () => {
        begun.open();
        return new Promise(() => {});
      },
    });
    const kit = await waiting(["a"], { store, tools: first.tools });
    await kit.session.answer(requestOf(kit, "a").id, approve());
    await begun.opened;
    await store.release(key, (await store.load(key))!.row.lease!.fence);
    const second = paying({ version: "2" });
    const other = await openKit(["done"], { store, tools: second.tools });
    expect(await other.session.resume().result).toMatchObject({ status: "interrupted" });
    const [doubt] = other.session.interrupts;
    expect(doubt).toMatchObject({ kind: "unknown", callId: "a" });
    expect(await other.session.resume({ answers: { [doubt!.id]: approve() } }).result).toMatchObject({
      status: "completed",
    });
    expect(second.ran).toEqual([]);
    expect(history(other.session.messages)[2]).toBe("tool: a unknown");
    expect(JSON.stringify(other.requests[0]!.messages)).toMatch(
      /may have taken effect.*It was not run again: what was approved/,
    );
    expect(other.problems()).toEqual([]);
  });

  test("Q5: a tool that changes its arguments, or looks at them and changes them, changes neither record nor digest", async () => {
    const seen: number[] = [];
    const sly = tool({
      name: "pay",
      description: "",
      input: amount,
      needsApproval: (args) => {
        (args as { n: number }).n = 1000;
        return true;
      },
      execute: (args) => {
        seen.push(args.n);
        (args as { n: number }).n = 2000;
      },
    });
    const kit = await waiting(["a"], { store: await make(), tools: [sly] });
    expect(requestOf(kit, "a").args).toEqual({ n: 1 });
    await kit.session.resume({ answers: { [requestOf(kit, "a").id]: approve() } }).result;
    expect(seen).toEqual([1]);
    expect(kit.session.messages[1]!.parts[0]).toMatchObject({ args: { n: 1 } });
  });
});

describe.each(eachStore)("whether a call needs approval ($name)", ({ make }) => {
  test("Q5: is asked once for each call, over answers, resumes and processes", async () => {
    const asked: number[] = [];
    const { tools, ran } = paying({ needsApproval: ({ n }) => asked.push(n) > 0 });
    const store = await make();
    const kit = await waiting(["a", "b"], { store, tools });
    await kit.session.resume().result;
    await kit.session.answer(requestOf(kit, "a").id, approve());
    await happens(ran, "pay 1");
    const other = await openKit(["done"], { store, tools });
    await other.session.resume().result;
    await other.session.answer(requestOf(other, "b").id, approve());
    expect(await other.session.resume().result).toMatchObject({ status: "completed" });
    expect([asked, ran]).toEqual([
      [1, 2],
      ["pay 1", "pay 2"],
    ]);
  });

  test("Q5: a throw means ask, and a person reads why", async () => {
    const { tools, ran } = paying({
      needsApproval: () => {
        throw new Error("the list is gone");
      },
    });
    const kit = await waiting(["a"], { store: await make(), tools });
    expect(requestOf(kit, "a").reason).toBe(
      "helper wants to run pay. Whether that is safe could not be told: the list is gone",
    );
    await kit.session.answer(requestOf(kit, "a").id, approve());
    await happens(ran, "pay 1");
  });

  test("Q5: people see the request that it returns", async () => {
    const { tools } = paying({
      needsApproval: ({ n }) =>
        humanApproval(`Pay ${n}?`, { context: { n }, extra: [1], stateKey: "s", approvers: ["ann"] }),
    });
    const kit = await waiting(["a"], { store: await make(), tools });
    const [item] = (await kit.runner.inbox()).items;
    expect(item).toMatchObject({
      kind: "approval",
      threadId: "thread",
      runId: kit.session.runId,
      address: "helper/t1/c0/approval",
      tool: "pay",
      version: "1",
      args: { n: 1 },
      reason: "Pay 1?",
      context: { n: 1 },
      extra: [1],
      stateKey: "s",
      approvers: ["ann"],
      by: "helper",
      callId: "a",
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test("S1: a stop does not wait for it", async () => {
    const begun = gate();
    const { tools, ran } = paying({
      needsApproval: () => {
        begun.open();
        return new Promise(() => {});
      },
    });
    const kit = await openKit([pays("a"), "done"], { store: await make(), tools });
    const run = kit.session.run("go");
    await begun.opened;
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true, notStarted: ["a"] });
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
    expect(await kit.session.resume({ input: "never mind" }).result).toMatchObject({ status: "completed" });
    expect([ran, kit.problems()]).toEqual([[], []]);
  });

  test("S1: nor for a schema that takes its time over an approved call", async () => {
    const begun = gate();
    const checks: number[] = [];
    const lazy = {
      "~standard": {
        ...amount["~standard"],
        validate: (value: unknown) => {
          if (checks.push(1) < 2) return amount["~standard"].validate(value);
          begun.open();
          return new Promise<never>(() => {});
        },
      },
    } as typeof amount;
    const { tools, ran } = paying({ input: lazy });
    const kit = await waiting(["a"], { store: await make(), tools });
    await kit.session.answer(requestOf(kit, "a").id, approve());
    await begun.opened;
    await settle();
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true, notStarted: ["a"] });
    expect(kit.session.pauseType).toBe("user_interrupt");
    expect(ran).toEqual([]);
  });

  test("F4: its verdict is on record with the message: no process sees the one without the other", async () => {
    const { tools } = paying();
    const store = await make();
    await waiting(["a"], { store, tools });
    const lines = (await store.load(key))!.lines;
    const asked = lines.find(({ body }) => body.includes('"action"'));
    expect(asked!.body).toContain('"m":');
    expect((await factsOf(store)).some((fact) => fact.type === "action")).toBe(true);
  });
});
