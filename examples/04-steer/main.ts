// Steers a run without stopping it, enqueues the next input, and withdraws a steer.
import { agent, createRunner, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

let arrived: () => void = () => {};
const halfway = new Promise<void>((resolve) => (arrived = resolve));
let open: () => void = () => {};
const gate = new Promise<void>((resolve) => (open = resolve));

const climb = tool({
  name: "climb",
  description: "Climbs a pitch.",
  input: jsonSchema<{ pitch: number }>({ type: "object", properties: { pitch: { type: "number" } } }),
  async execute({ pitch }) {
    arrived();
    await gate;
    return `pitch ${pitch} is climbed`;
  },
});

const model = scriptedModel([
  [{ text: "I climb. " }, { call: "climb", args: { pitch: 1 } }],
  "Up here, and I looked at the weather: it will rain.",
  "Then we go down.",
]);
const session = await createRunner({ agent: agent({ name: "leader", model, tools: [climb] }) }).open("wall");

// region steer
const run = session.run("Climb the first pitch.");
await halfway;

await session.steer("Look at the weather when you are up.");
const { id } = await session.steer("Sing.");
await session.withdraw(id);
await session.enqueue("Down, please.", { id: "request-17" });
await session.enqueue("Down, please.", { id: "request-17" }); // the same id again: sent once
// endregion

open();
const first = await run.result;
console.log(`— the first run is ${first.status}, in segment ${first.segment}: nothing was stopped`);

for await (const event of session.events()) {
  if (event.type === "input-queued") console.log(`  ${event.kind} waits`);
  if (event.type === "input-consumed") console.log(`  ${event.kind} consumed`);
  if (event.type === "message" && event.message.role !== "tool") {
    const text = event.message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    console.log(`${event.message.role}: ${text}`);
    if (text === "Then we go down.") break;
  }
}
