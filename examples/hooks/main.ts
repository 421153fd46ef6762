// Hooks: code around what agents do. And two sessions that read each other's replies.
import { agent, createRunner, hub, jsonSchema, messageText, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

const book = tool({
  name: "book",
  description: "Books a table.",
  input: jsonSchema<{ seats: number }>({
    type: "object",
    properties: { seats: { type: "number" } },
    required: ["seats"],
  }),
  execute: ({ seats }) => `a table for ${seats}, card 4111 1111`,
});

// region hooks
const host = agent({
  name: "host",
  model: scriptedModel([
    [{ call: "book", args: { seats: 40 }, id: "c1" }],
    "You have a table.",
    [{ text: "Once upon a time " }, { stall: true }],
  ]),
  tools: [book],
  hooks: {
    // Before rules and people look at the call: they judge the returned arguments.
    beforeTool: ({ args }) => ({ args: { seats: Math.min(8, (args as { seats: number }).seats) } }),
    // Before the result is recorded.
    afterTool: ({ output }) => ({ output: String(output).replace(/card .*/, "card …") }),
    // After a stop: for the person, and for no model.
    onInterrupt: ({ interrupt }) => `I have stopped (${interrupt.reason}). What would you like instead?`,
  },
});

const guest = agent({ name: "guest", model: scriptedModel("Lovely.") });

const runner = createRunner({
  agents: [host, guest],
  // Around every agent's own.
  hooks: {
    beforeModel: ({ agentName, turn, request }) =>
      console.log(`${agentName}, turn ${turn}: ${request.messages.length} messages`),
    afterReply: ({ agentName, text }) => console.log(`${agentName}: ${text}`),
  },
});
// endregion

// region hub
const session = await runner.open("table", { agent: "host" });
const other = await runner.open("chair", { agent: "guest" });
const room = hub([session, other]);

await session.run("A table for forty, please.").result;
await room.settled();
await other.observe("(It is raining.)");
await other.run("Well?").result;
await room.settled();
room.close();
// endregion

const run = session.run("Tell me a story.");
for await (const event of run) {
  if (event.type === "text-delta") void session.interrupt({ reason: "too long" });
}
const { parts } = session.messages[1]!;
console.log("asked and ran:", JSON.stringify(parts.map((part) => part.type === "call" && [part.args, part.ranArgs])));
for (const each of [session, other]) {
  console.log(`— ${each.threadId}`);
  for (const message of each.messages) console.log(`${message.role}: ${messageText(message) || "…"}`);
}
