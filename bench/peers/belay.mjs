import { DatabaseSync } from "node:sqlite";
import { agent, approve, createRunner, jsonSchema, memoryStore, tool } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { plan, work } from "./script.mjs";

const rowsOf = (messages) =>
  messages.map(({ role, parts }) => ({
    role,
    text: parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
    calls: parts.filter(({ type }) => type === "call").map(({ id, callId }) => callId ?? id),
    results: parts.filter(({ type }) => type === "result").map(({ id, callId }) => callId ?? id),
  }));

const model = {
  id: "script",
  async *stream({ messages }, { signal }) {
    const next = plan(rowsOf(messages));
    const usage = { inputTokens: 1, outputTokens: 1 };
    if (next.call)
      yield { type: "call", id: `call_${messages.length}`, tool: next.call, args: JSON.stringify(next.args) };
    else for await (const text of next.words(signal)) yield { type: "text", text };
    yield { type: "finish", finish: next.call ? "tool-calls" : "stop", usage };
  },
};

const input = jsonSchema({ type: "object", properties: { text: { type: "string" } } });
const toolsOf = (approval) =>
  Object.entries(work).map(([name, execute]) =>
    tool({ name, description: name, input, execute, ...(approval && name === "pay" ? { needsApproval: true } : {}) }),
  );

export function open({ file, approval = false } = {}) {
  const store = file ? sqliteStore(new DatabaseSync(file)) : memoryStore();
  const runner = createRunner({ agent: agent({ name: "a", model, tools: toolsOf(approval), maxTurns: 1000 }), store });
  const sessions = new Map();
  const session = async (id) => sessions.get(id) ?? sessions.set(id, await runner.open(id)).get(id);
  const follow = async (run, onText) => {
    if (onText) for await (const event of run) if (event.type === "text-delta") onText(event.text);
    return (await run.result).status;
  };
  return {
    runner,
    async say(id, text, { signal, onText } = {}) {
      const thread = await session(id);
      const paused = thread.state === "paused";
      const run = paused ? thread.resume({ input: text }) : thread.run(text);
      let receipt;
      signal?.addEventListener("abort", () => (receipt = thread.interrupt()), { once: true });
      const status = await follow(run, onText);
      await receipt;
      return status;
    },
    resume: async (id) => follow((await session(id)).resume()),
    history: async (id) => rowsOf((await session(id)).messages),
  };
}

/** Two runners on one file answer and resume the same pause at once. */
export async function race(file) {
  const first = open({ file, approval: true });
  await first.say("t", "pay");
  const second = open({ file, approval: true });
  const both = [first, second].map(async ({ runner }) => {
    const [item] = (await runner.inbox()).items;
    await runner.answer(item.id, approve());
    return (await (await runner.resume("t")).result).status;
  });
  return (await Promise.allSettled(both)).map(({ value, reason }) => value ?? reason.code ?? reason.message);
}
