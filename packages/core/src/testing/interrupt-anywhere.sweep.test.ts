import { openDatabase } from "@belay/testkit";
import { describe, expect, inject, it } from "vitest";
import { type AgentOptions, agent } from "../chat/agent.ts";
import type { Clock } from "../clock.ts";
import { humanApproval, humanInput } from "../interrupt/request.ts";
import type { ModelRequest } from "../model/model.ts";
import { jsonSchema } from "../schema/schema.ts";
import { memoryStore } from "../store/memory.ts";
import { sqliteStore } from "../store/sqlite/sqlite.ts";
import { type ToolOptions, tool } from "../tool/tool.ts";
import { faultyStore } from "./faulty-store.ts";
import { interruptAnywhere } from "./interrupt-anywhere.ts";
import { allFaults, type Pass, type Scenario, type ScenarioKit } from "./scenario.ts";
import { scriptedModel } from "./scripted-model.ts";
import { speak } from "./speak.ts";

const { strikes: mostPoints } = inject("effort");
const struck = (points: number) => Math.min(points, mostPoints);

const noArgs = jsonSchema<object>({ type: "object" });

/** How many turns with calls the model has had. */
const turnsIn = ({ messages }: ModelRequest) =>
  messages.filter((message) => message.role === "assistant" && message.parts.some((part) => part.type === "call"))
    .length;

/** Two turns of calls, two at once and one alone, and an answer. */
function helper(kit: ScenarioKit, options: Partial<AgentOptions<undefined, unknown>> = {}) {
  const act = (name: string, serial: boolean) =>
    tool({
      onCrash: "fail",
      name,
      description: "touches the world",
      input: noArgs,
      serial,
      async execute(_args, ctx) {
        kit.effect(ctx.address);
        await new Promise((resolve) => setImmediate(resolve));
        return `${name} done`;
      },
    });
  const watch = tool({
    name: "watch",
    description: "reports each pass",
    input: noArgs,
    readOnly: true,
    async *execute() {
      yield "one";
      yield "two";
      return "watched";
    },
  });
  const model = scriptedModel((request) => {
    const turns = turnsIn(request);
    const look = speak("Let me look.")(request);
    if (turns === 0) return [{ reasoning: "hm" }, ...look, { call: "act" }, { call: "watch" }, { call: "alone" }];
    if (turns === 1) return [{ call: "act" }];
    return speak("All is done.")(request);
  });
  return agent({
    name: "helper",
    model,
    tools: [act("act", false), act("alone", true), watch],
    graceMs: 5,
    ...options,
  });
}

/** Parallel calls, a person that steers, and an answer that must fit a schema. */
const structured: Omit<Scenario<{ done: number }>, "faults"> = {
  agent(kit) {
    const work = tool({
      onCrash: "fail",
      name: "work",
      description: "works",
      input: noArgs,
      repeatable: true,
      async execute(_args, ctx) {
        kit.effect(ctx.address);
        await new Promise((resolve) => setImmediate(resolve));
        return "worked";
      },
    });
    const output = jsonSchema<{ done: number }>({
      type: "object",
      properties: { done: { type: "number" } },
      required: ["done"],
    });
    const model = scriptedModel((request) =>
      turnsIn(request) === 0 ? [{ call: "work" }, { call: "work" }] : speak('{ "done": 2 }')(request),
    );
    return agent({ name: "worker", model, tools: [work], output });
  },
  input: "Do both.",
  repeatable: () => true,
  async play(session) {
    await session.steer("Both at once, please.");
  },
};

/** Four calls at once: one is free, one needs approval, one asks between two steps, and one needs approval and runs alone. */
const clerk: Omit<Scenario, "faults"> = {
  agent(kit) {
    const inAnHour = () => ({ expiresAt: kit.now() + 3_600_000 });
    const act = (name: string, more: Partial<ToolOptions<typeof noArgs, unknown>>) =>
      tool({
        onCrash: "fail",
        name,
        description: "touches the world",
        input: noArgs,
        async execute(_args, ctx) {
          kit.effect(ctx.address);
          await new Promise((resolve) => setImmediate(resolve));
          return `${name} done`;
        },
        ...more,
      });
    const book = act("book", {
      async execute(_args, ctx) {
        const step = (key: string) => ctx.step(key, () => kit.effect(`${ctx.address}/s:${key}`, after[key]));
        const after: Record<string, { after: string }> = { room: { after: "ask#0" } };
        await step("date");
        const which = await ctx.ask(humanInput("Which room?", inAnHour()));
        await step("room");
        return `booked ${which}`;
      },
    });
    const needsApproval = () => humanApproval("May I?", inAnHour());
    const model = scriptedModel((request) => {
      if (turnsIn(request) > 0) return speak("All is done.")(request);
      return [{ call: "look" }, { call: "pay", args: { n: 1 } }, { call: "book" }, { call: "sign" }];
    });
    const tools = [act("look", {}), act("pay", { needsApproval }), book, act("sign", { serial: true, needsApproval })];
    return agent({ name: "clerk", model, tools, graceMs: 5 });
  },
  input: "Do it all.",
};

