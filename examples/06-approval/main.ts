// A call that a person must approve: the run pauses before it, and the answer decides whether it runs.
import { agent, approve, createRunner, humanApproval, jsonSchema, reject, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

// region tool
const refund = tool({
  name: "refund",
  description: "Pays money back to a customer.",
  input: jsonSchema<{ order: string; euros: number }>({
    type: "object",
    properties: { order: { type: "string" }, euros: { type: "number", minimum: 1 } },
    required: ["order", "euros"],
  }),
  // Small sums run at once. For the others a person sees this question, and the call waits.
  needsApproval: ({ order, euros }) => euros > 50 && humanApproval(`Pay ${euros} € back for order ${order}?`),
  execute: ({ order, euros }) => `${euros} € paid for ${order}`,
});
// endregion

const model = scriptedModel([
  [
    { call: "refund", args: { order: "A", euros: 20 } },
    { call: "refund", args: { order: "B", euros: 900 } },
    { call: "refund", args: { order: "C", euros: 400 } },
  ],
  // The model reads the outcome of each call, and the reason for the call that did not run.
  ({ messages }) =>
    messages
      .at(-1)!
      .parts.map((part) => (part.type === "result" ? `${part.output}\n` : ""))
      .join(""),
]);
const runner = createRunner({ agent: agent({ name: "support", model, tools: [refund] }) });
const session = await runner.open("complaints");

const run = session.run("Refund A, B and C.");
for await (const event of run) {
  if (event.type === "tool-end") console.log(`← ${event.output}`);
}
console.log(`— ${(await run.result).status}: the thread is ${session.state}, by a ${session.pauseType}`);

// region inbox
for (const { reason, tool, args } of (await runner.inbox()).items)
  console.log(`? ${reason}  (${tool} ${JSON.stringify(args)})`);
// endregion
const [b, c] = (await runner.inbox()).items;

// An answer is checked before it counts. This one is refused, and the request stays open.
await runner.answer(b!.id, approve({ args: { order: "B" } })).catch((error) => console.log(`✗ ${error.code}`));

// region answer
// `by` comes from your own login. An approved call runs at once; `resume()` calls the model.
const { open } = await runner.answer(b!.id, approve({ args: { order: "B", euros: 90 }, by: "anna" }));
console.log(`— one answered, ${open} open, still ${session.state}`);
await runner.answer(c!.id, reject("order C was never sent back", { by: "ben" }));

console.log("— all answered; the model reads this");
for await (const event of session.resume()) {
  if (event.type === "text-delta") process.stdout.write(event.text);
}
// endregion
