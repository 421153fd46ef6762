import {
  BaseLlm,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  LogLevel,
  Runner,
  StreamingMode,
  setLogLevel,
} from "@google/adk";
import { z } from "zod";
import { plan, work } from "./script.mjs";

setLogLevel?.(LogLevel?.ERROR ?? 3);

const rowsOf = (contents) =>
  contents.map(({ role, parts = [] }) => {
    const results = parts.flatMap(({ functionResponse }) => (functionResponse ? [functionResponse.id] : []));
    return {
      role: results.length > 0 ? "tool" : role === "model" ? "assistant" : "user",
      text: parts.map(({ text }) => text ?? "").join(""),
      calls: parts.flatMap(({ functionCall }) => (functionCall ? [functionCall.id] : [])),
      results,
    };
  });

class Script extends BaseLlm {
  constructor() {
    super({ model: "script" });
  }
  async connect() {
    throw new Error("There is no live connection.");
  }
  async *generateContentAsync({ contents }, stream, signal) {
    const next = plan(rowsOf(contents));
    if (next.call) {
      const functionCall = { id: `call_${contents.length}`, name: next.call, args: next.args };
      yield { content: { role: "model", parts: [{ functionCall }] } };
      return;
    }
    let text = "";
    for await (const word of next.words(signal)) {
      text += word;
      if (stream) yield { content: { role: "model", parts: [{ text: word }] }, partial: true };
    }
    yield { content: { role: "model", parts: [{ text }] }, turnComplete: true };
  }
}

export function open({ file, approval = false } = {}) {
  if (file) throw new Error("DatabaseSessionService needs a native driver of MikroORM");
  const parameters = z.object({ text: z.string().optional() });
  const tools = Object.entries(work).map(([name, execute]) => {
    const requireConfirmation = approval && name === "pay";
    return new FunctionTool({ name, description: name, parameters, execute, requireConfirmation });
  });
  const agent = new LlmAgent({ name: "a", model: new Script(), tools });
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: "a", agent, sessionService });
  const key = (id) => ({ appName: "a", userId: "u", sessionId: id });
  const made = new Set();
  async function session(id) {
    if (!made.has(id)) await sessionService.createSession(key(id));
    made.add(id);
    return id;
  }
  return {
    runner,
    session,
    async say(id, text, { signal, onText } = {}) {
      const sessionId = await session(id);
      const newMessage = { role: "user", parts: [{ text }] };
      const runConfig = { streamingMode: onText ? StreamingMode.SSE : StreamingMode.NONE, maxLlmCalls: 2000 };
      try {
        for await (const event of runner.runAsync({
          userId: "u",
          sessionId,
          newMessage,
          runConfig,
          abortSignal: signal,
        })) {
          if (event.errorMessage && !signal?.aborted) throw new Error(event.errorMessage);
          if (event.partial) onText?.((event.content?.parts ?? []).map((part) => part.text ?? "").join(""));
        }
        return signal?.aborted ? "stopped" : "completed";
      } catch (error) {
        if (signal?.aborted) return "stopped";
        throw error;
      }
    },
    history: async (id) =>
      rowsOf((await sessionService.getSession(key(id))).events.flatMap(({ content }) => (content ? [content] : []))),
  };
}

/** Two messages confirm the same call. */
export async function race() {
  const { runner, session } = open({ approval: true });
  const sessionId = await session("t");
  let asked;
  for await (const event of runner.runAsync({
    userId: "u",
    sessionId,
    newMessage: { role: "user", parts: [{ text: "pay" }] },
  }))
    for (const { functionCall } of event.content?.parts ?? [])
      if (functionCall?.name === "adk_request_confirmation") asked = functionCall.id;
  if (asked === undefined) throw new Error("no confirmation was asked for");
  const functionResponse = { id: asked, name: "adk_request_confirmation", response: { confirmed: true } };
  const both = [0, 1].map(async () => {
    const newMessage = { role: "user", parts: [{ functionResponse }] };
    for await (const _ of runner.runAsync({ userId: "u", sessionId, newMessage }));
    return "completed";
  });
  return (await Promise.allSettled(both)).map(({ value, reason }) => value ?? reason.message);
}
