// A desk hands the conversation over to another agent: the same history, other instructions and tools. After a stop,
// `resume()` continues with that agent; the next run begins at the desk again.
import { agent, approve, createRunner, jsonSchema, messageText, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

const refund = tool({
  name: "refund",
  description: "Pays an order back.",
  input: jsonSchema<{ order: string }>({ type: "object", properties: { order: { type: "string" } } }),
  needsApproval: true,
  execute: ({ order }) => `order ${order} is paid back`,
});

// region family
const billing = agent({
  name: "billing",
  instructions: "You pay back what was not delivered.",
  tools: [refund],
  model: scriptedModel([[{ call: "refund", args: { order: "7" } }], "Order 7 is paid back."]),
});

const desk = agent({
  name: "desk",
  instructions: "Find the right desk, and hand over.",
  subAgents: [billing], // each gets the tool transfer_to_agent, to hand over to the others
  model: scriptedModel([
    [{ call: "transfer_to_agent", args: { agent_name: "billing" } }],
    "You are welcome. Anything else?",
  ]),
});
// endregion

const session = await createRunner({ agent: desk }).open();

// region hand-over
const first = session.run("Order 7 never came.");
for await (const event of first) {
  if (event.type === "turn-start") console.log(`· ${event.agentName}`);
  if (event.type === "action" && event.action.transferToAgent) console.log("  hands over");
}
const [request] = session.interrupts;
console.log(`— ${session.pauseType}: ${request!.reason}`);

// The answer reaches the one that asked. The next input is a run of its own, and begins at the desk.
await session.resume({ answers: { [request!.id]: approve({ by: "ann" }) } }).result;
await session.run("Thank you!").result;
// endregion

for (const message of session.messages) {
  const text = messageText(message);
  if (text !== "") console.log(`${message.role}: ${text}`);
}
