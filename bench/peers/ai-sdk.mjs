// The AI SDK keeps no history: the program does. As its guide on message persistence says, the program saves the messages
// before and after each request, and what onAbort hands it after a stop.
import { DatabaseSync } from "node:sqlite";
import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { aiSdkModel as model, work } from "./script.mjs";

const toolsOf = (approval) =>
  Object.fromEntries(
    Object.entries(work).map(([name, execute]) => {
      const inputSchema = z.object({ text: z.string().optional() });
      return [name, tool({ description: name, inputSchema, execute, needsApproval: approval && name === "pay" })];
    }),
  );

const rowsOf = (messages) =>
  messages.map(({ role, content }) => {
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const ids = (type) => parts.filter((part) => part.type === type).map(({ toolCallId }) => toolCallId);
    const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    return { role, text, calls: ids("tool-call"), results: ids("tool-result") };
  });

export function open({ file, approval = false } = {}) {
  const db = file && new DatabaseSync(file);
  db?.exec("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS chat (id TEXT PRIMARY KEY, messages TEXT)");
  const chats = new Map();
  const load = (id) => {
    const kept =
      chats.get(id) ?? JSON.parse(db?.prepare("SELECT messages FROM chat WHERE id = ?").get(id)?.messages ?? "[]");
    chats.set(id, kept);
    return kept;
  };
  const save = (id) => db?.prepare("INSERT OR REPLACE INTO chat VALUES (?, ?)").run(id, JSON.stringify(chats.get(id)));
  const tools = toolsOf(approval);
  async function ask(id, messages, { signal, onText } = {}) {
    let aborted;
    const result = streamText({
      model,
      messages,
      tools,
      stopWhen: stepCountIs(1000),
      abortSignal: signal,
      onAbort: ({ steps }) => (aborted = steps.flatMap((step) => step.response.messages)),
      onError: () => {},
    });
    for await (const text of result.textStream) onText?.(text);
    const added = aborted ?? (await result.response).messages;
    chats.set(id, [...messages, ...added]);
    save(id);
    return aborted ? "stopped" : "completed";
  }
  const say = (id, text, options) => {
    const messages = [...load(id), { role: "user", content: text }];
    chats.set(id, messages);
    save(id);
    return ask(id, messages, options);
  };
  return { say, ask, history: async (id) => rowsOf(load(id)), messages: load, resume: (id) => ask(id, load(id)) };
}

/** Two requests with the same approved messages. */
export async function race(file) {
  const first = open({ file, approval: true });
  await first.say("t", "pay");
  const { approvalId } = first
    .messages("t")
    .at(-1)
    .content.find(({ type }) => type === "tool-approval-request");
  const answer = { role: "tool", content: [{ type: "tool-approval-response", approvalId, approved: true }] };
  const messages = [...first.messages("t"), answer];
  const both = [first, open({ file, approval: true })].map((each) => each.ask("t", messages));
  return (await Promise.allSettled(both)).map(({ value, reason }) => value ?? reason.message);
}
