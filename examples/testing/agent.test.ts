// How to test an agent of your own: its model is a script, its clock stands still, and its requests are checked.
import { agent, createRunner, jsonSchema, type Model, type Run, tool } from "@belay/core";
import { fakeClock, promptProblems, scriptedModel } from "@belay/core/testing";
import { expect, test } from "vitest";

const refund = tool({
  name: "refund",
  description: "Pays an order back.",
  input: jsonSchema<{ order: number }>({ type: "object", properties: { order: { type: "number" } } }),
  // Simulates a service that does not answer.
  execute: () => new Promise(() => {}),
});

const support = (model: Model) => agent({ name: "support", model, tools: [refund] });

// region stop
test("stopped in mid-answer, support takes the new instruction and keeps its cut answer", async () => {
  const model = scriptedModel([[{ text: "I will pay order 7 back" }, { stall: true }], "Then I leave it as it is."]);
  const session = await createRunner({ agent: support(model) }).open();

  const run = session.run("Pay order 7 back.");
  await reached(run, "text-delta");
  expect(await session.interrupt()).toMatchObject({ accepted: true, partialText: "I will pay order 7 back" });

  const result = await session.resume({ input: "No, leave it." }).result;
  expect(result).toMatchObject({ status: "completed", text: "Then I leave it as it is." });

  const sent = model.requests[1]!.messages;
  expect(sent.map((message) => message.role)).toEqual(["user", "assistant", "user"]);
  expect(promptProblems(sent)).toEqual([]);
});
// endregion

// region clock
test("a refund that does not answer is left behind half a second after the stop", async () => {
  const clock = fakeClock();
  const model = scriptedModel([[{ call: "refund", args: { order: 7 } }]]);
  const session = await createRunner({ agent: support(model), clock }).open();

  await reached(session.run("Pay order 7 back."), "tool-start");
  const stopping = session.interrupt();
  await clock.advance(500);

  expect(await stopping).toMatchObject({ stopped: ["call_1"], late: ["call_1"] });
  expect(session.messages.at(-1)!.parts).toMatchObject([{ type: "result", outcome: "interrupted" }]);
});
// endregion

// region reached
/** Resolves at the first event of that type. Leaving the loop does not stop the run. */
async function reached(run: Run, type: string): Promise<void> {
  for await (const event of run) if (event.type === type) return;
  throw new Error(`The run ended without any ${type}.`);
}
// endregion
