import {
  eachStore,
  factsOf,
  gate,
  happens,
  history,
  type Kit,
  listen,
  openKit,
  paying,
  requestOf,
  said,
  settle,
  threadOf,
  waiting,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  approve,
  humanApproval,
  humanInput,
  jsonSchema,
  type RequestOptions,
  reject,
  respond,
  type Store,
  type ToolContext,
  tool,
} from "../../index.ts";

const anything = jsonSchema({ type: "object" });

/** Withdrawn for good: an answer, here or in a new process, is refused, and has no effect. */
async function areDead(kit: Kit, tools: ReturnType<typeof paying>["tools"], ids: readonly string[]): Promise<void> {
  const facts = await factsOf(kit.store);
  const other = await openKit([], { store: kit.store, tools });
  for (const { runner, session } of [kit, other]) {
    expect((await runner.inbox()).items).toEqual([]);
    for (const id of ids) {
      for (const answer of [approve(), reject("no"), respond("x")]) {
        await expect(runner.answer(id, answer)).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
      }
    }
    expect(session.interrupts.some(({ kind }) => kind !== "user")).toBe(false);
  }
  expect(await factsOf(kit.store)).toEqual(facts);
}

describe.each(eachStore)("never mind ($name)", ({ make }) => {
  async function three(store: Store, options: Parameters<typeof waiting>[1] = {}) {
    const { tools, ran } = paying();
    const kit = await waiting(["a", "b", "c"], { store, tools, ...options });
    return { kit, tools, ran, ids: kit.session.interrupts.map(({ id }) => id) };
  }

  test("Q8: resume({ input }) with three requests open: all are dead, the model re-reasons", async () => {
    const { kit, tools, ran, ids } = await three(await make());
    const heard = listen(kit.session.resume({ input: "something else", by: "ann" }));
    expect(said(await heard.all)).toEqual([
      "answered withdraw by ann",
      "answered withdraw by ann",
      "answered withdraw by ann",
      "state running rethink",
      expect.stringMatching(/^command run:.*\.2 by ann$/),
      "message user: something else",
      "turn-start 2",
      "text done",
      "message assistant: done",
      "turn-end 2",
      "run-end completed",
      "state completed",
    ]);
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call a + call b + call c",
      "tool: a not-executed + b not-executed + c not-executed",
      "user: something else",
      "assistant: done",
    ]);
    await areDead(kit, tools, ids);
    expect([ran, kit.problems()]).toEqual([[], []]);
  });

  test("Q8, H3: with repair drop the calls that never started are gone from the history", async () => {
    const { kit, tools, ran, ids } = await three(await make(), { agent: { repair: "drop" } });
    await kit.session.resume({ input: "something else" }).result;
    expect(history(kit.session.messages)).toEqual(["user: go", "user: something else", "assistant: done"]);
    await areDead(kit, tools, ids);
    expect([ran, kit.problems()]).toEqual([[], []]);
  });

  test("Q8: an earlier answer keeps its effect", async () => {
    const { kit, tools, ran, ids } = await three(await make(), { agent: { repair: "drop" } });
    await kit.session.answer(ids[1]!, approve());
    await happens(ran, "pay 2");
    await kit.session.resume({ input: "something else" }).result;
    expect(history(kit.session.messages)[2]).toBe("tool: a not-executed + b ok + c not-executed");
    await areDead(kit, tools, [ids[0]!, ids[2]!]);
    expect(ran).toEqual(["pay 2"]);
  });

  test("S9: interrupt() while paused withdraws them, with a receipt and the name of the caller on record", async () => {
    const { kit, tools, ran, ids } = await three(await make());
    const before = await kit.session.handle();
    const { length } = await factsOf(kit.store);
    const stops = [1, 2, 3].map(() => kit.session.interrupt({ by: "ann", reason: "direction_change" }));
    const receipts = await Promise.all(stops);
    expect(receipts[0]).toMatchObject({ accepted: true, segment: 1, notStarted: ["a", "b", "c"], stopped: [] });
    for (const receipt of receipts) expect(receipt).toEqual(receipts[0]);
    expect(said(await factsOf(kit.store)).slice(length)).toEqual([
      "tool-end a not-executed",
      "tool-end b not-executed",
      "tool-end c not-executed",
      "answered withdraw by ann",
      "answered withdraw by ann",
      "answered withdraw by ann",
      "interrupted by ann",
      "state paused user_interrupt",
    ]);
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
    expect(kit.session.interrupts).toMatchObject([{ kind: "user", by: "ann", reason: "direction_change" }]);
    await areDead(kit, tools, ids);
    await expect(kit.runner.resume(before)).rejects.toMatchObject({ code: "TOKEN_UNKNOWN" });
    expect(await kit.session.interrupt()).toMatchObject({ accepted: false });
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", segment: 2 });
    expect([ran, kit.problems()]).toEqual([[], []]);
  });

  test("S9, S4: an approved call that waits for its turn behind one that asks has not started: the receipt says so", async () => {
    const { tools, ran } = paying({ serial: true });
    const { kit, ids } = await three(await make(), { tools });
    await kit.session.answer(ids[1]!, approve());
    const receipt = await kit.session.interrupt();
    expect(receipt).toMatchObject({ accepted: true, notStarted: ["a", "b", "c"], stopped: [], finished: [] });
    expect(kit.session.interrupts).toMatchObject([{ kind: "user", calls: { notStarted: ["a", "b", "c"] } }]);
    expect(ran).toEqual([]);
    await kit.session.resume().result;
    expect(ran).toEqual(["pay 2"]);
  });

  test("S9: from another runner, by runner.interrupt", async () => {
    const { kit, tools, ran, ids } = await three(await make());
    const other = await openKit([], { store: kit.store, tools, threadId: "another" });
    expect(await other.runner.interrupt("thread", { by: "bob", id: "stop" })).toMatchObject({
      accepted: true,
      notStarted: ["a", "b", "c"],
    });
    expect(await other.runner.interrupt("thread", { id: "stop" })).toMatchObject({ accepted: true });
    await threadOf(kit.session).refresh();
    expect(kit.session.pauseType).toBe("user_interrupt");
    await areDead(kit, tools, ids);
    expect(await kit.session.resume({ input: "and now?" }).result).toMatchObject({ status: "completed" });
    expect([ran, kit.problems()]).toEqual([[], []]);
  });

  test("S9: while calls of the turn still run, they are stopped with it", async () => {
    const { tools, ran } = paying();
    const begun = gate();
    const slow = tool({
      name: "slow",
      description: "",
      input: anything,
      execute: (_args, { signal }) => {
        begun.open();
        return new Promise((_resolve, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
      },
    });
    const turn = [
      { call: "slow", id: "s" },
      { call: "pay", id: "a", args: { n: 1 } },
    ];
    const kit = await openKit([turn, "done"], { store: await make(), tools: [...tools, slow] });
    const run = kit.session.run("go");
    await begun.opened;
    const { id } = requestOf(kit, "a");
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true, stopped: ["s"], notStarted: ["a"] });
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
    expect(history(kit.session.messages)[2]).toBe("tool: s interrupted + a not-executed");
    await areDead(kit, [...tools, slow], [id]);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect([ran, kit.problems()]).toEqual([[], []]);
  });

  test("S2: stops an answered call that runs while the thread is paused; a caller that waits with resume() gets the result of the stop", async () => {
    const begun = gate();
    let ended: unknown;
    const { tools } = paying({
      execute: (_args, { signal }) => {
        begun.open();
        return new Promise((_resolve, fail) => {
          signal.addEventListener("abort", () => {
            ended = signal.reason;
            fail(signal.reason);
          });
        });
      },
    });
    const kit = await waiting(["a", "b"], { store: await make(), tools });
    const b = requestOf(kit, "b").id;
    await kit.session.answer(requestOf(kit, "a").id, approve());
    await begun.opened;
    const run = kit.session.resume();
    await settle();
    expect(await kit.session.interrupt({ by: "ann" })).toMatchObject({
      accepted: true,
      stopped: ["a"],
      notStarted: ["b"],
    });
    expect(ended).toMatchObject({ code: "USER_INTERRUPT" });
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
    expect(kit.requests).toHaveLength(1);
    await areDead(kit, tools, [b]);
    expect(await kit.session.resume({ input: "why?" }).result).toMatchObject({ status: "completed", segment: 2 });
    expect(kit.problems()).toEqual([]);
  });

  test("S2, S9: an answered call that runs in another process is stopped from here, and open requests are withdrawn with it", async () => {
    const begun = gate();
    const { tools } = paying({
      execute: (_args, { signal }) => {
        begun.open();
        return new Promise((_resolve, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
      },
    });
    const store = await make();
    const kit = await waiting(["a", "b"], { store, tools });
    const b = requestOf(kit, "b").id;
    await kit.session.answer(requestOf(kit, "a").id, approve());
    await begun.opened;
    const other = await openKit([], { store, tools, threadId: "another" });
    expect(await other.runner.interrupt("thread")).toMatchObject({ accepted: true, stopped: ["a"], notStarted: ["b"] });
    await areDead(kit, tools, [b]);
    expect(kit.session.pauseType).toBe("user_interrupt");
  });

  test("Q8: terminate() withdraws them; nothing continues", async () => {
    const { kit, tools, ran, ids } = await three(await make());
    await kit.session.terminate();
    expect(kit.session.state).toBe("terminated");
    await areDead(kit, tools, ids);
    expect(ran).toEqual([]);
  });

  test("Q8: keep: the input waits for the results, and the requests stay", async () => {
    const { tools, ran } = paying({ needsApproval: () => humanApproval("Pay?", { onNewInput: "keep" }) });
    const kit = await waiting(["a"], { store: await make(), tools });
    const { id } = requestOf(kit, "a");
    expect(await kit.session.resume({ input: "be quick" }).result).toMatchObject({ status: "interrupted" });
    expect(kit.session.interrupts.map((interrupt) => interrupt.id)).toEqual([id]);
    expect(await kit.session.resume({ answers: { [id]: approve() } }).result).toMatchObject({ status: "completed" });
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call a",
      "tool: a ok",
      "user: be quick",
      "assistant: done",
    ]);
    expect([ran, kit.problems(), kit.requests.length]).toEqual([["pay 1"], [], 2]);
  });

  test("Q8: where some are kept and some are not, the others are withdrawn and get their result", async () => {
    const { tools, ran } = paying({
      needsApproval: ({ n }) => humanApproval("Pay?", n === 2 ? { onNewInput: "keep" } : {}),
    });
    const kit = await waiting(["a", "b", "c"], { store: await make(), tools });
    const [a, b, c] = ["a", "b", "c"].map((call) => requestOf(kit, call).id) as [string, string, string];
    expect(await kit.session.resume({ input: "be quick" }).result).toMatchObject({ status: "interrupted" });
    expect(kit.session.interrupts.map(({ id }) => id)).toEqual([b]);
    for (const id of [a, c]) {
      await expect(kit.runner.answer(id, approve())).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
    }
    await kit.session.answer(b, approve());
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call a + call b + call c",
      "tool: a not-executed + b ok + c not-executed",
      "user: be quick",
      "assistant: done",
    ]);
    expect([ran, kit.problems()]).toEqual([["pay 2"], []]);
  });

  test("Q8: answers and input together: the approved call runs, and the input comes after its result", async () => {
    const { tools, ran } = paying();
    const kit = await waiting(["a"], { store: await make(), tools });
    const answers = { [requestOf(kit, "a").id]: approve() };
    expect(await kit.session.resume({ answers, input: "be quick" }).result).toMatchObject({ status: "completed" });
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call a",
      "tool: a ok",
      "user: be quick",
      "assistant: done",
    ]);
    expect([ran, kit.problems()]).toEqual([["pay 1"], []]);
  });

  test('R3: mode "rethink" withdraws also a request that new input would leave open', async () => {
    const { tools, ran } = paying({ needsApproval: () => humanApproval("Pay?", { onNewInput: "keep" }) });
    const kit = await waiting(["a"], { store: await make(), tools });
    const { id } = requestOf(kit, "a");
    const run = kit.session.resume({ mode: "rethink", input: "never mind" });
    expect(await run.result).toMatchObject({ status: "completed" });
    await expect(kit.runner.answer(id, approve())).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
    expect([ran, kit.problems()]).toEqual([[], []]);
  });

  test('R3: mode "continue" with input withdraws nothing; "rethink" without input withdraws all', async () => {
    const first = await three(await make());
    await first.kit.session.resume({ mode: "continue", input: "be quick" }).result;
    expect(first.kit.session.interrupts.map(({ id }) => id)).toEqual(first.ids);
    const second = await three(await make());
    expect(await second.kit.session.resume({ mode: "rethink" }).result).toMatchObject({ status: "completed" });
    await areDead(second.kit, second.tools, second.ids);
    expect([first.ran, second.ran, second.kit.problems()]).toEqual([[], [], []]);
  });
});

