// Two agents in a hub. One of them is stopped: the other one observes the kept text and the words after the stop.
import { agent, createRunner, hub, messageText } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

// region hub
const friday = agent({
  name: "Friday",
  model: scriptedModel([[{ text: ["The answer ", "is "] }, { stall: true }], "Four."]),
  hooks: { onInterrupt: () => ({ text: "I stop here. What would you like?", remember: true }) },
});
const monday = agent({ name: "Monday", model: scriptedModel(["Friday did not finish."]) });

const runner = createRunner({ agents: [friday, monday] });
const speaker = await runner.open("friday", { agent: "Friday" });
const listener = await runner.open("monday", { agent: "Monday" });
const room = hub([speaker, listener]);

const run = speaker.run("What is 2 + 2?");
for await (const event of run) if (event.type === "text-delta" && event.text === "is ") await speaker.interrupt();
await room.settled();
room.close();

await listener.run("What did Friday say?").result;
for (const message of listener.messages) console.log(`${message.role}: ${messageText(message)}`);
// endregion

// region remembered
await speaker.run("Just the number.").result;
for (const message of speaker.messages) console.log(`${message.role}: ${messageText(message)}`);
// endregion
