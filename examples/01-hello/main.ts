import { agent, createRunner } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

const model = scriptedModel("Hello. Stop me anywhere, and I continue from there.");
const runner = createRunner({ agent: agent({ name: "greeter", model }) });

const run = await runner.run("Say hello.");
for await (const event of run) {
  if (event.type === "text-delta") console.log(event.text);
}
const { status } = await run.result;
console.log(`(${status})`);