describe.each(eachStore)("an input that answers ($name)", ({ make }) => {
  const asking = (...questions: readonly RequestOptions[]) => {
    const ask = tool({
      name: "ask",
      description: "",
      input: anything,
      execute: async (_args, ctx) => {
        const name = jsonSchema<string>({ type: "string", minLength: 2 });
        const asked = questions.map((options, i) =>
          ctx.ask(humanInput(`Who ${i}?`, { schema: name, ...options }), { key: `q${i}` }),
        );
        return (await Promise.all(asked)).join(" and ");
      },
    });
    return ask;
  };

  async function asked(...questions: readonly RequestOptions[]) {
    const kit = await openKit([[{ call: "ask", id: "a" }], "done"], {
      store: await make(),
      tools: [asking(...questions)],
    });
    await kit.session.run("go").result;
    return kit;
  }

  test("Q8: answer: the input of the person answers the one open question", async () => {
    const kit = await asked({ onNewInput: "answer" });
    expect(await kit.session.resume({ input: "Bob", by: "ann" }).result).toMatchObject({ status: "completed" });
    expect(history(kit.session.messages)).toEqual(["user: go", "assistant: call a", "tool: a ok", "assistant: done"]);
    expect(JSON.stringify(kit.requests[1]!.messages)).toContain('"output":"Bob"');
    expect(kit.problems()).toEqual([]);
  });

  test("Q8, Q6: an input that does not fit the question, or its approvers, is refused, and nothing has changed", async () => {
    const kit = await asked({ onNewInput: "answer", approvers: ["ann"] });
    const facts = await factsOf(kit.store);
    for (const [options, code] of [
      [{ input: "Bob" }, "ANSWER_FORBIDDEN"],
      [{ input: "Bob", by: "bob" }, "ANSWER_FORBIDDEN"],
      [{ input: "B", by: "ann" }, "ANSWER_INVALID"],
      [{ input: "x".repeat(1), by: "ann" }, "ANSWER_INVALID"],
    ] as const) {
      expect(await kit.session.resume(options).result).toMatchObject({ status: "failed", error: { code } });
    }
    expect(await factsOf(kit.store)).toEqual(facts);
    expect(kit.session.interrupts).toHaveLength(1);
  });

  test("Q8, Q6: the schema of the code that asks judges an input that answers, beyond its JSON Schema", async () => {
    const city = z.string().refine((name) => name !== "Atlantis", "is no city");
    const execute = (_args: unknown, ctx: ToolContext) =>
      ctx.ask(humanInput("Where?", { schema: city, onNewInput: "answer" }));
    const ask = tool({ name: "ask", description: "", input: anything, execute });
    const kit = await openKit([[{ call: "ask", id: "a" }], "done"], { store: await make(), tools: [ask] });
    await kit.session.run("go").result;
    const facts = await factsOf(kit.store);
    const refused = await kit.session.resume({ input: "Atlantis" }).result;
    expect(refused).toMatchObject({ status: "failed", error: { code: "ANSWER_INVALID" } });
    expect(await factsOf(kit.store)).toEqual(facts);
    expect(await kit.session.resume({ input: "Oslo" }).result).toMatchObject({ status: "completed" });
  });

  test("Q8: a file cannot answer a question, and nothing has changed", async () => {
    const kit = await asked({ onNewInput: "answer" });
    const facts = await factsOf(kit.store);
    const file = { type: "file", mediaType: "image/png", data: { base64: "AAAA" } } as const;
    const refused = await kit.session.resume({ input: [{ parts: [{ type: "text", text: "Bob" }, file] }] }).result;
    expect(refused).toMatchObject({ status: "failed", error: { code: "ANSWER_INVALID" } });
    expect(await factsOf(kit.store)).toEqual(facts);
  });

  test("Q8: with several requests open it is ANSWER_AMBIGUOUS, and nothing has changed", async () => {
    const kit = await asked({ onNewInput: "answer" }, { onNewInput: "answer" });
    const facts = await factsOf(kit.store);
    expect(await kit.session.resume({ input: "Bob" }).result).toMatchObject({
      status: "failed",
      error: { code: "ANSWER_AMBIGUOUS", message: "The input could answer 2 open requests of thread thread." },
    });
    expect(await factsOf(kit.store)).toEqual(facts);
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    const [first, second] = kit.session.interrupts.map(({ id }) => id) as [string, string];
    await kit.session.answer(first, respond("Ann"));
    expect(await kit.session.resume({ input: "Bob" }).result).toMatchObject({ status: "completed" });
    expect(JSON.stringify(kit.requests[1]!.messages)).toContain("Ann and Bob");
    await expect(kit.session.answer(second, respond("Cat"))).rejects.toMatchObject({ code: "ANSWER_TAKEN" });
  });
});
