import { gate, heldStore, history, listen, openKit, said, settle, unpaired } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type BelayEvent, jsonSchema, type Model, type ModelEvent, memoryStore, tool } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const isText = (event: BelayEvent) => event.type === "text-delta";
const busy = Object.assign(new Error("overloaded"), { statusCode: 529 });
const anything = jsonSchema<Record<string, unknown>>({ type: "object" });

describe("errors and stops", () => {
  test("S7, Y4: an error of the model because of the stop is a stop: interrupted, not retried, with any type", async () => {
    const looks = [
      new Error("aborted"),
      busy,
      new DOMException("The operation was aborted", "AbortError"),
      "words",
      null,
    ];
    for (const thrown of looks) {
      for (const text of ["", "said"]) {
        const model: Model = {
          id: "throws",
          async *stream(_request, { signal }): AsyncGenerator<ModelEvent> {
            if (text !== "") yield { type: "text", text };
            await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
            throw thrown;
          },
        };
        const kit = await openKit(model);
        const run = kit.session.run("hi");
        await settle();
        expect(await kit.session.interrupt()).toMatchObject({ accepted: true, partialText: text });
        expect(await run.result).toMatchObject({ status: "interrupted" });
        await settle();
        expect(kit.requests.length).toBe(1);
        expect(kit.session.state).toBe("paused");
      }
    }
  });

  test("S7, D34: any other error is state error, with the text streamed before it kept and tagged by error", async () => {
    const clock = fakeClock();
    const refused = new Error("no such model");
    const kit = await openKit([[{ text: ["Half an ", "answer"] }, { throw: refused }], " and the rest"], { clock });
    const run = kit.session.run("hi");
    const heard = listen(run);
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "MODEL_FAILED" } });
    expect(said(await heard.all).slice(4)).toEqual([
      "turn-start 1",
      "text Half an ",
      "text answer",
      "message assistant~error: Half an answer",
      "turn-end 1",
      "run-end failed MODEL_FAILED",
      "state error",
    ]);
    expect(kit.requests.length, "the same request fails in the same way").toBe(1);
    expect(kit.session.messages[1]!.interrupted).toEqual({ by: "error", at: clock.now(), reason: "MODEL_FAILED" });
    expect(kit.session.state).toBe("error");
    expect(await kit.session.interrupt()).toMatchObject({ accepted: false });
    expect(await kit.session.resume().result).toMatchObject({
      status: "completed",
      text: "Half an answer and the rest",
    });
    expect(kit.problems()).toEqual([]);
  });

  test("S7: an error before the first word leaves no message; a call received before it is not run", async () => {
    for (const parts of [[], [{ text: "  " }], [{ call: "act", id: "a" }]]) {
      const ran: string[] = [];
      const act = tool({ name: "act", description: "", input: anything, execute: () => void ran.push("a") });
      const kit = await openKit([[...parts, { throw: new Error("bad request") }] as never, "fine"], { tools: [act] });
      expect(await kit.session.run("hi").result).toMatchObject({ status: "failed" });
      expect(history(kit.session.messages)).toEqual(["user: hi"]);
      expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "fine" });
      expect(ran).toEqual([]);
      expect(kit.problems()).toEqual([]);
    }
  });

  test("S1, S7: a stop during the wait before another try ends it at once, with no further request", async () => {
    const clock = fakeClock();
    const kit = await openKit([[{ throw: busy }], "never"], { clock });
    const heard = listen(kit.session.run("hi"));
    await settle();
    expect(clock.pending).toBeGreaterThan(0);
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true, partialText: "" });
    expect(said(await heard.all).slice(4)).toEqual([
      "turn-start 1",
      "waits for try 2 of 4",
      "turn-end 1",
      "interrupted by user",
      "state paused user_interrupt",
    ]);
    await clock.advance(60_000);
    expect(kit.requests.length).toBe(1);
  });

  test("S7: a failure with its append in flight when the stop comes stays a failure", async () => {
    const hold = gate();
    const store = heldStore(memoryStore(), { before: (n) => (n === 2 ? hold.opened : undefined) });
    const kit = await openKit([[{ text: "x" }, { throw: new Error("no") }]], { store });
    const run = kit.session.run("hi");
    await settle();
    const stopping = kit.session.interrupt();
    hold.open();
    expect(await stopping).toMatchObject({ accepted: false });
    expect(await run.result).toMatchObject({ status: "failed" });
    expect(kit.session.state).toBe("error");
  });

  test("Y6: too many turns, too long an answer, too long a prompt have codes of their own, also while a stop for later waits", async () => {
    const act = tool({ name: "act", description: "", input: anything, execute: () => "ok" });
    const cases = [
      { script: () => [{ call: "act" }], agent: { maxTurns: 2 }, code: "MAX_TURNS" },
      { script: () => [{ text: "long" }, { finish: "length" }], agent: {}, code: "MAX_TOKENS" },
      { script: () => [{ throw: new Error("prompt is too long: 9 tokens") }], agent: {}, code: "CONTEXT_OVERFLOW" },
    ];
    for (const { script, agent, code } of cases) {
      const kit = await openKit(script as never, { tools: [act], agent });
      expect(await kit.session.run("hi").result).toMatchObject({ status: "failed", error: { code } });
    }
  });

  test("H1: an answer cut for length after a call leaves nothing half-said, and the question is asked again", async () => {
    const kit = await openKit([
      [{ reasoning: "let me see", signature: "s" }, { call: "act", id: "a" }, { finish: "length" }],
      "fine",
    ]);
    expect(await kit.session.run("hi").result).toMatchObject({ status: "failed", error: { code: "MAX_TOKENS" } });
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "fine" });
    expect(kit.problems()).toEqual([]);
    expect(history(kit.requests[1]!.messages)).toEqual(["user: hi"]);
  });

  test("S7: a stop while the output is being checked is a stop; the answer is checked again on continue", async () => {
    const hold = gate();
    let checks = 0;
    const output = {
      ...jsonSchema<{ n: number }>({ type: "object" }),
      "~standard": {
        ...jsonSchema<{ n: number }>({ type: "object" })["~standard"],
        validate: async (value: unknown) => {
          checks += 1;
          if (checks === 1) await hold.opened;
          return { value: value as { n: number } };
        },
      },
    };
    const kit = await openKit(['{"n":1}'], { agent: { output } as never });
    const run = kit.session.run("hi");
    await settle();
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true, partialText: "" });
    expect(await run.result).toMatchObject({ status: "interrupted" });
    expect(history(kit.session.messages)).toEqual(["user: hi", 'assistant: {"n":1}']);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", output: { n: 1 } });
    expect([checks, kit.requests.length]).toEqual([2, 1]);
  });

  test("S6, S7: an answer sent back for its form meets a stop for later: paused, not failed, and asked again on resume", async () => {
    const hold = gate();
    const output = jsonSchema<{ n: number }>({
      type: "object",
      required: ["n"],
      properties: { n: { type: "number" } },
    });
    const script = [() => hold.opened.then(() => "no JSON at all"), '{"n":2}'];
    const kit = await openKit(script, { agent: { output } as never });
    const run = kit.session.run("hi");
    await settle();
    const stopping = kit.session.interrupt({ mode: "after-model" });
    hold.open();
    expect(await stopping).toMatchObject({ accepted: true });
    expect(await run.result).toMatchObject({ status: "interrupted" });
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", output: { n: 2 } });
    expect(kit.problems()).toEqual([]);
  });

  test("F6: a stop that cannot be recorded fails the run; the receipt says not accepted, and the signal of tools fires", async () => {
    const signals: AbortSignal[] = [];
    const act = tool({
      name: "act",
      description: "",
      input: anything,
      execute(_args, ctx) {
        signals.push(ctx.signal);
        return new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(new Error("cut"))));
      },
    });
    const broken = heldStore(memoryStore(), {
      before: (n) => (n >= 3 ? Promise.reject(new Error("disk full")) : undefined),
    });
    const kit = await openKit([[{ call: "act", id: "a" }], "never"], { tools: [act], store: broken });
    const run = kit.session.run("hi");
    const heard = listen(run);
    await settle();
    expect(await kit.session.interrupt()).toMatchObject({ accepted: false });
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "STORE_FAILED" } });
    expect(signals[0]!.aborted).toBe(true);
    expect([kit.session.state, kit.session.pauseType]).toEqual(["paused", "crash"]);
    expect(said(await heard.all).at(-1), "F1: nothing is shown that was not saved").toBe("tool-start a");
  });
});

