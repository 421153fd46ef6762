// Values that all agents of a thread share: an agent stores its output under a key, and later ones read it.
import { agent, createRunner, defineAgent, jsonSchema, sequential, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

// region values
const writer = agent({ name: "writer", model: scriptedModel("Belay holds the rope."), outputKey: "draft" });

const count = tool({
  name: "count",
  description: "Counts the words of the draft.",
  input: jsonSchema<object>({ type: "object" }),
  execute: (_args, ctx) => {
    const words = String(ctx.values.draft).split(" ").length;
    ctx.setValue("words", words);
    return words;
  },
});

const critic = agent({
  name: "critic",
  model: scriptedModel([[{ call: "count", args: {} }], "Short and good."]),
  tools: [count],
  outputKey: "review",
});

const print = defineAgent({
  name: "print",
  run: ({ values }) => `${String(values.draft)} (${String(values.words)} words) — ${String(values.review)}`,
});
// endregion

// region run
const runner = createRunner({ agent: sequential({ name: "paper", agents: [writer, critic, print] }) });
const session = await runner.open("paper");
const result = await session.run("Write about belays.").result;
if (result.status === "completed") console.log(result.output);
console.log((await runner.look("paper"))?.values);
// endregion
