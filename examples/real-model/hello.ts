import { anthropic } from "@ai-sdk/anthropic";
import { agent, createRunner, fromAiSdk } from "@belay/core";

const model = fromAiSdk(anthropic("claude-sonnet-4-5"));
const runner = createRunner({ agent: agent({ name: "greeter", model }) });

const run = await runner.run("Say hello.");
for await (const event of run) {
  if (event.type === "text-delta") console.log(event.text);
}
const { status } = await run.result;
console.log(`(${status})`);
