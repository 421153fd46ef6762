import {
  eachStore,
  factsOf,
  gate,
  happens,
  history,
  type KitOptions,
  listen,
  openKit,
  paying,
  requestOf,
  said,
  settle,
  type ToolOptions,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, reject, respond, type Store } from "../../index.ts";

const key = { tenant: "default", threadId: "thread" };

type More = Partial<ToolOptions<never, unknown>>;

/** Runs until the call has begun; then its process is gone. */
async function crash(
  store: Store,
  begin: (tools: ReturnType<typeof paying>["tools"]) => Promise<unknown>,
  more: More = {},
) {
  const begun = gate();
  const { tools } = paying({
    needsApproval: false,
    ...(more as object),
    execute: () => {
      begun.open();
      return new Promise(() => {});
    },
  });
  await begin(tools);
  await begun.opened;
  await settle();
  await store.release(key, (await store.load(key))!.row.lease!.fence);
}

const calls = [
  { call: "look", id: "l", args: { n: 0 } },
  { call: "pay", id: "a", args: { n: 1 } },
];

async function crashed(store: Store, options: KitOptions = {}, more: More = {}) {
  await crash(
    store,
    async (tools) => {
      const kit = await openKit([calls], { store, tools });
      kit.session.run("go");
    },
    more,
  );
  const { tools, ran } = paying({ needsApproval: false, ...(more as object) });
  const kit = await openKit(["done", "more"], { store, tools, ...options });
  expect(kit.session).toMatchObject({ state: "paused", pauseType: "crash" });
  return { kit, tools, ran };
}

