// Reads the past of a thread, replaces an earlier input, and lists the effects since. The first thread stays as it is.
import { agent, createRunner, jsonSchema, messageText, type Session, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

const book = tool({
  name: "book",
  description: "Books a hut.",
  input: jsonSchema<{ hut: string }>({ type: "object", properties: { hut: { type: "string" } }, required: ["hut"] }),
  execute: ({ hut }) => `booked: ${hut}`,
});
const model = scriptedModel([
  "The Höllental is steep; the Reintal is long.",
  [{ call: "book", args: { hut: "Höllentalangerhütte" } }],
  "The Höllentalangerhütte is booked.",
  "Then the Reintal, in two days. Shall I book a hut?",
]);
const runner = createRunner({ agent: agent({ name: "guide", model, tools: [book] }) });

const session = await runner.open("zugspitze");
await session.run("How do I get up the Zugspitze?").result;
await session.run("The steep way. Book a hut.").result;

console.log("— the thread, as one can look back at it");
for (const { seq, kind, text } of await runner.history("zugspitze")) console.log(`${seq} ${kind}: ${text}`);

// region edit
const points = await runner.history("zugspitze");
const said = points.findLast(({ kind }) => kind === "input")!;

const { session: edited, effects } = await runner.fork("zugspitze", { before: said.id! });

console.log("— done since, and not undone by going back");
for (const { tool, args, outcome } of effects) console.log(`${tool}(${JSON.stringify(args)}): ${outcome}`);

await edited.run("The long way.").result;
// endregion

console.log("— the fork");
print(edited);
console.log("— and the first thread");
print(session);

function print({ messages }: Session): void {
  for (const message of messages)
    if (messageText(message) !== "") console.log(`${message.role}: ${messageText(message)}`);
}
