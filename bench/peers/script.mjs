// One model and one set of tools for all peers. The model is a pure function of its prompt: the last input names a plan, and
// the number of tool results since then says how far the plan is.
import { appendFileSync } from "node:fs";
import { setImmediate as macrotask, setTimeout as sleep } from "node:timers/promises";

/** Every prompt that the model got, as `{ role, text, calls, results }` rows. */
export const prompts = [];

/** @param {{ role: string, text: string, calls: string[], results: string[] }[]} prompt */
export function plan(prompt) {
  prompts.push(prompt);
  if (prompts.length > 50) prompts.shift();
  const last = prompt.findLastIndex(({ role, text }) => role === "user" && text !== "");
  const [verb, count] = (prompt[last]?.text ?? "").split(" ");
  const results = prompt.slice(last).reduce((sum, row) => sum + row.results.length, 0);
  const text = (words) => ({ words: () => words });
  if (verb === "tools") return results < Number(count) ? { call: "echo", args: { text: "x" } } : text(["done"]);
  if (verb === "chunks") return { words: () => Array.from({ length: Number(count) }, () => "word ") };
  if (verb === "talk") return { words: endless };
  if (verb === "deaf") return results === 0 ? { call: "deaf", args: {} } : text(["done"]);
  if (verb === "pay") {
    if (results === 0) return { call: "pay", args: {} };
    if (process.env.PEERS_CRASH === "1") process.kill(process.pid, "SIGKILL");
    return text(["done"]);
  }
  return text(["ok"]);
}

async function* endless(signal) {
  for (;;) {
    await macrotask();
    signal?.throwIfAborted();
    yield "word ";
  }
}

export const deafMs = 1500;
/** The tools. `deaf` ignores its signal; `pay` has an effect that can be counted. */
export const work = {
  echo: async ({ text }) => text,
  deaf: async () => {
    await sleep(deafMs);
    return "late";
  },
  pay: async () => {
    appendFileSync(process.env.PEERS_PAID, "paid\n");
    return "paid";
  },
};

/** Returns the first reason why a provider would refuse a prompt, or nothing. */
export function problemOf(prompt) {
  const open = new Set();
  for (const { role, calls, results } of prompt) {
    if (open.size > 0 && role !== "tool" && results.length === 0) return `no result for ${open.size} call`;
    // A row can hold a call and its result: some libraries store them together.
    for (const id of calls) open.add(id);
    for (const id of results) if (!open.delete(id)) return "a result without a call";
  }
  return open.size > 0 ? `no result for ${open.size} call` : undefined;
}

/** A model of the AI SDK (v3) that plays the plan; the AI SDK and Mastra take it. */
export const aiSdkModel = {
  specificationVersion: "v3",
  provider: "script",
  modelId: "script",
  supportedUrls: {},
  async doGenerate() {
    throw new Error("This model streams only.");
  },
  async doStream({ prompt, abortSignal }) {
    const rows = prompt.map(({ role, content }) => {
      const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
      const of = (type) => parts.filter((part) => part.type === type);
      return {
        role,
        text: of("text").map((part) => part.text).join(""), // biome-ignore format: one line reads better
        calls: of("tool-call").map(({ toolCallId }) => toolCallId),
        results: of("tool-result").map(({ toolCallId }) => toolCallId),
      };
    });
    const next = plan(rows);
    async function* parts() {
      yield { type: "stream-start", warnings: [] };
      if (next.call) {
        const toolCallId = `call_${prompt.length}`;
        yield { type: "tool-call", toolCallId, toolName: next.call, input: JSON.stringify(next.args) };
      } else {
        yield { type: "text-start", id: "1" };
        for await (const delta of next.words(abortSignal)) yield { type: "text-delta", id: "1", delta };
        yield { type: "text-end", id: "1" };
      }
      const usage = {
        inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 1, text: 1, reasoning: undefined },
      };
      const unified = next.call ? "tool-calls" : "stop";
      yield { type: "finish", usage, finishReason: { unified, raw: unified } };
    }
    return { stream: ReadableStream.from(parts()) };
  },
};
