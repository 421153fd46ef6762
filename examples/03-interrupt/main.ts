// Stops a run in mid-answer, resumes it with a new instruction, stops it again, and continues it at the cut.
import { agent, createRunner, type Run } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

const model = scriptedModel(
  [
    [{ text: ["A belay has", " a rope,", " a device", " and a second person."] }],
    [{ text: ["The device", " brakes the rope,", " so that a fall", " costs nothing."] }],
    // The answer to a request that continues a cut one.
    [{ text: [" so that a fall", " costs nothing."] }],
  ],
  { delayMs: 20 },
);
const runner = createRunner({ agent: agent({ name: "guide", model }) });

// region stop
const session = await runner.open("climbing");
const run = session.run("What is a belay?");

for await (const event of run) {
  if (event.type !== "text-delta") continue;
  process.stdout.write(event.text);
  if (event.text.includes("rope")) {
    const receipt = await session.interrupt();
    console.log(`\n— stopped (${session.state}, ${session.pauseType}); kept: "${receipt.partialText}"`);
  }
}
// endregion

// region resume
console.log("— resumed with input: the model reasons again and sees its cut answer");
await print(session.resume({ input: "Only the device, please." }), "brakes the rope");

console.log("— resumed without input: the answer continues at the cut");
await print(session.resume());
// endregion

console.log("— the thread, as it stands");
for (const message of session.messages) {
  const text = message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  console.log(`${message.role}: ${text}${message.interrupted ? " (interrupted)" : ""}`);
}

/** Prints the text of the run, and stops it after `until`. */
async function print(run: Run, until?: string): Promise<void> {
  for await (const event of run) {
    if (event.type !== "text-delta") continue;
    process.stdout.write(event.text);
    if (until !== undefined && event.text.includes(until)) await session.interrupt();
  }
  console.log(` [${(await run.result).status}]`);
}