describe.each(eachStore)("a call that a crash cut off ($name)", ({ make }) => {
  test("C1: a person is asked: run it again, here is the result, or skip; nothing runs meanwhile", async () => {
    const { kit, ran } = await crashed(await make());
    const heard = listen(kit.session.resume());
    expect(said(await heard.all)).toEqual([
      "state running continue",
      "turn-start 1",
      "tool-end a held",
      "asks unknown pay",
      "turn-end 1",
      "waits",
      "state paused tool_interrupt",
    ]);
    expect(requestOf(kit, "a")).toMatchObject({
      kind: "unknown",
      tool: "pay",
      args: { n: 1 },
      address: "helper/t1/c1/unknown#0",
      reason:
        "The program stopped while pay was running. It may have taken effect: run it again, say what it gave, or skip it?",
    });
    expect((await kit.runner.inbox()).items.map(({ kind }) => kind)).toEqual(["unknown"]);
    expect([ran, kit.requests.length]).toEqual([[], 0]);
  });

  test("C1: run it again: it runs once, with the arguments it had", async () => {
    const { kit, ran } = await crashed(await make());
    await kit.session.resume().result;
    const { id } = requestOf(kit, "a");
    await expect(kit.session.answer(id, approve({ args: { n: 2 } }))).rejects.toMatchObject({
      code: "ANSWER_INVALID",
      message: expect.stringContaining("a call runs again as it was"),
    });
    expect(await kit.runner.answer(id, approve({ by: "ann" }))).toEqual({ open: 0 });
    await happens(ran, "pay 1");
    expect(kit.session.state).toBe("paused");
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect(history(kit.session.messages)[2]).toBe("tool: l ok + a ok");
    expect([ran, kit.problems()]).toEqual([["pay 1"], []]);
  });

  test("C1: here is the result, or skip it: it does not run, and the model reads which", async () => {
    for (const [answer, outcome, words] of [
      [respond("paid by hand"), "a ok", "paid by hand"],
      [
        reject("ask the bank"),
        "a unknown",
        "Outcome unknown: the program stopped while this call was running. It may have taken effect. ask the bank",
      ],
    ] as const) {
      const { kit, ran } = await crashed(await make());
      await kit.session.resume().result;
      const answers = { [requestOf(kit, "a").id]: answer };
      expect(await kit.session.resume({ answers }).result).toMatchObject({ status: "completed" });
      expect(history(kit.session.messages)[2]).toBe(`tool: l ok + ${outcome}`);
      expect(JSON.stringify(kit.requests[0]!.messages)).toContain(words);
      expect([ran, kit.problems()]).toEqual([[], []]);
    }
  });

  test("C1: cut off again after it was let run again, it is a new question; the old one is answered", async () => {
    const store = await make();
    const { kit } = await crashed(store);
    await kit.session.resume().result;
    const { id: first } = requestOf(kit, "a");
    await kit.runner.close();
    await crash(store, async (tools) => {
      const next = await openKit([], { store, tools });
      await next.session.answer(first, approve({ by: "ann" }));
    });
    const { tools, ran } = paying({ needsApproval: false });
    const last = await openKit(["done"], { store, tools });
    expect(last.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    expect(last.session.interrupts).toEqual([]);
    expect(await last.session.resume().result).toMatchObject({ status: "interrupted" });
    const second = requestOf(last, "a");
    expect(second).toMatchObject({ kind: "unknown", address: "helper/t1/c1/unknown#1" });
    expect(second.id).not.toBe(first);
    await expect(last.session.answer(first, approve())).rejects.toMatchObject({ code: "ANSWER_TAKEN" });
    expect(await last.session.resume({ answers: { [second.id]: approve() } }).result).toMatchObject({
      status: "completed",
    });
    expect([ran, last.problems()]).toEqual([["pay 1"], []]);
  });

  test("C1: never asked about if the tool may be retried, or the model is to be informed", async () => {
    for (const [more, outcome, wanted] of [
      [{ onCrash: "retry" }, "a ok", ["pay 1"]],
      [{ readOnly: true }, "a ok", ["pay 1"]],
      [{ repeatable: true }, "a ok", ["pay 1"]],
      [{ onCrash: "fail" }, "a unknown", []],
    ] as const) {
      const { kit, ran } = await crashed(await make(), {}, more);
      expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
      expect([history(kit.session.messages)[2], ran]).toEqual([`tool: l ok + ${outcome}`, wanted]);
      expect(kit.problems()).toEqual([]);
    }
  });

  test("C1: unattended, the model reads that its outcome is unknown", async () => {
    const { kit, ran } = await crashed(await make(), { runner: { unattended: true } });
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect(history(kit.session.messages)[2]).toBe("tool: l ok + a unknown");
    expect(ran).toEqual([]);
  });

  test("R1, Q8: new input: it reads unknown, never not executed, and the question is withdrawn", async () => {
    const first = await crashed(await make());
    await first.kit.session.resume({ input: "what happened?" }).result;
    expect(history(first.kit.session.messages).slice(2, 4)).toEqual(["tool: l ok + a unknown", "user: what happened?"]);
    const second = await crashed(await make(), { agent: { repair: "drop" } });
    await second.kit.session.resume().result;
    const { id } = requestOf(second.kit, "a");
    await second.kit.session.resume({ input: "what happened?" }).result;
    expect(history(second.kit.session.messages)[2]).toBe("tool: l ok + a unknown");
    await expect(second.kit.runner.answer(id, approve())).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
    const third = await crashed(await make());
    await third.kit.session.resume().result;
    expect(await third.kit.session.interrupt()).toMatchObject({ accepted: true });
    expect(history(third.kit.session.messages)[2]).toBe("tool: l ok + a unknown");
    for (const { kit, ran } of [first, second, third]) expect([kit.problems(), ran]).toEqual([[], []]);
  });

  test("C1, Q3: a crash while an answered call ran: the others can be answered, it is asked about at resume()", async () => {
    const store = await make();
    await crash(
      store,
      async (tools) => {
        const turn = ["a", "b"].map((id, i) => ({ call: "pay", id, args: { n: i + 1 } }));
        const kit = await openKit([turn], { store, tools });
        await kit.session.run("go").result;
        await kit.session.answer(requestOf(kit, "a").id, approve());
      },
      { needsApproval: true } as More,
    );
    const { tools, ran } = paying();
    const kit = await openKit(["done"], { store, tools });
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    expect(kit.session.interrupts.map(({ callId, kind }) => [callId, kind])).toEqual([["b", "approval"]]);
    await kit.session.answer(requestOf(kit, "b").id, approve());
    await happens(ran, "pay 2");
    expect(await kit.session.resume().result).toMatchObject({ status: "interrupted" });
    expect(kit.session.interrupts.map(({ callId, kind }) => [callId, kind])).toEqual([["a", "unknown"]]);
    await kit.session.resume({ answers: { [requestOf(kit, "a").id]: approve() } }).result;
    expect(ran).toEqual(["pay 2", "pay 1"]);
    expect(history(kit.session.messages).slice(2)).toEqual(["tool: a ok + b ok", "assistant: done"]);
    expect(kit.problems()).toEqual([]);
  });

  test("S2, S9: a stop of a thread that crashed while requests were open withdraws them", async () => {
    const store = await make();
    const { tools } = paying();
    const begun = gate();
    const slow = paying({
      name: "look",
      execute: () => {
        begun.open();
        return new Promise(() => {});
      },
      needsApproval: false,
    }).tools[0]!;
    const kit = await openKit([calls.toReversed()], { store, tools: [tools[0]!, slow] });
    kit.session.run("go");
    await begun.opened;
    await settle();
    await store.release(key, (await store.load(key))!.row.lease!.fence);
    const other = await openKit(["done"], { store, tools });
    expect(other.session).toMatchObject({ state: "paused", pauseType: "crash" });
    const { id } = requestOf(other, "a");
    expect(await other.session.interrupt()).toMatchObject({ accepted: true, notStarted: ["a"] });
    expect(other.session.pauseType).toBe("user_interrupt");
    await expect(other.session.answer(id, approve())).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
    expect(history(other.session.messages)[2]).toBe("tool: a not-executed + l unknown");
    expect(await other.session.resume().result).toMatchObject({ status: "completed" });
    expect(other.problems()).toEqual([]);
    expect((await factsOf(store)).filter(({ type }) => type === "run-start")).toHaveLength(1);
  });
});
