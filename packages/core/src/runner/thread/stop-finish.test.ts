import { gate, type Kit, listen, openKit, said, settle, type ToolOptions } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type BelayEvent, jsonSchema, tool } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const anything = jsonSchema<Record<string, unknown>>({ type: "object" });
type Options = ToolOptions<typeof anything, unknown>;
const work = (execute: Options["execute"], more: Partial<Options> = {}) =>
  tool({ name: "work", description: "", input: anything, onStop: "finish", execute, ...more });

const started = (event: BelayEvent) => event.type === "tool-start";
const oneCall = [[{ text: "Working." }, { call: "work", id: "w" }], "done"] as const;
const result = (kit: Kit) => kit.session.messages.flatMap((m) => m.parts).find((part) => part.type === "result");

describe('a stop that meets a tool with onStop "finish"', () => {
  test("D9, S4: it waits for the tool, keeps its result, and then pauses", async () => {
    const clock = fakeClock();
    const hold = gate<string>();
    const kit = await openKit(oneCall, { clock, tools: [work(() => hold.opened)] });
    const heard = listen(kit.session.run("hi"));
    await heard.until(started);
    const stopping = kit.session.interrupt();
    await clock.advance(60_000);
    expect(kit.session.state).toBe("running");
    hold.open("written");
    expect(await stopping).toMatchObject({ accepted: true, stopped: [], finished: ["w"], late: [] });
    expect(said(await heard.all)).toEqual([
      "state initialized",
      "run-start",
      "state running",
      "message user: hi",
      "turn-start 1",
      "text Working.",
      "message assistant: Working. + call w",
      "tool-start w",
      "tool-end w ok",
      "turn-end 1",
      "interrupted by user",
      "state paused user_interrupt",
    ]);
    expect(result(kit)).toMatchObject({ outcome: "ok", output: "written" });
    expect(kit.requests.length).toBe(1);
  });

  test("S1, D10: its signal fires all the same, and the tool may end at its own checkpoint, with a result or with UserInterrupt", async () => {
    for (const way of ["result", "throw"]) {
      const step = gate();
      const seen: boolean[] = [];
      const stepwise = work(async (_args, ctx) => {
        seen.push(ctx.isInterrupted(), ctx.signal.aborted);
        await step.opened;
        seen.push(ctx.isInterrupted(), ctx.signal.aborted);
        if (way === "throw") ctx.checkInterrupt();
        return "two of three";
      });
      const kit = await openKit(oneCall, { tools: [stepwise] });
      await listen(kit.session.run("hi")).until(started);
      await settle();
      const stopping = kit.session.interrupt();
      step.open();
      expect(await stopping).toMatchObject(way === "throw" ? { stopped: ["w"] } : { finished: ["w"] });
      expect(seen).toEqual([false, false, true, true]);
      expect(result(kit)).toMatchObject(way === "throw" ? { outcome: "interrupted" } : { output: "two of three" });
    }
  });

  test("S4: a generator is not closed: it yields to its end, and its last yield is its result", async () => {
    const step = gate();
    const kit = await openKit(oneCall, {
      tools: [
        work(async function* () {
          yield "first";
          await step.opened;
          yield "last";
        }),
      ],
    });
    const heard = listen(kit.session.run("hi"));
    await heard.until((event) => event.type === "tool-progress");
    const stopping = kit.session.interrupt();
    await settle();
    step.open();
    expect(await stopping).toMatchObject({ finished: ["w"], stopped: [] });
    expect(result(kit)).toMatchObject({ outcome: "ok", output: "last" });
    const progress = said(await heard.all).filter((line) => line.startsWith("progress"));
    expect(progress, "S1: no draft is published after the signal").toEqual(['progress w "first"']);
  });

  test("S4: its own timeoutMs still holds", async () => {
    const clock = fakeClock();
    const kit = await openKit(oneCall, {
      clock,
      tools: [work(() => new Promise(() => {}), { timeoutMs: 1000, graceMs: 10 })],
    });
    await listen(kit.session.run("hi")).until(started);
    const stopping = kit.session.interrupt();
    await clock.advance(1009);
    expect(kit.session.state).toBe("running");
    await clock.advance(1);
    expect(await stopping).toMatchObject({ accepted: true, late: ["w"] });
    expect(result(kit)).toMatchObject({ outcome: "error", output: expect.stringContaining("Timed out after 1000 ms") });
  });
});
