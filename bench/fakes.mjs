// The models of the benchmarks, and hand-written loops around them. Belay and the floor get the same model. The length of the
// prompt decides the answer of a model: it has no state, so runs can go side by side.

import { setTimeout as sleep } from "node:timers/promises";
import { agent, createRunner, fromAiSdk, jsonSchema, memoryStore, tool } from "@belay/core";

const addSchema = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
  additionalProperties: false,
};

export const add = tool({
  name: "add",
  description: "Adds two numbers.",
  input: jsonSchema(addSchema),
  execute: async ({ a, b }) => a + b,
});

const turnOf = (messages) => (messages.length - 1) / 2;
const argsOf = (turn) => `{"a":${turn},"b":1}`;
const usage = { inputTokens: 10, outputTokens: 5 };

/** Calls `add` once a turn for `turns` turns, then says a word. An async generator, as one writes a native model. */
export function nativeToolModel(turns, latencyMs = 0) {
  return {
    id: "fake/native",
    async *stream({ messages }) {
      if (latencyMs > 0) await sleep(latencyMs);
      const turn = turnOf(messages);
      if (turn < turns) {
        yield { type: "call", id: `call_${turn}`, tool: "add", args: argsOf(turn) };
        yield { type: "finish", finish: "tool-calls", usage };
      } else {
        yield { type: "text", text: "Done." };
        yield { type: "finish", finish: "stop", usage };
      }
    },
  };
}

const sdkUsage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};

/** The same as a model of the AI SDK (v3): one plain ReadableStream a call, which holds all its parts from the start. */
export function sdkToolModel(turns, latencyMs = 0) {
  return {
    specificationVersion: "v3",
    provider: "fake",
    modelId: "sdk",
    supportedUrls: {},
    async doStream({ prompt }) {
      if (latencyMs > 0) await sleep(latencyMs);
      const turn = turnOf(prompt);
      const call = turn < turns;
      return {
        stream: new ReadableStream({
          start(controller) {
            controller.enqueue({ type: "stream-start", warnings: [] });
            if (call) {
              const toolCallId = `call_${turn}`;
              controller.enqueue({ type: "tool-call", toolCallId, toolName: "add", input: argsOf(turn) });
            } else {
              controller.enqueue({ type: "text-start", id: "1" });
              controller.enqueue({ type: "text-delta", id: "1", delta: "Done." });
              controller.enqueue({ type: "text-end", id: "1" });
            }
            const finishReason = { unified: call ? "tool-calls" : "stop", raw: undefined };
            controller.enqueue({ type: "finish", finishReason, usage: sdkUsage });
            controller.close();
          },
        }),
      };
    },
  };
}

/** Says `count` pieces of text. */
export function nativeTextModel(count) {
  return {
    id: "fake/native",
    async *stream() {
      for (let i = 0; i < count; i++) yield { type: "text", text: "word " };
      yield { type: "finish", finish: "stop", usage };
    },
  };
}

export function sdkTextModel(count) {
  return {
    specificationVersion: "v3",
    provider: "fake",
    modelId: "sdk",
    supportedUrls: {},
    async doStream() {
      let said = 0;
      return {
        stream: new ReadableStream({
          pull(controller) {
            if (said === 0) controller.enqueue({ type: "text-start", id: "1" });
            if (said++ < count) return controller.enqueue({ type: "text-delta", id: "1", delta: "word " });
            controller.enqueue({ type: "text-end", id: "1" });
            const finishReason = { unified: "stop", raw: undefined };
            controller.enqueue({ type: "finish", finishReason, usage: sdkUsage });
            controller.close();
          },
        }),
      };
    },
  };
}

const tools = [{ type: "function", name: "add", description: add.description, inputSchema: addSchema }];
const execute = { add: ({ a, b }) => Promise.resolve(a + b) };

/** The loop without anything that Belay adds, on a native model. */
export async function nativeLoop(model, input) {
  const { signal } = new AbortController();
  const messages = [{ role: "user", parts: [{ type: "text", text: input }] }];
  for (;;) {
    const calls = [];
    let text = "";
    for await (const event of model.stream({ messages, tools }, { signal })) {
      if (event.type === "text") text += event.text;
      else if (event.type === "call") calls.push({ ...event, args: JSON.parse(event.args) });
    }
    messages.push({ role: "assistant", parts: text === "" ? calls : [{ type: "text", text }, ...calls] });
    if (calls.length === 0) return text;
    const parts = [];
    for (const { id, tool, args } of calls) parts.push({ type: "result", id, tool, output: await execute[tool](args) });
    messages.push({ role: "tool", parts });
  }
}

/** The same on a model of the AI SDK. */
export async function sdkLoop(model, input) {
  const { signal: abortSignal } = new AbortController();
  const prompt = [{ role: "user", content: [{ type: "text", text: input }] }];
  for (;;) {
    const content = [];
    let text = "";
    const { stream } = await model.doStream({ prompt, tools, abortSignal });
    const reader = stream.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (value.type === "text-delta") text += value.delta;
      else if (value.type === "tool-call") {
        const { toolCallId, toolName } = value;
        content.push({ type: "tool-call", toolCallId, toolName, input: JSON.parse(value.input) });
      }
    }
    prompt.push({ role: "assistant", content: text === "" ? content : [{ type: "text", text }, ...content] });
    if (content.length === 0) return text;
    const results = [];
    for (const { toolCallId, toolName, input: args } of content) {
      const output = { type: "json", value: await execute[toolName](args) };
      results.push({ type: "tool-result", toolCallId, toolName, output });
    }
    prompt.push({ role: "tool", content: results });
  }
}

/** A runner on a memory store of its own, with nothing in it. */
export function runnerOn(model, { store = memoryStore(), tools: given = [] } = {}) {
  const native = "doStream" in model ? fromAiSdk(model) : model;
  return createRunner({ agent: agent({ name: "bench", model: native, tools: given, maxTurns: 10_000 }), store });
}
