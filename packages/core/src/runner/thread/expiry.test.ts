import {
  eachStore,
  factsOf,
  gate,
  happens,
  heldStore,
  history,
  openKit,
  paying,
  pays,
  requestOf,
  settle,
  toolOf,
  until,
  waiting,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  approve,
  type Clock,
  humanApproval,
  humanInput,
  type RequestOptions,
  reject,
  respond,
  type Store,
} from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const START = Date.UTC(2026, 0, 1);
const soon = START + 1000;

/** One call with a request that lasts for a second, and one that waits without end. */
async function hasty(make: (clock: Clock) => Promise<Store>, options: RequestOptions = {}) {
  const clock = fakeClock(START);
  const store = await make(clock);
  const { tools, ran } = paying({
    needsApproval: ({ n }) => (n === 1 ? humanApproval("Pay?", { expiresAt: soon, ...options }) : true),
  });
  const kit = await waiting(["a", "b"], { store, clock, tools });
  return { clock, tools, ran, kit, store, a: requestOf(kit, "a").id, b: requestOf(kit, "b").id };
}

describe.each(eachStore)("a request that lasts until a time ($name)", ({ make }) => {
  test.each([
    { onExpire: undefined, outcome: "a rejected", words: "Not executed: nobody approved it in time.", ran: [] },
    { onExpire: "reject", outcome: "a rejected", words: "Not executed: nobody approved it in time.", ran: [] },
    { onExpire: "approve", outcome: "a ok", words: "pay done", ran: ["pay 1"] },
    { onExpire: "fail", outcome: "a error", words: "expired at 2026-01-01T00:00:01.000Z.", ran: [] },
  ] as const)("Q7: onExpire $onExpire: at resume(), $outcome", async ({ onExpire, outcome, words, ran: wanted }) => {
    const { clock, ran, kit, b } = await hasty(make, onExpire === undefined ? {} : { onExpire });
    await clock.advance(999);
    expect(kit.session.interrupts).toHaveLength(2);
    await clock.advance(1);
    expect(await kit.session.resume({ answers: { [b]: reject("no") } }).result).toMatchObject({ status: "completed" });
    expect(ran).toEqual(wanted);
    expect(history(kit.session.messages)[2]).toBe(`tool: ${outcome} + b rejected`);
    expect(JSON.stringify(kit.requests[1]!.messages)).toContain(words);
    expect(kit.problems()).toEqual([]);
    const [fact] = (await factsOf(kit.store)).filter(
      (fact) => fact.type === "request-answered" && fact.answer.type === "expire",
    );
    expect(fact).toMatchObject({ by: "runtime" });
  });

  test("Q7: over, it is listed neither by the session, nor by one that opens, nor by the inbox, and takes no answer", async () => {
    const { clock, tools, kit, store, a, b, ran } = await hasty(make);
    await clock.advance(1000);
    const other = await openKit([], { store, clock, tools });
    for (const { session, runner } of [kit, other]) {
      expect(session.interrupts.map(({ id }) => id)).toEqual([b]);
      expect((await runner.inbox()).items.map(({ id }) => id)).toEqual([b]);
      await expect(runner.answer(a, approve())).rejects.toMatchObject({
        code: "ANSWER_EXPIRED",
        message: `Request ${a} expired at 2026-01-01T00:00:01.000Z.`,
      });
    }
    expect(ran).toEqual([]);
  });

  test("Q7, Q8: over, it is expired once, and no input that comes then withdraws or answers it", async () => {
    const { clock, kit, store, a, b } = await hasty(make);
    await clock.advance(1000);
    expect(await kit.session.resume({ input: "never mind" }).result).toMatchObject({ status: "completed" });
    const decided = (await factsOf(store)).filter((fact) => fact.type === "request-answered");
    expect(decided).toMatchObject([
      { id: a, answer: { type: "expire" } },
      { id: b, answer: { type: "withdraw" } },
    ]);
  });

  test("Q7: an answer to another request settles it, too: it no longer counts as open", async () => {
    const { clock, kit, b, a, ran } = await hasty(make);
    await clock.advance(1000);
    expect(await kit.session.answer(b, approve())).toEqual({ open: 0 });
    await happens(ran, "pay 2");
    await expect(kit.session.answer(a, approve())).rejects.toMatchObject({ code: "ANSWER_EXPIRED" });
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect(history(kit.session.messages)[2]).toBe("tool: a rejected + b ok");
  });

  test("Q7: an answer is judged when it is recorded: its request may expire while a schema is asked", async () => {
    const clock = fakeClock(START);
    const [asked, judged] = [gate(), gate()];
    const slowly = z.string().refine(async () => {
      asked.open();
      await judged.opened;
      return true;
    });
    const ask = toolOf("ask", (ctx) => ctx.ask(humanInput("Who?", { schema: slowly, expiresAt: soon })));
    const kit = await openKit([[{ call: "ask" }], "done"], { store: await make(clock), clock, tools: [ask] });
    await kit.session.run("go").result;
    const answered = kit.session.answer(kit.session.interrupts[0]!.id, respond("ann"));
    await asked.opened;
    await clock.advance(1000);
    judged.open();
    await expect(answered).rejects.toMatchObject({ code: "ANSWER_EXPIRED" });
    expect((await factsOf(kit.store)).some(({ type }) => type === "request-answered")).toBe(false);
  });

  test("Q7: runner.work() moves the thread when its time has come, though the process that asked is gone", async () => {
    const { clock, tools, kit, store, ran } = await hasty(make, { onExpire: "approve" });
    await kit.runner.close();
    const worker = await openKit(["done"], { store, clock, tools, threadId: "another" });
    const stop = new AbortController();
    const working = worker.runner.work({ signal: stop.signal, pollMs: 10 });
    await clock.advance(900);
    await settle(20);
    expect(ran).toEqual([]);
    await clock.advance(200);
    await happens(ran, "pay 1");
    const session = await worker.runner.open("thread");
    expect(session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    expect(session.interrupts.map(({ callId }) => callId)).toEqual(["b"]);
    const { length } = await factsOf(store);
    for (let i = 0; i < 10; i++) await clock.advance(10);
    expect(await factsOf(store)).toHaveLength(length);
    await worker.runner.answer(requestOf({ session }, "b").id, reject("no"));
    for (let i = 0; i < 50 && session.state !== "completed"; i++) await clock.advance(10);
    expect(history(session.messages).slice(2)).toEqual(["tool: a ok + b rejected", "assistant: done"]);
    stop.abort();
    await clock.advance(10);
    await working;
  });

  test("Q7: a deadline that passed before any answer counts at the next resume()", async () => {
    const clock = fakeClock(START + 5000);
    const { tools, ran } = paying({ needsApproval: () => humanApproval("Pay?", { expiresAt: soon }) });
    const kit = await openKit([pays("a"), "done"], { store: await make(), clock, tools });
    expect(await kit.session.run("go").result).toMatchObject({
      status: "interrupted",
      interruptType: "tool_interrupt",
    });
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect(ran).toEqual([]);
  });
});

describe.each(eachStore)("a quorum ($name)", ({ make }) => {
  async function shared(more: RequestOptions = {}) {
    const { tools, ran } = paying({ needsApproval: () => humanApproval("Pay?", { quorum: 2, ...more }) });
    const store = await make();
    const kit = await waiting(["a"], { store, tools });
    return { kit, ran, tools, store, id: requestOf(kit, "a").id };
  }

  test("Q7: as many different people must approve; the same one twice is refused", async () => {
    const { kit, ran, id, tools, store } = await shared();
    expect(await kit.session.answer(id, approve({ by: "ann" }))).toEqual({ open: 1 });
    await settle();
    expect([ran, kit.session.interrupts.length]).toEqual([[], 1]);
    const other = await openKit(["done"], { store, tools });
    expect((await other.runner.inbox()).items.map((item) => item.id)).toEqual([id]);
    await expect(other.runner.answer(id, approve({ by: "ann" }))).rejects.toMatchObject({
      code: "ANSWER_TAKEN",
      message: expect.stringContaining("by ann"),
    });
    expect(await other.runner.answer(id, approve({ by: "bob" }))).toEqual({ open: 0 });
    await happens(ran, "pay 1");
    expect(await other.session.resume().result).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["pay 1"]);
  });

  test("Q7: of approvals in one tick while the thread runs each counts, and the same person counts once", async () => {
    const { tools, ran } = paying({ needsApproval: () => humanApproval("Pay?", { quorum: 2 }) });
    const end = gate();
    const slow = toolOf("slow", () => end.opened);
    const turn = [{ call: "slow", id: "s" }, ...pays("a")];
    const [written, writes] = [gate(), gate()];
    let isHeld = false;
    const before = () => {
      if (!isHeld) return undefined;
      isHeld = false;
      written.open();
      return writes.opened;
    };
    const store = heldStore(await make(), { before });
    const kit = await openKit([turn, "done"], { store, tools: [...tools, slow] });
    const run = kit.session.run("go");
    await until(() => kit.session.interrupts.length === 1);
    const { id } = requestOf(kit, "a");
    // They all wait for an append in flight.
    isHeld = true;
    const named = kit.session.label({ title: "named" });
    await written.opened;
    const given = ["ann", "ann", "bob"].map((by) => kit.session.answer(id, approve({ by })));
    await settle();
    writes.open();
    await named;
    expect(await Promise.allSettled(given)).toMatchObject([
      { value: { open: 1 } },
      { reason: { code: "ANSWER_TAKEN" } },
      { value: { open: 0 } },
    ]);
    end.open();
    expect(await run.result).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["pay 1"]);
  });

  test("Q7: two answers without a name count as one person", async () => {
    const { kit, id } = await shared();
    await kit.session.answer(id, approve());
    await expect(kit.session.answer(id, approve())).rejects.toMatchObject({ code: "ANSWER_TAKEN" });
  });

  test("Q7: an edit starts anew: approvals of other arguments do not count", async () => {
    const { kit, ran, id } = await shared();
    await kit.session.answer(id, approve({ by: "ann" }));
    expect(await kit.session.answer(id, approve({ by: "bob", args: { n: 5 } }))).toEqual({ open: 1 });
    expect(await kit.session.answer(id, approve({ by: "cat", args: { n: 6 } }))).toEqual({ open: 1 });
    await settle();
    expect(ran).toEqual([]);
    expect(await kit.session.answer(id, approve({ by: "ann", args: { n: 5 } }))).toEqual({ open: 0 });
    await happens(ran, "pay 5");
    expect(ran).toEqual(["pay 5"]);
  });

  test("Q7: a response in place of the result takes as many people, with the same response", async () => {
    const { kit, ran, id } = await shared();
    expect(await kit.session.answer(id, respond("paid by hand", { by: "ann" }))).toEqual({ open: 1 });
    await expect(kit.session.answer(id, respond("paid by hand", { by: "ann" }))).rejects.toMatchObject({
      code: "ANSWER_TAKEN",
    });
    expect(await kit.session.answer(id, respond("not paid", { by: "bob" }))).toEqual({ open: 1 });
    expect(await kit.session.answer(id, approve({ by: "cat" }))).toEqual({ open: 1 });
    expect(await kit.session.answer(id, respond("paid by hand", { by: "cat" }))).toEqual({ open: 0 });
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect(ran).toEqual([]);
  });

  test("Q7: one reject decides", async () => {
    const { kit, ran, id } = await shared();
    await kit.session.answer(id, approve({ by: "ann" }));
    expect(await kit.session.answer(id, reject("no", { by: "bob" }))).toEqual({ open: 0 });
    await expect(kit.session.answer(id, approve({ by: "cat" }))).rejects.toMatchObject({ code: "ANSWER_TAKEN" });
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect(ran).toEqual([]);
  });

  test("Q7: only approvers count towards it", async () => {
    const { kit, ran, id } = await shared({ approvers: ["ann", "bob"] });
    await kit.session.answer(id, approve({ by: "ann" }));
    await expect(kit.session.answer(id, approve({ by: "cat" }))).rejects.toMatchObject({ code: "ANSWER_FORBIDDEN" });
    await kit.session.answer(id, approve({ by: "bob" }));
    await happens(ran, "pay 1");
  });

  test("Q7: votes given with resume() count, and the run ends interrupted until there are enough", async () => {
    const { kit, ran, id } = await shared();
    const vote = (by: string) => kit.session.resume({ answers: { [id]: approve({ by }) } }).result;
    expect(await vote("ann")).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
    expect(await vote("ann")).toMatchObject({ status: "failed", error: { code: "ANSWER_TAKEN" } });
    expect(ran).toEqual([]);
    expect(await vote("bob")).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["pay 1"]);
  });
});
