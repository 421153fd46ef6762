import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { noopLogger } from "@mastra/core/logger";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { z } from "zod";
import { aiSdkModel as model, work } from "./script.mjs";

export function open({ file, approval = false } = {}) {
  const tools = Object.fromEntries(
    Object.entries(work).map(([name, execute]) => {
      const inputSchema = z.object({ text: z.string().optional() });
      const requireApproval = approval && name === "pay";
      return [name, createTool({ id: name, description: name, inputSchema, execute, requireApproval })];
    }),
  );
  const storage = file ? new LibSQLStore({ id: "s", url: `file:${file}` }) : new InMemoryStore();
  const memory = new Memory({ options: { lastMessages: 1000 } });
  const agent = new Agent({ id: "a", name: "a", instructions: "Follow the script.", model, tools, memory });
  new Mastra({ agents: { a: agent }, storage, logger: noopLogger });
  const rowsOf = (messages) =>
    messages.map(({ role, content }) => {
      const parts = content.parts ?? [];
      const calls = parts.flatMap(({ toolInvocation }) => (toolInvocation ? [toolInvocation] : []));
      return {
        role,
        text: parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
        calls: calls.map(({ toolCallId }) => toolCallId),
        results: calls.filter(({ state }) => state === "result").map(({ toolCallId }) => toolCallId),
      };
    });
  const options = (id) => ({ memory: { thread: id, resource: "r" }, maxSteps: 1000 });
  return {
    agent,
    options,
    async say(id, text, { signal, onText } = {}) {
      try {
        const stream = await agent.stream(text, { ...options(id), abortSignal: signal });
        for await (const delta of stream.textStream) onText?.(delta);
        await stream.finishReason;
        return signal?.aborted ? "stopped" : "completed";
      } catch (error) {
        if (signal?.aborted) return "stopped";
        throw error;
      }
    },
    history: async (id) => {
      const { messages } = await memory.recall({ threadId: id, resourceId: "r" });
      return rowsOf(messages);
    },
  };
}

export async function race(file) {
  const first = open({ file, approval: true });
  const stream = await first.agent.stream("pay", first.options("t"));
  let toolCallId;
  for await (const chunk of stream.fullStream)
    if (chunk.type === "tool-call-approval") toolCallId = chunk.payload.toolCallId;
  const both = [first, open({ file, approval: true })].map(async ({ agent }) => {
    const resumed = await agent.approveToolCall({ runId: stream.runId, toolCallId });
    for await (const _ of resumed.textStream);
    return "completed";
  });
  return (await Promise.allSettled(both)).map(({ value, reason }) => value ?? reason.message);
}
