// How to attack an agent of your own: everything that can go wrong, at every point where it can.
import { agent, jsonSchema, tool } from "@belay/core";
import { interruptAnywhere, type ScenarioKit, scriptedModel, speak } from "@belay/core/testing";
import { expect, test } from "vitest";

// region scenario
function support({ effect }: ScenarioKit) {
  const refund = tool({
    name: "refund",
    description: "Pays an order back.",
    input: jsonSchema<{ order: number }>({ type: "object", properties: { order: { type: "number" } } }),
    async execute({ order }, ctx) {
      effect(ctx.address); // here money moves: it must happen once
      return `order ${order} is paid back`;
    },
  });
  const model = scriptedModel((request) => {
    const asked = request.messages.some((message) => message.parts.some((part) => part.type === "call"));
    return asked ? speak("Your money is on its way.")(request) : [{ call: "refund", args: { order: 7 } }];
  });
  return agent({ name: "support", model, tools: [refund] });
}
// endregion

// region attack
test("support pays once and says so, whatever happens at any point", async () => {
  const report = await interruptAnywhere({ agent: support, input: "Pay order 7 back." });
  expect(report.problems).toEqual([]);
});
// endregion

// region caught
test("a refund that is tried again after a crash pays twice, and the attack says where", async () => {
  const careless = (kit: ScenarioKit) => {
    const refund = tool({
      name: "refund",
      description: "Pays an order back.",
      input: jsonSchema<object>({ type: "object" }),
      onCrash: "retry",
      execute: async (_args, ctx) => kit.effect(ctx.address),
    });
    const model = scriptedModel(({ messages }) =>
      messages.length > 1 ? speak("Paid.")({ messages, tools: [] }) : [{ call: "refund" }],
    );
    return agent({ name: "support", model, tools: [refund] });
  };
  const attack = interruptAnywhere({ agent: careless, input: "Pay order 7 back.", faults: ["crash"] });
  await expect(attack).rejects.toThrow(/crash at point \d+ \(tool:end\): effect support.* happened twice/);
});
// endregion
