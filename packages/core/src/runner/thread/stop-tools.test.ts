import { setTimeout as delay } from "node:timers/promises";
import { gate, history, listen, openKit, said, settle, type ToolOptions, unpaired } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type BelayEvent, jsonSchema, type ToolContext, tool, UserInterrupt } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const anything = jsonSchema<Record<string, unknown>>({ type: "object" });
type Options = ToolOptions<typeof anything, unknown>;

/** A tool named `work`. */
function work(execute: Options["execute"], more: Partial<Options> = {}) {
  return tool({ name: "work", description: "Works.", input: anything, execute, ...more });
}

const started = (event: BelayEvent) => event.type === "tool-start";
const oneCall = [[{ text: "Working." }, { call: "work", id: "w" }], "done"] as const;
const beforeTheStop = [
  "state initialized",
  "run-start",
  "state running",
  "message user: hi",
  "turn-start 1",
  "text Working.",
  "message assistant: Working. + call w",
  "tool-start w",
];
const paused = ["turn-end 1", "interrupted by user", "state paused user_interrupt"];

const sleepUntilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

const result = (kit: Awaited<ReturnType<typeof openKit>>) =>
  kit.session.messages.flatMap((m) => m.parts).find((part) => part.type === "result");

describe("a stop while a tool runs", () => {
  test("S1, S4: a sleeping tool that heeds ctx.signal stops at once; its result says interrupted", async () => {
    const clock = fakeClock();
    const kit = await openKit(oneCall, { clock, tools: [work((_args, ctx) => sleepUntilAborted(ctx.signal))] });
    const heard = listen(kit.session.run("hi"));
    await heard.until(started);
    const receipt = await kit.session.interrupt();
    expect(receipt).toMatchObject({ accepted: true, stopped: ["w"], finished: [], notStarted: [], late: [] });
    expect(said(await heard.all)).toEqual([...beforeTheStop, "tool-end w interrupted", ...paused]);
    expect(result(kit)).toMatchObject({
      outcome: "interrupted",
      output: expect.stringMatching(/may have taken effect/),
    });
    expect(clock.pending, "the grace is not waited for, nor left ticking").toBe(0);
    await kit.session.resume().result;
    expect(history(kit.requests[1]!.messages)).toEqual([
      "user: hi",
      "assistant: Working. + call w",
      "tool: w interrupted",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  test("A7, S4: a deaf tool is left behind when its grace is over, listed in late, and not called ended before", async () => {
    const clock = fakeClock();
    const hold = gate<string>();
    const kit = await openKit(oneCall, { clock, tools: [work(() => hold.opened)] });
    const heard = listen(kit.session.run("hi"));
    await heard.until(started);
    const stopping = kit.session.interrupt();
    let told = false;
    void stopping.then(() => (told = true));
    await clock.advance(499);
    expect([told, kit.session.state]).toEqual([false, "running"]);
    await clock.advance(1);
    expect(await stopping).toMatchObject({ accepted: true, stopped: ["w"], late: ["w"] });
    expect(said(await heard.all)).toEqual([...beforeTheStop, "tool-end w interrupted", ...paused]);
    hold.open("too late");
    await settle();
    expect(result(kit)).toMatchObject({ outcome: "interrupted" });
  });

  test("X3: a call left behind by an earlier stop is still in late at the next one, until it ends", async () => {
    const clock = fakeClock();
    const hold = gate<string>();
    const script = [...oneCall.slice(0, 1), [{ stall: true }], [{ stall: true }]] as never;
    const kit = await openKit(script, { clock, tools: [work(() => hold.opened, { graceMs: 0 })] });
    await listen(kit.session.run("hi")).until(started);
    const first = kit.session.interrupt();
    await clock.advance(0);
    expect((await first).late).toEqual(["w"]);
    kit.session.resume();
    await settle();
    expect((await kit.session.interrupt()).late).toEqual(["w"]);
    hold.open("ended");
    await settle();
    kit.session.resume();
    await settle();
    expect((await kit.session.interrupt()).late).toEqual([]);
  });

  test("K5: a tool that answers its signal with a result has finished", async () => {
    const partial = (_args: unknown, ctx: ToolContext) => sleepUntilAborted(ctx.signal).catch(() => "as far as I came");
    const kit = await openKit(oneCall, { tools: [work(partial)] });
    await listen(kit.session.run("hi")).until(started);
    expect(await kit.session.interrupt()).toMatchObject({ stopped: [], finished: ["w"] });
    expect(result(kit)).toMatchObject({ outcome: "ok", output: "as far as I came" });
  });

  test("A5: yielded values of a tool are kept with the result that says interrupted", async () => {
    const kit = await openKit(oneCall, {
      tools: [
        work(async function* (_args, ctx) {
          yield "line 1";
          yield { line: 2 };
          await sleepUntilAborted(ctx.signal);
        }),
      ],
    });
    const heard = listen(kit.session.run("hi"));
    await heard.until((event) => event.type === "tool-progress" && event.data !== "line 1");
    await kit.session.interrupt();
    const events = await heard.all;
    expect(said(events)).toEqual([
      ...beforeTheStop,
      'progress w "line 1"',
      'progress w {"line":2}',
      "tool-end w interrupted",
      ...paused,
    ]);
    expect(events.find((event) => event.type === "tool-end")).toMatchObject({ output: ["line 1", { line: 2 }] });
    expect(result(kit)?.output).toMatch(/may have taken effect\. Its output so far:\nline 1\n\{"line":2\}$/);
  });

  test("A5, A7: a deaf generator is left behind with its yielded values, and closed when it returns", async () => {
    const hold = gate();
    let cleaned = false;
    const deaf = work(
      async function* () {
        try {
          yield "before";
          await hold.opened;
          yield "after";
          yield "never reached";
        } finally {
          cleaned = true;
        }
      },
      { graceMs: 5 },
    );
    const kit = await openKit(oneCall, { tools: [deaf] });
    const heard = listen(kit.session.run("hi"));
    await heard.until((event) => event.type === "tool-progress");
    expect(await kit.session.interrupt()).toMatchObject({ stopped: ["w"], late: ["w"] });
    hold.open();
    await settle();
    expect(cleaned).toBe(true);
    expect(said(heard.events).filter((line) => line.startsWith("progress"))).toEqual(['progress w "before"']);
  });

  test("S1: an iterator with a return() that throws, or gives no promise, does not keep the stop from the others", async () => {
    const bad = (close: () => never) => ({
      [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}), return: close }),
    });
    for (const close of [
      () => {
        throw new Error("cannot close");
      },
      () => undefined as never,
    ]) {
      const signals: AbortSignal[] = [];
      const tools = [
        work(() => bad(close), { name: "bad", graceMs: 5 }),
        work((_args, ctx) => {
          signals.push(ctx.signal);
          return sleepUntilAborted(ctx.signal);
        }),
      ];
      const kit = await openKit(
        [
          [
            { call: "bad", id: "b" },
            { call: "work", id: "w" },
          ],
          "done",
        ],
        { tools },
      );
      await listen(kit.session.run("hi")).until((event) => event.type === "tool-start" && event.callId === "w");
      await settle();
      const receipt = await kit.session.interrupt();
      expect(signals[0]!.aborted).toBe(true);
      expect(receipt).toMatchObject({ stopped: expect.arrayContaining(["b", "w"]), late: ["b"] });
    }
  });

  test("D10, D12: ctx.checkInterrupt() throws UserInterrupt once the run is stopped, and that is a stop", async () => {
    let thrown: unknown;
    let steps = 0;
    const stepwise = work(async (_args, ctx) => {
      for (;;) {
        try {
          ctx.checkInterrupt();
        } catch (error) {
          thrown = error;
          throw error;
        }
        expect(ctx.isInterrupted()).toBe(false);
        steps += 1;
        await delay(1);
      }
    });
    const kit = await openKit(oneCall, { tools: [stepwise] });
    await listen(kit.session.run("hi")).until(started);
    await delay(5);
    const before = Date.now();
    expect(await kit.session.interrupt({ reason: "enough" })).toMatchObject({ stopped: ["w"], late: [] });
    expect(steps).toBeGreaterThan(0);
    expect(thrown).toBeInstanceOf(UserInterrupt);
    expect(thrown).toMatchObject({ code: "USER_INTERRUPT", message: "User interrupted execution (enough)." });
    expect(Math.abs((thrown as UserInterrupt).interruptedAt - before)).toBeLessThan(60_000);
  });

  test("S7: any error of a tool after the stop is the stop; before it, an error of its own", async () => {
    for (const late of [true, false]) {
      const kit = await openKit(oneCall, {
        tools: [
          work(async (_args, ctx) => {
            if (late) await sleepUntilAborted(ctx.signal).catch(() => {});
            throw new Error("my own words");
          }),
        ],
      });
      const run = kit.session.run("hi");
      await listen(run).until(started);
      if (!late) {
        expect(await run.result).toMatchObject({ status: "completed" });
        expect(result(kit)).toMatchObject({ outcome: "error", output: "my own words" });
        continue;
      }
      await kit.session.interrupt();
      expect(await run.result).toMatchObject({ status: "interrupted" });
      expect(result(kit)).toMatchObject({ outcome: "interrupted" });
    }
  });

  test("S7: a tool that throws before its first await has its error reported to the model, and the run continues", async () => {
    const kit = await openKit(oneCall, {
      tools: [
        work(() => {
          throw new Error("at once");
        }),
      ],
    });
    const heard = listen(kit.session.run("hi"));
    expect(said(await heard.all)).toEqual([
      ...beforeTheStop,
      "tool-end w error",
      "turn-end 1",
      "turn-start 2",
      "text done",
      "message assistant: done",
      "turn-end 2",
      "run-end completed",
      "state completed",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  test("S1: a stop asked for inside a tool, in its first moment, lets that tool end and starts no other", async () => {
    const inside: { stop?: () => void } = {};
    const ran: string[] = [];
    const stopper = work((_args, ctx) => {
      ran.push(ctx.callId);
      inside.stop?.();
      return "asked for it";
    });
    const kit = await openKit(
      [
        [
          { call: "work", id: "1" },
          { call: "work", id: "2" },
        ],
        "done",
      ],
      { tools: [stopper] },
    );
    inside.stop = () => void kit.session.interrupt();
    const run = kit.session.run("hi");
    const heard = listen(run);
    expect(await run.result).toMatchObject({ status: "interrupted" });
    expect(ran).toEqual(["1"]);
    expect(said(await heard.all).slice(-6)).toEqual(["tool-start 2", "tool-end 1 ok", "tool-end 2 held", ...paused]);
    expect(unpaired(heard.events)).toEqual([]);
    inside.stop = undefined as never;
    await kit.session.resume().result;
    expect(ran).toEqual(["1", "2"]);
    expect(kit.problems()).toEqual([]);
  });

  test("S4: a tool that waits for its own stop is not waited for beyond its grace", async () => {
    const inside: { stop?: () => Promise<unknown> } = {};
    const kit = await openKit(oneCall, { tools: [work(() => inside.stop!(), { graceMs: 5 })] });
    inside.stop = () => kit.session.interrupt();
    expect(await kit.session.run("hi").result).toMatchObject({ status: "interrupted" });
  });

  test("D11, S11: outside of a session the helpers do nothing", async () => {
    const direct = work((args, ctx) => {
      ctx.checkInterrupt();
      return [ctx.isInterrupted(), ctx.signal.aborted, args];
    });
    expect(direct.execute({ a: 1 } as never)).toEqual([false, false, { a: 1 }]);
  });
});
