// Calls that ignore a stop, and end long after they were left behind; and other events from the store and the clock of a run:
// another try, a time limit, a steer that is taken back.

import { gate, settle } from "@belay/testkit";
import { expect, test } from "vitest";
import { agent } from "../chat/agent.ts";
import { jsonSchema } from "../schema/schema.ts";
import { tool } from "../tool/tool.ts";
import { interruptAnywhere } from "./interrupt-anywhere.ts";
import type { Fault, Pass, Scenario, ScenarioKit } from "./scenario.ts";
import { scriptedModel } from "./scripted-model.ts";
import { speak } from "./speak.ts";

const input = jsonSchema<object>({ type: "object" });

/** How often the model had read it, each time it was asked for its last word. */
const told: number[] = [];

/** Opened when the run has continued without the calls that were left behind: also from another process. */
let gone = gate();

function dormitory(kit: ScenarioKit) {
  const deaf = tool({
    name: "deaf",
    description: "ends only after it was left behind by a stop",
    input,
    onCrash: "fail",
    async execute(_args, ctx) {
      kit.effect(ctx.address);
      await settle(3);
      if (ctx.signal.aborted) await gone.opened;
      return "slept well";
    },
  });
  const slow = tool({
    name: "slow",
    description: "takes longer than it may",
    input,
    onCrash: "fail",
    timeoutMs: 1,
    async execute(_args, ctx) {
      kit.effect(ctx.address);
      await gone.opened;
      return "slept well";
    },
  });
  const wake = tool({
    name: "wake",
    description: "lets them end, and waits until they have",
    input,
    readOnly: true,
    onStop: "finish",
    async execute() {
      gone.open();
      await settle();
      return "awake";
    },
  });
  const model = scriptedModel((request, call) => {
    if (call === 0) return [{ throw: Object.assign(new Error("busy"), { status: 503 }) }];
    const { messages } = request;
    const called = (name: string) =>
      messages.some(({ parts }) => parts.some((p) => p.type === "call" && p.tool === name));
    const asleep = ["deaf", "slow"].filter((name) => !called(name));
    if (asleep.length > 0) return asleep.map((call) => ({ call }));
    if (!called("wake")) return [{ call: "wake" }];
    told.push(JSON.stringify(messages.filter(({ role }) => role !== "assistant")).split("slept well").length - 1);
    return speak("Good morning.")(request);
  });
  const settings = { retry: { attempts: 2, delayMs: 1, maxDelayMs: 1 } };
  return agent({ name: "dormitory", model, tools: [deaf, slow, wake], graceMs: 1, settings });
}

const scenario: Scenario<string> = {
  agent: dormitory,
  input: "Good night.",
  async play(session) {
    gone = gate();
    const { id } = await session.steer("Sweet dreams.");
    await session.withdraw(id);
  },
};

test("S5: what deaf calls give after a stop, or after their time, reaches the model once, wherever the run was stopped", async () => {
  const stops = ["stop", "stop-twice", "stop-after-model", "stop-after-tools", "stop-elsewhere"] as const;
  const faults: readonly Fault[] = [...stops, "pause", "close"];
  const points = new Set<Pass["point"]>();
  const report = await interruptAnywhere({ ...scenario, faults, onPass: ({ point }) => points.add(point) });
  // Its timers are real.
  expect(report.unstruck).toBeLessThan(report.passes / 20);
  // Once by each of the two.
  expect(new Set(told)).toEqual(new Set([2]));
  // The replies of store and clock were struck, too.
  for (const point of ["load:after", "send:after", "withdraw:after", "timer:due"] as const) {
    expect(points).toContain(point);
  }
});

test("S5, C2: after the death of its process a deaf call stays unknown, and is not repeated", async () => {
  const report = await interruptAnywhere({ ...scenario, faults: ["crash", "freeze", "lost-answer"], anyEnd: true });
  expect(report.unstruck).toBeLessThan(report.passes / 20);
});
