import {
  eachStore,
  factsOf,
  gate,
  happens,
  heldStore,
  history,
  type Kit,
  listen,
  openKit,
  paying,
  requestOf,
  said,
  settle,
  threadOf,
  toolOf,
  unpaired,
  until,
  waiting,
  wrapStore,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { approve, humanInput, jsonSchema, reject, respond, type Store, tool } from "../../index.ts";

const key = { tenant: "default", threadId: "thread" };
const anything = jsonSchema({ type: "object" });

/** A thread that is running, because of `slow`, while it asks about two payments. */
async function running(store: Store) {
  const { tools: made, ran } = paying();
  const begun = gate();
  const end = gate();
  const execute = async () => {
    begun.open();
    await end.opened;
    return "slow done";
  };
  const slow = tool({ name: "slow", description: "", input: anything, onStop: "finish", execute });
  const tools = [...made, slow];
  const turn = [
    { call: "slow", id: "s" },
    { call: "pay", id: "a", args: { n: 1 } },
    { call: "pay", id: "b", args: { n: 2 } },
  ];
  const kit = await openKit([turn, "done"], { store, tools });
  const run = kit.session.run("go");
  const heard = listen(run);
  await begun.opened;
  await heard.until((event) => event.type === "action" && event.action.interrupted?.callId === "b");
  return { kit, run, heard, tools, ran, end, a: requestOf(kit, "a").id, b: requestOf(kit, "b").id };
}

const codes = (settled: readonly PromiseSettledResult<unknown>[]) =>
  settled.map((each) => (each.status === "fulfilled" ? "taken" : (each.reason as { code?: string }).code)).toSorted();

describe.each(eachStore)("answers while the thread runs ($name)", ({ make }) => {
  test("Q3: given before the run has paused, they let their calls run at once, and the run continues without a resume", async () => {
    const { kit, run, heard, ran, end, a, b } = await running(await make());
    expect(kit.session.state).toBe("running");
    expect(await kit.session.answer(a, approve({ by: "ann" }))).toEqual({ open: 1 });
    await happens(ran, "pay 1");
    expect(await kit.session.answer(b, reject("no", { by: "bob" }))).toEqual({ open: 0 });
    end.open();
    expect(await run.result).toMatchObject({ status: "completed", segment: 1 });
    expect(said(await heard.all).slice(4)).toEqual([
      "turn-start 1",
      "message assistant: call s + call a + call b",
      "asks approval pay",
      "asks approval pay",
      "tool-start s",
      "answered approve by ann",
      "tool-start a",
      "tool-end a ok",
      "answered reject by bob",
      "tool-end b rejected",
      "tool-end s ok",
      "turn-end 1",
      "turn-start 2",
      "text done",
      "message assistant: done",
      "turn-end 2",
      "run-end completed",
      "state completed",
    ]);
    expect([kit.requests.length, kit.problems()]).toEqual([2, []]);
  });

  test("Q6, S1: a stop does not wait for a schema that judges an answer, and the answer is not taken unjudged", async () => {
    const [asked, judged] = [gate(), gate()];
    const slow = z.string().refine(async () => {
      asked.open();
      await judged.opened;
      return false;
    });
    const [begun, stopped] = [gate(), gate()];
    const tools = [
      toolOf("asks", (ctx) => ctx.ask(humanInput("Who?", { schema: slow }))),
      toolOf("busy", async ({ signal }) => {
        begun.open();
        signal.addEventListener("abort", () => stopped.open());
        await stopped.opened;
      }),
    ];
    const kit = await openKit([[{ call: "asks" }, { call: "busy" }], "done"], { store: await make(), tools });
    const run = kit.session.run("go");
    await begun.opened;
    await until(() => kit.session.interrupts.length === 1);
    const answered = kit.session.answer(kit.session.interrupts[0]!.id, respond("x"));
    await asked.opened;
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true });
    judged.open();
    await expect(answered).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
    expect(await run.result).toMatchObject({ interruptType: "user_interrupt" });
    const decided = (await factsOf(kit.store)).filter(({ type }) => type === "request-answered");
    expect(decided).toMatchObject([{ answer: { type: "withdraw" } }]);
  });

  test("Q3: sent by another process they run in the owner; the one that comes second is refused, by name", async () => {
    const { kit, run, ran, tools, end, a, b } = await running(await make());
    const other = await openKit([], { store: kit.store, tools, threadId: "another" });
    const given = await Promise.allSettled([
      other.runner.answer(a, approve({ by: "ann" })),
      other.runner.answer(a, approve({ by: "bob" })),
    ]);
    expect(codes(given)).toEqual(["ANSWER_TAKEN", "taken"]);
    const lost = given.find((each) => each.status === "rejected")!;
    expect(lost.reason.message).toMatch(new RegExp(`^Request ${a} was already approved by (ann|bob) at 20`));
    await happens(ran, "pay 1");
    await expect(other.runner.answer(b, approve({ args: { n: "many" } }))).rejects.toMatchObject({
      code: "ANSWER_INVALID",
      message: expect.stringMatching(/n.*integer/),
    });
    expect(await other.runner.answer(b, approve({ args: { n: 5 } }))).toEqual({ open: 0 });
    end.open();
    expect(await run.result).toMatchObject({ status: "completed" });
    expect([ran, kit.requests.length, kit.problems()]).toEqual([["pay 1", "pay 5"], 2, []]);
    expect((await kit.store.load(key))!.commands).toEqual([]);
  });

  test("Q3: answers sent before the run has paused let it continue without a resume, also if the store gives no hint of them", async () => {
    const store = await make();
    const deaf = wrapStore(store, { watch: () => () => {} });
    const { kit, run, ran, tools, end, a, b } = await running(deaf);
    const other = await openKit([], { store, tools, threadId: "another" });
    const answers = [other.runner.answer(a, approve()), other.runner.answer(b, reject("no"))];
    await until(async () => (await store.load(key))!.commands.length === 2);
    end.open();
    expect(await run.result).toMatchObject({ status: "completed", segment: 1 });
    expect(await Promise.all(answers)).toEqual([{ open: 1 }, { open: 0 }]);
    expect([ran, kit.requests.length, kit.problems()]).toEqual([["pay 1"], 2, []]);
  });

  test("section 9: an answer sent twice under one id to another process is one", async () => {
    const { kit, run, ran, tools, end, a, b } = await running(await make());
    const other = await openKit([], { store: kit.store, tools, threadId: "another" });
    const twice = await Promise.all([
      other.runner.answer(a, approve(), { id: "x" }),
      other.runner.answer(a, approve(), { id: "x" }),
    ]);
    expect(twice).toEqual([{ open: 1 }, { open: 1 }]);
    expect(await kit.runner.answer(a, approve(), { id: "x" })).toEqual({ open: 1 });
    expect(await other.runner.answer(b, approve(), { id: "x" })).toEqual({ open: 0 });
    end.open();
    await run.result;
    expect(ran.toSorted()).toEqual(["pay 1", "pay 2"]);
  });

  test("Q1, S9: answers that meet a stop either happened before it, or are dead; the run is stopped either way", async () => {
    for (let delay = 0; delay < 8; delay++) {
      const { kit, run, ran, end, a, b } = await running(await make());
      const answers = [kit.session.answer(a, approve()), kit.session.answer(b, approve({ args: { n: 3 } }))];
      for (let i = 0; i < delay; i++) await Promise.resolve();
      const stop = kit.session.interrupt();
      end.open();
      const told = codes(await Promise.allSettled(answers));
      for (const code of told) expect(code).toMatch(/^(taken|ANSWER_WITHDRAWN)$/);
      expect(await stop).toMatchObject({ accepted: true });
      expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
      expect(kit.session.interrupts.map(({ kind }) => kind)).toEqual(["user"]);
      const dead = told.filter((code) => code !== "taken").length;
      expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
      expect(ran).toHaveLength(2 - dead);
      expect(kit.problems()).toEqual([]);
    }
  });

  test("F3: the owner dies after the answer was sent: its sender takes the thread, and the call runs once", async () => {
    const store = await make();
    const dead = gate();
    let isDead = false;
    const mortal = wrapStore(heldStore(store, { before: () => (isDead ? dead.opened : undefined) }), {
      load: async (at, from) => (isDead ? dead.opened.then(() => undefined) : store.load(at, from)),
      renew: async (at, fence, ttl) => (isDead ? false : store.renew(at, fence, ttl)),
    });
    const { kit, ran, tools, a } = await running(mortal);
    isDead = true;
    const other = await openKit(["done"], { store, tools, threadId: "another" });
    const answered = other.runner.answer(a, approve({ by: "ann" }));
    await until(async () => (await store.load(key))!.commands.length === 1);
    await settle(5);
    expect(ran).toEqual([]);
    const { lease } = (await store.load(key))!.row;
    await store.release(key, lease!.fence);
    expect(await answered).toEqual({ open: 1 });
    await happens(ran, "pay 1");
    expect((await store.load(key))!.commands).toEqual([]);
    expect(kit.session.state).toBe("running");
    const session = await other.runner.open("thread");
    expect(session).toMatchObject({ state: "paused", pauseType: "crash" });
    expect(session.interrupts.map(({ callId }) => callId)).toEqual(["b"]);
    dead.open();
  });

  test("Q6: no ANSWER_UNKNOWN while the lease is in doubt and the store is silent", async () => {
    const store = await make();
    let isCut = false;
    const cut = wrapStore(store, {
      async renew(at, fence, ttl) {
        if (isCut) throw new Error("no way to the store");
        return store.renew(at, fence, ttl);
      },
    });
    const { kit, tools, ran } = await running(cut);
    const { lease } = (await store.load(key))!.row;
    await store.release(key, lease!.fence);
    const other = await openKit([[{ call: "pay", id: "q", args: { n: 7 } }], "done"], { store, tools });
    await other.session.resume({ input: "another way" }).result;
    const { id } = requestOf(other, "q");
    isCut = true;
    await expect(kit.session.answer(id, approve())).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(other.session.interrupts.map((each) => each.id)).toEqual([id]);
    isCut = false;
    expect(await kit.session.answer(id, approve())).toEqual({ open: 0 });
    await happens(ran, "pay 7");
  });

  test("Q3: an answer of a sender that died, too, is collected by the next resume()", async () => {
    const { tools, ran } = paying();
    const store = await make();
    const kit = await waiting(["a", "b"], { store, tools });
    const send = (id: string, answer: object, name: string) =>
      store.send(key, { key: name, kind: "answer", at: 1, body: JSON.stringify({ id, answer }) });
    await send(requestOf(kit, "a").id, approve({ by: "ann" }), "one");
    await send(requestOf(kit, "a").id, approve({ by: "bob" }), "two");
    await send(requestOf(kit, "b").id, approve({ args: { n: "many" } }), "three");
    await send("nonsense", approve(), "four");
    const heard = listen(kit.session.resume());
    const events = said(await heard.all);
    const ofAnswers = (line: string) => line.startsWith("answered") || line.startsWith("command");
    expect(events.filter(ofAnswers).toSorted()).toEqual([
      "answered approve by ann",
      "command four by user ANSWER_UNKNOWN",
      "command one by ann",
      "command three by user ANSWER_INVALID",
      "command two by bob ANSWER_TAKEN",
    ]);
    expect(events.filter((line) => !line.startsWith("turn") && !ofAnswers(line))).toEqual([
      "state running continue",
      "tool-start a",
      "tool-end a ok",
      "waits",
      "state paused tool_interrupt",
    ]);
    expect(unpaired(heard.events)).toEqual([]);
    expect(ran).toEqual(["pay 1"]);
    expect((await store.load(key))!.commands).toEqual([]);
    expect(kit.session.interrupts.map(({ callId }) => callId)).toEqual(["b"]);
  });

  test("C5: so does runner.work(); an answer to a withdrawn request is consumed, and moves nothing", async () => {
    const { tools, ran } = paying();
    const store = await make();
    const kit = await waiting(["a"], { store, tools });
    const { id } = requestOf(kit, "a");
    const send = (name: string) =>
      store.send(key, { key: name, kind: "answer", at: 1, body: JSON.stringify({ id, answer: approve() }) });
    await send("one");
    await kit.runner.close();
    const worker = await openKit(["done"], { store, tools, threadId: "another" });
    const stop = new AbortController();
    const working = worker.runner.work({ signal: stop.signal, pollMs: 5 });
    const session = await worker.runner.open("thread");
    await until(() => session.state === "completed");
    expect(ran).toEqual(["pay 1"]);
    const next = await openKit([[{ call: "pay", id: "c", args: { n: 3 } }]], { store, tools, threadId: "other" });
    await next.session.run("go").result;
    const { id: dead } = requestOf(next, "c");
    await next.session.interrupt();
    const there = { tenant: "default", threadId: "other" };
    await store.send(there, {
      key: "late",
      kind: "answer",
      at: 1,
      body: JSON.stringify({ id: dead, answer: approve() }),
    });
    await next.runner.close();
    await until(async () => (await store.load(there))!.commands.length === 0);
    const { length } = await factsOf(store, "other");
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await factsOf(store, "other")).toHaveLength(length);
    expect((await store.load(there))!.row.state).toBe("paused");
    expect(ran).toEqual(["pay 1"]);
    stop.abort();
    await working;
  });

  test("Q3, W3: several answers at once beside a call that has ended the run: it stays paused, and resume() ends it", async () => {
    const store = await make();
    const { tools: made, ran } = paying();
    const leave = tool({ name: "leave", description: "", input: anything, execute: (_, ctx) => ctx.exit("bye") });
    const calls = [1, 2, 3].map((n) => ({ call: "pay", id: `p${n}`, args: { n } }));
    const tools = [...made, leave];
    const kit = await openKit([[{ call: "leave", id: "l" }, ...calls]], { store, tools });
    await kit.session.run("go").result;
    const answered = calls.map(({ id }) => kit.session.answer(requestOf(kit, id).id, approve()));
    expect((await Promise.all(answered)).map(({ open }) => open)).toEqual([2, 1, 0]);
    await until(() => ran.length === 3);
    await settle();
    expect(kit.session.state).toBe("paused");
    const other = await openKit([], { store, tools });
    expect(await other.session.resume().result).toMatchObject({ status: "completed", output: "bye" });
  });
});

