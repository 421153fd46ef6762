// A run of four texts of 1 KB: a question, a call of a tool, its result and an answer.

import { jsonSchema, tool } from "@belay/core";
import { text } from "./sqlite.mjs";

export const size = 1024;
const usage = { inputTokens: 10, outputTokens: 5 };

export const echo = tool({
  name: "echo",
  description: "Says something else.",
  input: jsonSchema({ type: "object", properties: { text: { type: "string" } }, required: ["text"] }),
  execute: async (_args, { callId }) => text(size, callId),
});

/** One call, then an answer: a question is the last message, or a result is. */
export const echoModel = {
  id: "fake/native",
  async *stream({ messages }) {
    const seed = messages.length;
    if (messages.at(-1).role === "user") {
      yield { type: "call", id: `call_${seed}`, tool: "echo", args: JSON.stringify({ text: text(size - 11, seed) }) };
      yield { type: "finish", finish: "tool-calls", usage };
    } else {
      yield { type: "text", text: text(size, seed) };
      yield { type: "finish", finish: "stop", usage };
    }
  },
};

export async function completed(run) {
  const { status } = await run.result;
  if (status !== "completed") throw new Error(`The run ended ${status}.`);
}
