// Claims of the designs that Belay unites which no other test tells in their own words.

import { describe, expect, it } from "vitest";
import { jsonSchema } from "../schema/schema.ts";
import { history, listen, openKit, shown } from "../testing/session-kit.ts";
import { tool } from "../tool/tool.ts";

const noArgs = jsonSchema<object>({ type: "object" });

describe("as one knows it from Dolphin", () => {
  it("D4: an interrupt while nothing runs does nothing, and does not wait for the next run", async () => {
    const kit = await openKit(["one", "two"]);
    expect(await kit.session.interrupt()).toMatchObject({ accepted: false });
    expect(await kit.session.run("go").result).toMatchObject({ status: "completed" });
    expect(await kit.session.interrupt()).toMatchObject({ accepted: false });
    expect(await kit.session.run("again").result).toMatchObject({ status: "completed", text: "two" });
  });

  it("D8: a stop is looked at at each chunk, before each tool and before each model call, never between a tool's end and its record", async () => {
    const points: string[] = [];
    const stopAt = async (place: "chunk" | "tool" | "result") => {
      const probe = tool({
        name: "probe",
        description: "stops the run from inside, and still has a result",
        input: noArgs,
        execute: () => {
          if (place === "result") void kit.session.interrupt();
          return "found";
        },
      });
      // The waits let the reader catch up: how many microtasks it lags behind is nobody's business.
      const said = [{ text: "a" }, { wait: 1 }, { text: "b" }, { wait: 1 }, { call: "probe" }, { call: "probe" }];
      const kit = await openKit([said, "end"], { tools: [probe] });
      const run = kit.session.run("go");
      for await (const event of run) {
        if (place === "chunk" && event.type === "text-delta" && event.text === "a") void kit.session.interrupt();
        if (place === "tool" && event.type === "text-delta" && event.text === "b") {
          void kit.session.interrupt({ mode: "after-model" });
        }
      }
      points.push(`${place}: ${history(kit.session.messages).slice(1).join(" | ")}; ${kit.requests.length} request`);
    };
    await stopAt("chunk");
    await stopAt("tool");
    await stopAt("result");
    expect(points).toEqual([
      "chunk: assistant~user: a; 1 request",
      "tool: assistant: ab + call call_1 + call call_2; 1 request",
      "result: assistant: ab + call call_1 + call call_2 | tool: call_1 ok; 1 request",
    ]);
  });

  it("D19: what was streamed before the stop is in the history as a cut answer, exactly as it was shown", async () => {
    const kit = await openKit([[{ text: ["Half ", "a", " sentence, "] }, { stall: true }]]);
    const run = kit.session.run("go");
    const heard = listen(run);
    await heard.until((event) => event.type === "text-delta" && event.offset > 5);
    await kit.session.interrupt();
    const last = kit.session.messages.at(-1);
    expect(last).toMatchObject({ role: "assistant", interrupted: { by: "user" } });
    expect(last?.parts).toEqual([{ type: "text", text: shown(await heard.all) }]);
  });

  it("D32: what is thrown while paused is thrown, and leaves the thread paused", async () => {
    const kit = await openKit(["on"]);
    const run = kit.session.run("go");
    await kit.session.interrupt();
    await run.result;
    expect(() => kit.session.resume({ input: 7 as never })).toThrow(/input/);
    expect(() => kit.session.resume({ mode: "sideways" as never })).toThrow(/mode/);
    expect([kit.session.state, kit.session.pauseType]).toEqual(["paused", "user_interrupt"]);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
  });
});

describe("as one knows it from the ESC of a terminal", () => {
  it("Y1: each run has a signal of its own; running is what is true during a run only, also after one that threw", async () => {
    const signals: AbortSignal[] = [];
    const look = tool({
      name: "look",
      description: "",
      input: noArgs,
      execute: (_, ctx) => void signals.push(ctx.signal),
    });
    const bad = new Error("no such model");
    const kit = await openKit([[{ call: "look" }], [{ stall: true }], [{ throw: bad }], [{ call: "look" }], "end"], {
      tools: [look],
    });
    const first = kit.session.run("go");
    expect(kit.session.state).toBe("running");
    await new Promise((resolve) => setTimeout(resolve, 5));
    await kit.session.interrupt();
    await first.result;
    expect(kit.session.state).toBe("paused");
    expect(await kit.session.run("on").result).toMatchObject({ status: "failed" });
    expect(kit.session.state).toBe("error");
    expect(await kit.session.run("again").result).toMatchObject({ status: "completed" });
    expect(signals[0]).not.toBe(signals[1]);
    expect(signals[1]?.aborted).toBe(false);
  });

  it("Y3, Y5: a stop at each point of the loop ends the run as interrupted, after as many model calls as there were", async () => {
    const calls: Record<string, number> = {};
    const stopAt = async (place: "start" | "in model" | "after model" | "in tool" | "after tools") => {
      const wait = tool({
        name: "wait",
        description: "",
        input: noArgs,
        async execute(_, ctx) {
          if (place === "in tool") void kit.session.interrupt();
          if (place === "after tools") void kit.session.interrupt({ mode: "after-tools" });
          ctx.checkInterrupt();
          return "done";
        },
      });
      const kit = await openKit([[{ text: ["x"] }, { call: "wait" }], "end"], { tools: [wait] });
      const run = kit.session.run("go");
      if (place === "start") void kit.session.interrupt();
      for await (const event of run) {
        if (event.type !== "text-delta") continue;
        if (place === "in model") void kit.session.interrupt();
        if (place === "after model") void kit.session.interrupt({ mode: "after-model" });
      }
      expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
      calls[place] = kit.requests.length;
    };
    for (const place of ["start", "in model", "after model", "in tool", "after tools"] as const) await stopAt(place);
    expect(calls).toEqual({ start: 0, "in model": 1, "after model": 1, "in tool": 1, "after tools": 1 });
  });

  it("Y10: a stop is told once, with its reason", async () => {
    const kit = await openKit([[{ text: "some" }, { stall: true }]]);
    const heard = listen(kit.session.run("go"));
    await heard.until((event) => event.type === "text-delta");
    await Promise.all(
      [1, 2, 3].map(() => kit.session.interrupt({ reason: "pause_to_think", message: "wait a moment" })),
    );
    const told = (await heard.all).flatMap((event) => (event.type === "action" ? [event.action.interrupted] : []));
    expect(told).toMatchObject([{ kind: "user", reason: "pause_to_think", message: "wait a moment" }]);
  });
});
