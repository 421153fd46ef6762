// Agents one after the other, at once, and in rounds. Stopped in the middle, the workflow continues in its place: agents that have
// ended are read from the record, and do not run again.
import { agent, createRunner, loop, messageText, parallel, sequential } from "@belay/core";
import { scriptedModel, speak } from "@belay/core/testing";

/** Prints each call of its model. `says` makes the answer from the input of the agent. */
const worker = (name: string, says: (given: string) => string) => {
  const model = scriptedModel((request) => {
    console.log(`· ${name}`);
    const given = request.messages.find(({ role }) => role === "user")!;
    return speak(says(messageText(given)))(request);
  });
  return agent({ name, model });
};

const write = worker("write", () => "Belay holds the rope while your agents climb.");
const checkFacts = worker("check-facts", (text) => text);
const checkTone = worker("check-tone", () => "Shorter, please.");
const shorten = worker("shorten", (given) =>
  given.startsWith("[") ? "Belay holds the rope while agents climb." : "Belay holds the rope.",
);

// region workflow
const release = sequential({
  name: "release",
  agents: [
    write,
    parallel({ name: "reviews", agents: [checkFacts, checkTone] }), // both get what `write` gave
    loop({
      name: "polish",
      agents: [shorten], // gets the list of both reviews, then what the last round gave
      until: (text) => String(text).split(" ").length <= 4,
      maxIterations: 5,
    }),
  ],
});
// endregion

const runner = createRunner({ agent: release });
const session = await runner.open("release");

// region stop
const run = session.run("Write one sentence about Belay.");
for await (const event of run) {
  // In the second round, in the middle of its text.
  if (event.type === "text-delta" && event.runPath === "release/2:polish/1.0:shorten" && event.text === "holds ")
    await session.interrupt();
}
const stopped = await run.result;
// endregion

// region where
if (stopped.status === "interrupted") {
  console.log(`— stopped; of the last agent is kept: "${stopped.partialText}"`);
  const { data } = stopped.interrupt!;
  if (data.type === "workflow") console.log(`release is at its agent ${data.sequentialIndex}`);
  const inside = data.type === "workflow" ? data.interrupt?.data : undefined;
  if (inside?.type === "workflow") console.log(`polish has finished ${inside.loopIterations} round`);
}
// endregion

// region resume
console.log("— resumed");
const result = await session.resume().result;
if (result.status === "completed") console.log(result.output);
// endregion
