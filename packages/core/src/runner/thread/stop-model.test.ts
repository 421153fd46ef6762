import { gate, heldStore, history, listen, openKit, said, settle, shown } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type BelayEvent, jsonSchema, type Model, type ModelEvent, memoryStore, tool } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const isText = (text: string) => (event: BelayEvent) => event.type === "text-delta" && event.text === text;
const opening = ["state initialized", "run-start", "state running", "message user: hi"];
const paused = ["interrupted by user", "state paused user_interrupt"];

/** Deaf: ignores its signal, and streams `later` when the test releases it. */
function deafModel(
  first: string,
  later: string,
): Model & { readonly letGo: () => void; readonly closed: () => boolean } {
  const hold = gate();
  let closed = false;
  return {
    id: "deaf",
    letGo: () => hold.open(),
    closed: () => closed,
    async *stream(): AsyncGenerator<ModelEvent> {
      try {
        yield { type: "text", text: first };
        await hold.opened;
        yield { type: "text", text: later };
      } finally {
        closed = true;
      }
    },
  };
}

describe("a stop while the model speaks", () => {
  test("S1, S3: in mid-text it stops at once; the text that was shown stays, tagged, and the whole event list says so", async () => {
    const clock = fakeClock();
    const kit = await openKit([[{ text: ["Hel", "lo wor"] }, { stall: true }]], { clock });
    const run = kit.session.run("hi");
    const heard = listen(run);
    await heard.until(isText("lo wor"));
    const receipt = await kit.session.interrupt();
    expect(receipt).toEqual({
      accepted: true,
      runId: run.runId,
      segment: 1,
      partialText: "Hello wor",
      stopped: [],
      finished: [],
      notStarted: [],
      late: [],
    });
    const events = await heard.all;
    expect(said(events)).toEqual([
      ...opening,
      "turn-start 1",
      "text Hel",
      "text lo wor",
      "message assistant~user: Hello wor",
      "turn-end 1",
      ...paused,
    ]);
    expect(history(kit.session.messages)).toEqual(["user: hi", "assistant~user: Hello wor"]);
    expect(kit.session.messages[1]).toMatchObject({ interrupted: { by: "user", at: clock.now() } });
    expect(kit.session.state).toBe("paused");
    expect(kit.session.pauseType).toBe("user_interrupt");
    expect(shown(events)).toBe(receipt.partialText);
  });

  test("D7: a stalled stream, and one that has not said its first word, stop without a timer", async () => {
    for (const turn of [[{ text: "a" }, { stall: true }], [{ stall: true }]] as const) {
      const clock = fakeClock();
      const kit = await openKit([turn], { clock });
      const run = kit.session.run("hi");
      await settle();
      expect((await kit.session.interrupt()).accepted).toBe(true);
      expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
      expect(clock.pending).toBe(0);
    }
  });

  test("D20, S3: without streamed text, or with only blanks, no message stays", async () => {
    for (const turn of [
      [{ stall: true }],
      [{ text: " \n" }, { stall: true }],
      [{ reasoning: "hm" }, { stall: true }],
    ]) {
      const kit = await openKit([turn as never, "again"]);
      kit.session.run("hi");
      await settle();
      const receipt = await kit.session.interrupt();
      expect(receipt).toMatchObject({ accepted: true, partialText: "" });
      expect(history(kit.session.messages)).toEqual(["user: hi"]);
      expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "again" });
      expect(kit.problems()).toEqual([]);
      expect(history(kit.requests[1]!.messages)).toEqual(["user: hi"]);
    }
  });

  test("S1: a model deaf to its signal is not waited for, and its later text reaches no reader", async () => {
    const model = deafModel("shown", "unheard");
    const kit = await openKit(model);
    const heard = listen(kit.session.run("hi"));
    const everything = new AbortController();
    const wide = listen(kit.session.events({ signal: everything.signal }));
    await heard.until(isText("shown"));
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true, partialText: "shown" });
    await settle();
    const before = wide.events.length;
    model.letGo();
    await settle();
    expect(wide.events.length).toBe(before);
    expect(said(wide.events).filter((line) => line.includes("unheard"))).toEqual([]);
    expect(model.closed(), "D13: the generator is closed").toBe(true);
    expect(history(kit.session.messages)).toEqual(["user: hi", "assistant~user: shown"]);
    everything.abort();
  });

  test("S1: an iterator without return(), or one with a return() that throws or never settles, does not delay a stop", async () => {
    const ways: Partial<AsyncIterator<ModelEvent>>[] = [
      {},
      {
        return() {
          throw new Error("no");
        },
      },
      { return: () => new Promise<never>(() => {}) },
      { return: () => undefined as never },
    ];
    for (const way of ways) {
      const answers: ModelEvent[] = [{ type: "text", text: "one" }];
      const next = () => {
        const value = answers.shift();
        return value ? Promise.resolve({ done: false as const, value }) : new Promise<never>(() => {});
      };
      const model: Model = { id: "bare", stream: () => ({ [Symbol.asyncIterator]: () => ({ next, ...way }) }) };
      const kit = await openKit(model);
      const heard = listen(kit.session.run("hi"));
      await heard.until(isText("one"));
      expect(await kit.session.interrupt()).toMatchObject({ accepted: true, partialText: "one" });
    }
  });

  test("Y12: the signal that the model was given fires, with a UserInterrupt", async () => {
    const seen: AbortSignal[] = [];
    const model: Model = {
      id: "signals",
      async *stream(_request, { signal }): AsyncGenerator<ModelEvent> {
        seen.push(signal);
        yield { type: "text", text: "a" };
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    };
    const kit = await openKit(model);
    await listen(kit.session.run("hi")).until(isText("a"));
    expect(seen[0]!.aborted).toBe(false);
    const stopping = kit.session.interrupt({ reason: "enough" });
    expect(seen[0]!.aborted, "set before interrupt() returns").toBe(true);
    expect(seen[0]!.reason).toMatchObject({ code: "USER_INTERRUPT", interruptedAt: expect.any(Number) });
    expect(kit.session.state, "D3: still running right after").toBe("running");
    await stopping;
    expect(kit.session.state).toBe("paused");
  });

  test("Y12: a model that stops its own run has its signal fired too", async () => {
    let signal: AbortSignal | undefined;
    const inside: { stop?: () => void } = {};
    const model: Model = {
      id: "own",
      stream(_request, options) {
        signal = options.signal;
        inside.stop?.();
        return (async function* () {
          yield { type: "text", text: "never" } as const;
        })();
      },
    };
    const kit = await openKit(model);
    inside.stop = () => void kit.session.interrupt();
    const run = kit.session.run("hi");
    expect(await run.result).toMatchObject({ status: "interrupted", partialText: "" });
    expect(signal?.aborted).toBe(true);
  });

  test("S1: no delta is published after the signal, and the text shown is the text kept, wherever the stop falls", async () => {
    const words = Array.from({ length: 30 }, (_, i) => `w${i} `);
    for (let ticks = 0; ticks < 120; ticks += 3) {
      const kit = await openKit([[{ text: words }, { stall: true }]]);
      const heard = listen(kit.session.run("hi"));
      for (let i = 0; i < ticks; i++) await Promise.resolve();
      const stopping = kit.session.interrupt();
      const receipt = await stopping;
      const events = await heard.all;
      expect(shown(events)).toBe(receipt.partialText);
      const kept = kit.session.messages.flatMap((m) => (m.role === "assistant" ? m.parts : []));
      expect(kept).toEqual(receipt.partialText === "" ? [] : [{ type: "text", text: receipt.partialText }]);
    }
  });

  test("S3: with no reader at all the text is kept just the same", async () => {
    const kit = await openKit([[{ text: ["seen by ", "nobody"] }, { stall: true }]]);
    const run = kit.session.run("hi");
    await settle();
    expect((await kit.session.interrupt()).partialText).toBe("seen by nobody");
    expect(await run.result).toMatchObject({ status: "interrupted", partialText: "seen by nobody" });
    expect(history(kit.session.messages)).toEqual(["user: hi", "assistant~user: seen by nobody"]);
  });

  test("S1: a stop in the same tick as run() costs no model request; the input stays", async () => {
    const kit = await openKit(["later"]);
    const run = kit.session.run("hi");
    const heard = listen(run);
    const receipt = await kit.session.interrupt();
    expect(receipt).toMatchObject({ accepted: true, partialText: "", runId: run.runId });
    expect(said(await heard.all)).toEqual([...opening, ...paused]);
    expect(kit.requests.length).toBe(0);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "later" });
  });

  test("S1: a stop while the first append is in flight is seen before the first model call", async () => {
    const hold = gate();
    const store = heldStore(memoryStore(), { before: (n) => (n === 1 ? hold.opened : undefined) });
    const kit = await openKit(["never"], { store });
    const heard = listen(kit.session.run("hi"));
    await settle();
    const stopping = kit.session.interrupt();
    await settle();
    expect(heard.events, "F1: nothing is seen before it is durable").toEqual([]);
    hold.open();
    expect((await stopping).accepted).toBe(true);
    expect(kit.requests.length).toBe(0);
    expect(said(await heard.all)).toEqual([...opening, ...paused]);
  });

  test("X3, F1: the receipt and the pause come only when the stop is in the store", async () => {
    const hold = gate();
    const store = heldStore(memoryStore(), { before: (n) => (n === 2 ? hold.opened : undefined) });
    const kit = await openKit([[{ text: "some" }, { stall: true }]], { store });
    const heard = listen(kit.session.run("hi"));
    await heard.until(isText("some"));
    let told = false;
    const stopping = kit.session.interrupt().then(() => (told = true));
    await settle();
    expect(store.appends.length).toBe(2);
    expect([told, kit.session.state]).toEqual([false, "running"]);
    expect(said(heard.events)).toEqual([...opening, "turn-start 1", "text some"]);
    hold.open();
    await stopping;
    expect(kit.session.state).toBe("paused");
  });

  test("D22: the next request is the old history, the cut answer with its mark, and the new input, in that order", async () => {
    const kit = await openKit([[{ text: "Once upon" }, { stall: true }], "Sure."]);
    await listen(kit.session.run("tell a story")).until(isText("Once upon"));
    await kit.session.interrupt({ reason: "direction_change" });
    await kit.session.resume({ input: "a poem instead" }).result;
    expect(history(kit.requests[1]!.messages)).toEqual([
      "user: tell a story",
      "assistant~user: Once upon + \n[interrupted by the user]",
      "user: a poem instead",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  test("S4: a call received in full before the stop is held and runs once on continue", async () => {
    const ran: string[] = [];
    const act = tool({
      name: "act",
      description: "",
      input: jsonSchema({ type: "object" }),
      execute: (_args, ctx) => void ran.push(ctx.callId),
    });
    const kit = await openKit([[{ text: "I act" }, { call: "act", id: "a" }, { stall: true }], "done"], {
      tools: [act],
    });
    kit.session.run("hi");
    await settle();
    expect(await kit.session.interrupt()).toMatchObject({ partialText: "I act", notStarted: ["a"] });
    expect(ran).toEqual([]);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["a"]);
    expect(kit.problems()).toEqual([]);
    expect(history(kit.session.messages)).toEqual([
      "user: hi",
      "assistant~user: I act + call a",
      "tool: a ok",
      "assistant: done",
    ]);
  });
});