describe("readers and stops", () => {
  test("E1: a reader that throws, or leaves, stops nothing", async () => {
    const hold = gate();
    const kit = await openKit([[{ text: "one" }], "two"]);
    const run = kit.session.run("hi");
    const reading = (async () => {
      for await (const event of run) if (isText(event)) throw new Error("reader");
    })();
    await expect(reading).rejects.toThrow("reader");
    hold.open();
    expect(await run.result).toMatchObject({ status: "completed", text: "one" });
  });

  test("S1: a stop from inside the loop that reads the events", async () => {
    const kit = await openKit([[{ text: "one" }, { wait: 1 }, { text: "two" }, { stall: true }]]);
    const run = kit.session.run("hi");
    const seen: BelayEvent[] = [];
    for await (const event of run) {
      seen.push(event);
      if (event.type === "text-delta" && event.text === "one") void kit.session.interrupt();
    }
    expect(said(seen).slice(4)).toEqual([
      "turn-start 1",
      "text one",
      "message assistant~user: one",
      "turn-end 1",
      "interrupted by user",
      "state paused user_interrupt",
    ]);
    expect(unpaired(seen)).toEqual([]);
  });

  test("S1: awaiting the receipt inside that loop does not lock it up", async () => {
    const kit = await openKit([[{ text: "one" }, { stall: true }]]);
    let accepted: boolean | undefined;
    for await (const event of kit.session.run("hi")) {
      if (isText(event)) accepted = (await kit.session.interrupt()).accepted;
    }
    expect(accepted).toBe(true);
  });
});