describe("interruptAnywhere", () => {
  it("X1, X2: stops, pauses, steers and inputs at every point leave a valid history, effects once, and the same end", async () => {
    const faults = ["stop", "stop-twice", "stop-after-model", "stop-after-tools", "pause", "steer", "enqueue"] as const;
    const passes: Pass[] = [];
    const onPass = (pass: Pass) => passes.push(pass);
    const report = await interruptAnywhere({ agent: helper, input: "Do it.", faults, onPass, mostPoints });
    expect(report.points).toBeGreaterThan(40);
    expect(report.unstruck).toBe(0);
    expect(report.passes).toBe(struck(report.points) * faults.length);
    expect(passes).toHaveLength(report.passes);
    expect(passes.at(-1)).toMatchObject({ fault: "enqueue", problems: [] });
  });

  it("C2, F3: processes that die, close or stand still, and lost answers, at every point lose and double nothing", async () => {
    const faults = ["close", "crash", "freeze", "lost-answer"] as const;
    const report = await interruptAnywhere({ agent: helper, input: "Do it.", faults, anyEnd: true, mostPoints });
    expect(report.unstruck).toBe(0);
    expect(report.passes).toBe(struck(report.points) * faults.length);
  });

  it("every fault, with parallel calls, a steer and a structured output, ends with the same value", async () => {
    const report = await interruptAnywhere({ ...structured, mostPoints });
    expect(report.unstruck).toBe(0);
    expect(report.passes).toBe(struck(report.points) * allFaults.length);
  });

  // A file is looked at by the clock: on a busy machine that is a point more or less, and the last ones may never come.
  it("the same on SQLite", async () => {
    const store = async (clock: Clock) => sqliteStore(await openDatabase(":memory:"), { clock });
    const faults = allFaults.filter((fault) => !fault.startsWith("answer"));
    const report = await interruptAnywhere({ ...structured, faults, store, mostPoints });
    expect(report.unstruck).toBeLessThan(report.passes / 20);
    expect(report.passes).toBe(struck(report.points) * faults.length);
  });

  it("Q1–Q8: approvals and questions, answered, doubled, late, wrong, expired and withdrawn at every point: the approved calls run, once", async () => {
    const report = await interruptAnywhere({ ...clerk, mostPoints });
    expect(report.points).toBeGreaterThan(50);
    expect(report.unstruck).toBe(0);
    expect(report.passes).toBe(struck(report.points) * allFaults.length);
  });

  it("the same approvals and questions on SQLite, at other points for each fault", async () => {
    const store = async (clock: Clock) => sqliteStore(await openDatabase(":memory:"), { clock });
    const report = await interruptAnywhere({ ...clerk, store, mostPoints });
    expect(report.unstruck).toBeLessThan(report.passes / 20);
    expect(report.passes).toBe(struck(report.points) * allFaults.length);
  });

  it("the same on a store that takes its time: some races show only there", async () => {
    const store = (clock: Clock) => {
      const slow = faultyStore(memoryStore({ clock }));
      slow.always({ before: 1, after: 2 });
      return slow;
    };
    const faults = allFaults.filter((fault) => /^(answer|expire|stop|new-input)/.test(fault));
    const report = await interruptAnywhere({ ...clerk, faults, store, mostPoints });
    expect(report.unstruck).toBe(0);
    expect(report.passes).toBe(struck(report.points) * faults.length);
  });

  it("a scenario that fails without a fault is reported", async () => {
    const bad = (kit: ScenarioKit) => {
      kit.effect("once");
      kit.effect("once");
      return helper(kit);
    };
    await expect(interruptAnywhere({ agent: bad, input: "Do it." })).rejects.toThrow("Without any fault");
  });

  it("two attacks in one process would strike at each other's points: the second is refused, and the first continues", async () => {
    const first = interruptAnywhere({ ...structured, faults: ["stop"] });
    await expect(interruptAnywhere(structured)).rejects.toThrow("uses the points of this process already");
    expect(await first).toMatchObject({ unstruck: 0, problems: [] });
    await expect(interruptAnywhere({ ...structured, faults: ["pause"] })).resolves.toMatchObject({ unstruck: 0 });
  });

  it("a pass that never reached its point is reported", async () => {
    let agents = 0;
    const shorter = (kit: ScenarioKit) => {
      agents += 1;
      return agents === 1 ? helper(kit) : agent({ name: "helper", model: scriptedModel(speak("All is done.")) });
    };
    const never: Pass[] = [];
    const onPass = (pass: Pass) => pass.point === undefined && never.push(pass);
    const report = await interruptAnywhere({ agent: shorter, input: "Do it.", faults: ["stop"], anyEnd: true, onPass });
    expect(report.unstruck).toBeGreaterThan(20);
    expect(never).toHaveLength(report.unstruck);
    expect(never.at(-1)).toMatchObject({ fault: "stop", at: report.points, problems: [] });
  });

  it("text that a person rolls back need not be kept", async () => {
    const report = await interruptAnywhere({
      agent: helper,
      input: "Do it.",
      faults: ["pause"],
      mostPoints,
      async play(session) {
        for await (const { type } of session.events()) if (type === "text-delta") break;
        await session.interrupt({ rollbackPartial: true });
      },
    });
    expect(report.problems).toEqual([]);
  });

  it("memory is the store where none is given, and its leases end by the clock it is handed", async () => {
    let clocks = 0;
    const store = (clock: Clock) => {
      clocks += 1;
      return memoryStore({ clock });
    };
    const report = await interruptAnywhere({ ...structured, faults: ["crash"], store });
    expect(clocks).toBe(report.passes + 1);
  });
});
