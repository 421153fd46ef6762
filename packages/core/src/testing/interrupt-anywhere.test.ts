import { describe, expect, it } from "vitest";
import { agent } from "../chat/agent.ts";
import { jsonSchema } from "../schema/schema.ts";
import { tool } from "../tool/tool.ts";
import { interruptAnywhere, type ScenarioKit } from "./interrupt-anywhere.ts";
import { scriptedModel } from "./scripted-model.ts";

const noArgs = jsonSchema<object>({ type: "object" });

function helper(kit: ScenarioKit, options: { readonly onCrash?: "retry" | "fail" } = {}) {
  const act = (name: string, serial: boolean) =>
    tool({
      name,
      description: "touches the world",
      input: noArgs,
      serial,
      ...options,
      async execute(_args, ctx) {
        kit.effect(ctx.address);
        await new Promise((resolve) => setImmediate(resolve));
        return `${name} done`;
      },
    });
  const watch = tool({
    name: "watch",
    description: "tells as it goes",
    input: noArgs,
    readOnly: true,
    async *execute() {
      yield "one";
      yield "two";
      return "watched";
    },
  });
  const model = scriptedModel((request) => {
    const answers = request.messages.filter(
      (m) => m.role === "assistant" && m.parts.some((p) => p.type === "call"),
    ).length;
    if (answers === 0)
      return [
        { reasoning: "hm" },
        { text: ["Let me ", "look."] },
        { call: "act" },
        { call: "watch" },
        { call: "alone" },
      ];
    if (answers === 1) return [{ call: "act" }];
    return [{ text: ["All ", "is ", "done."] }];
  });
  return agent({ name: "helper", model, tools: [act("act", false), act("alone", true), watch], graceMs: 5 });
}

describe("interruptAnywhere", () => {
  it("X1, X2: a stop, two stops, a pause at every point leave a valid history, effects once, and the same end", async () => {
    const faults = ["stop", "stop-twice", "stop-after-model", "stop-after-tools", "pause"] as const;
    const report = await interruptAnywhere({ agent: helper, input: "Do it.", faults, anyEnd: true });
    expect(report.points).toBeGreaterThan(40);
    expect(report.passes).toBe(report.points * faults.length);
  });

  it("C2: a crash at every point loses and doubles nothing", async () => {
    const report = await interruptAnywhere({ agent: helper, input: "Do it.", faults: ["crash"], anyEnd: true });
    expect(report.passes).toBe(report.points);
  });
});
