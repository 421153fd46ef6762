// A tool: the model asks for it, the runtime checks the arguments, runs it, records the result and hands it back.
import { agent, createRunner, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

// region tool
const add = tool({
  name: "add",
  description: "Adds two numbers.",
  // Or any Standard Schema: z.object({ a: z.number(), b: z.number() }) works the same.
  input: jsonSchema<{ a: number; b: number }>({
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  }),
  execute: ({ a, b }) => ({ sum: a + b }),
});
// endregion

// A script instead of a provider: a turn is an answer of the model, or a function of the request.
const model = scriptedModel([
  [{ text: "Let me add them." }, { call: "add", args: { a: 19, b: 23 } }],
  ({ messages }) => {
    const [result] = messages.at(-1)!.parts;
    return `The tool says ${result?.type === "result" ? JSON.stringify(result.output) : "nothing"}.`;
  },
]);

const runner = createRunner({ agent: agent({ name: "clerk", model, tools: [add] }) });
const run = await runner.run("How much is 19 and 23?");

for await (const event of run) {
  if (event.type === "text-delta") console.log(event.text);
  if (event.type === "tool-start") console.log(`→ ${event.tool} ${JSON.stringify(event.args)}`);
  if (event.type === "tool-end") console.log(`← ${event.outcome} ${JSON.stringify(event.output)}`);
}
const result = await run.result;
console.log(result.status === "completed" ? `Output: ${result.output}` : result.status);
