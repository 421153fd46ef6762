// Attacks an agent of your own: every fault at every point.
import { agent, approve, humanApproval, humanInput, jsonSchema, reject, respond, tool } from "@belay/core";
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
test("support pays once and says so, with any fault at any point", async () => {
  // Throws if a promise does not hold, and names the promise and the point.
  const report = await interruptAnywhere({ agent: support, input: "Pay order 7 back." });
  expect(report.unstruck).toBe(0);
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

// region approval
function teller({ effect, now }: ScenarioKit) {
  const refund = tool({
    name: "refund",
    description: "Pays an order back.",
    input: jsonSchema<{ order: number }>({ type: "object", properties: { order: { type: "number" } } }),
    needsApproval: () => humanApproval("Pay it back?", { expiresAt: now() + 3_600_000 }),
    async execute({ order }, ctx) {
      const account = await ctx.ask(humanInput("To which account?"));
      await ctx.step("pay", () => effect(`${ctx.address}/s:pay`, { after: "ask#0" }));
      return `order ${order} is paid back to ${account}`;
    },
  });
  const model = scriptedModel((request) => {
    const asked = request.messages.some((message) => message.parts.some((part) => part.type === "call"));
    return asked ? speak("That is settled.")(request) : [{ call: "refund", args: { order: 7 } }];
  });
  return agent({ name: "teller", model, tools: [refund] });
}

test("the teller pays once at most, and only the approved sum, to the named account", async () => {
  const report = await interruptAnywhere({
    agent: teller,
    input: "Pay order 7 back.",
    answer({ kind }) {
      if (kind === "approval") return approve({ by: "ann" });
      return kind === "input" ? respond("savings") : reject("skip it");
    },
  });
  expect(report.unstruck).toBe(0);
});
// endregion
