// createReactAgent with a checkpointer. SqliteSaver gets node:sqlite, the same driver as Belay, through the two calls of
// better-sqlite3 that it needs besides: better-sqlite3 has to be compiled here.
import { DatabaseSync } from "node:sqlite";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { z } from "zod";
import { plan, work } from "./script.mjs";

const ROLES = { human: "user", ai: "assistant", tool: "tool", system: "system" };
const rowsOf = (messages) =>
  messages.map((message) => ({
    role: ROLES[message.getType()],
    text: message.text,
    calls: (message.tool_calls ?? []).map(({ id }) => id),
    results: message.tool_call_id ? [message.tool_call_id] : [],
  }));

class Script extends BaseChatModel {
  _llmType() {
    return "script";
  }
  bindTools() {
    return this;
  }
  async _generate(messages, options, manager) {
    let all;
    for await (const { message } of this._streamResponseChunks(messages, options, manager))
      all = all === undefined ? message : all.concat(message);
    const message = new AIMessage({ content: all.content, tool_calls: all.tool_calls });
    return { generations: [{ text: message.text, message }] };
  }
  async *_streamResponseChunks(messages, options, manager) {
    const next = plan(rowsOf(messages));
    if (next.call) {
      const call = { id: `call_${messages.length}`, name: next.call, args: JSON.stringify(next.args), index: 0 };
      const message = new AIMessageChunk({ content: "", tool_call_chunks: [{ ...call, type: "tool_call_chunk" }] });
      yield new ChatGenerationChunk({ message, text: "" });
      return;
    }
    for await (const text of next.words(options.signal)) {
      const chunk = new ChatGenerationChunk({ message: new AIMessageChunk({ content: text }), text });
      yield chunk;
      await manager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

function driver(file) {
  const db = new DatabaseSync(file);
  const pragma = (text) => db.exec(`PRAGMA ${text}`);
  const transaction =
    (body) =>
    (...args) => {
      db.exec("BEGIN");
      try {
        const value = body(...args);
        db.exec("COMMIT");
        return value;
      } catch (error) {
        db.exec("ROLLBACK");
        throw error;
      }
    };
  // better-sqlite3 binds undefined as NULL.
  const bound = (args) => args.map((each) => each ?? null);
  const prepare = (sql) => {
    const made = db.prepare(sql);
    const call =
      (name) =>
      (...args) =>
        made[name](...bound(args));
    return { run: call("run"), get: call("get"), all: call("all") };
  };
  return { pragma, transaction, exec: (sql) => db.exec(sql), prepare };
}

export function open({ file, approval = false } = {}) {
  const schema = z.object({ text: z.string().optional() });
  const tools = Object.entries(work).map(([name, execute]) =>
    tool(
      async (args) => {
        if (approval && name === "pay") interrupt("Pay?");
        return execute(args);
      },
      { name, description: name, schema },
    ),
  );
  const checkpointer = file ? new SqliteSaver(driver(file)) : new MemorySaver();
  const graph = createReactAgent({ llm: new Script({}), tools, checkpointer });
  const config = (id) => ({ configurable: { thread_id: id }, recursionLimit: 10_000 });
  return {
    graph,
    config,
    async say(id, text, { signal, onText } = {}) {
      const input = { messages: [new HumanMessage(text)] };
      try {
        if (onText === undefined) await graph.invoke(input, { ...config(id), signal });
        else
          for await (const [message] of await graph.stream(input, { ...config(id), signal, streamMode: "messages" }))
            if (message.getType() === "ai" && message.text !== "") onText(message.text);
        return "completed";
      } catch (error) {
        if (signal?.aborted) return "stopped";
        throw error;
      }
    },
    async resume(id) {
      await graph.invoke(null, config(id));
      return "completed";
    },
    history: async (id) => rowsOf((await graph.getState(config(id))).values.messages ?? []),
  };
}

export async function race(file) {
  const first = open({ file, approval: true });
  await first.say("t", "pay");
  const both = [first, open({ file, approval: true })].map(({ graph, config }) =>
    graph.invoke(new Command({ resume: true }), config("t")),
  );
  return (await Promise.allSettled(both)).map(({ status, reason }) =>
    status === "fulfilled" ? "completed" : reason.message,
  );
}