describe.each(eachStore)("many at once ($name)", ({ make }) => {
  test("Q6: twenty answers to one request from one session and from as many runners: one counts", async () => {
    const { tools, ran } = paying();
    const store = await make();
    const kit = await waiting(["a", "b"], { store, tools });
    const { id } = requestOf(kit, "a");
    const kits = [kit, ...(await Promise.all([1, 2, 3, 4].map(() => openKit([], { store, tools }))))];
    const given = kits.flatMap(({ session, runner }, i) => [
      session.answer(id, approve({ by: `s${i}`, args: { n: 10 + i } })),
      runner.answer(id, approve({ by: `r${i}`, args: { n: 20 + i } })),
      session.answer(id, reject("no", { by: `n${i}` })),
      session.answer(id, respond("by hand", { by: `h${i}` })),
    ]);
    const told = codes(await Promise.allSettled(given));
    expect(told).toEqual([...Array.from({ length: 19 }, () => "ANSWER_TAKEN"), "taken"]);
    await settle(20);
    expect(ran.length).toBeLessThanOrEqual(1);
    const answered = (await factsOf(store)).filter(
      (fact) => fact.type === "request-answered" && fact.refused === undefined,
    );
    expect(answered).toHaveLength(1);
  });

  test("Q3: different requests answered at the same time by different runners all count, each once", async () => {
    const ids = ["a", "b", "c", "d", "e", "f"];
    const { tools, ran } = paying();
    const store = await make();
    const kit = await waiting(ids, { store, tools });
    const requests = ids.map((id) => requestOf(kit, id).id);
    const kits: Kit[] = await Promise.all(ids.map(() => openKit(["done"], { store, tools })));
    await Promise.all(kits.map(({ runner }, i) => runner.answer(requests[i]!, approve({ by: `p${i}` }))));
    await happens(ran, ...ids.map((_, i) => `pay ${i + 1}`));
    expect(ran).toHaveLength(6);
    await until(async () => (await store.load(key))!.row.lease === undefined);
    await threadOf(kit.session).refresh();
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect(history(kit.session.messages)[2]).toBe(`tool: ${ids.map((id) => `${id} ok`).join(" + ")}`);
    expect([ran.length, kit.requests.length, kit.problems()]).toEqual([6, 2, []]);
  });

  test("R6: ten resumes with answers, of one session and of ten runners: one wins, each effect happens once", async () => {
    const { tools, ran } = paying();
    const store = await make();
    const kit = await waiting(["a", "b"], { store, tools });
    const answers = { [requestOf(kit, "a").id]: approve(), [requestOf(kit, "b").id]: approve() };
    const handle = await kit.session.handle();
    const kits = await Promise.all(Array.from({ length: 5 }, () => openKit(["done"], { store, tools })));
    const attempts = kits.flatMap(({ runner, session }) => [
      runner.resume(handle, { answers }).then((run) => run.result),
      (async () => session.resume({ answers }).result)(),
    ]);
    const outcomes = await Promise.all(
      attempts.map((attempt) =>
        attempt.then(
          (result) => (result.status === "failed" ? result.error.code : result.status),
          (error) => error.code as string,
        ),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === "completed")).toHaveLength(1);
    for (const outcome of outcomes) expect(outcome).toMatch(/^(completed|THREAD_BUSY|TOKEN_SPENT|ALREADY_RUNNING)$/);
    expect(ran.toSorted()).toEqual(["pay 1", "pay 2"]);
    expect(kits.reduce((sum, { requests }) => sum + requests.length, 0)).toBe(1);
  });
});
