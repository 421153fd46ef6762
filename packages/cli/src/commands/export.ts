// belay export: a thread as a page to keep or to hand on, in Markdown; or everything about it, as JSON.

import { writeFileSync } from "node:fs";
import { type Fact, type Message, messageText, type Part } from "@belay/core";
import { allThreads } from "../all-threads.ts";
import { writing } from "../data/folders.ts";
import { readNote } from "../data/thread-notes.ts";
import { factsOf } from "../facts.ts";
import { EXIT } from "../headless/exit-codes.ts";
import { writeJson } from "../headless/write-json.ts";
import { outputText } from "../output-text.ts";
import { sanitize } from "../terminal/sanitize.ts";
import type { Texts } from "../texts/texts.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { type Decided, decidedIn, howDecided } from "./decided.ts";
import { openDesk } from "./desk.ts";
import { findId } from "./find.ts";

export interface ExportCommand extends CommandOptions {
  readonly thread: string;
  readonly format: "markdown" | "json";
  readonly output?: string;
}

export async function exportThread(options: ExportCommand, io: CommandIo): Promise<number> {
  const desk = await openDesk(options);
  try {
    const rows = await allThreads(desk.runner);
    const threadId = findId(
      "thread",
      rows.map((row) => row.threadId),
      options.thread,
    );
    const facts = await factsOf(desk.runner, threadId);
    const folder = readNote(desk.dataFolder, threadId)?.folder;
    const text =
      options.format === "json"
        ? `${writeJson({ threadId, folder: folder ?? null, messages: withResults(facts), facts })}\n`
        : sanitize(markdown(threadId, folder, facts, io.texts));
    const { output } = options;
    if (output === undefined) io.stdout.write(text);
    else writing(output, () => writeFileSync(output, text, { mode: 0o600 }));
    return EXIT.done;
  } finally {
    await desk.close();
  }
}

/** Returns the messages of the root, with a cut answer and its continuation as one. */
export function messagesOf(facts: readonly Fact[]): Message[] {
  const messages: Message[] = [];
  for (const fact of facts) {
    if (fact.type !== "message" || fact.runPath.includes("/")) continue;
    const { message } = fact;
    const cut = messages.findIndex(({ id }) => id === message.continues);
    if (message.continues === undefined || cut < 0) messages.push(message);
    else messages[cut] = joined(messages[cut]!, message);
  }
  return messages;
}

/** Returns each message that made calls, followed by their results. */
function withResults(facts: readonly Fact[]): Message[] {
  const results = resultsOf(facts);
  return messagesOf(facts).flatMap((message) => {
    const parts = message.parts.flatMap((part): Part[] => {
      const ended = part.type === "call" ? results.get(part.id) : undefined;
      if (part.type !== "call" || ended === undefined) return [];
      return [{ type: "result", id: part.id, tool: part.tool, outcome: ended.outcome, output: ended.output }];
    });
    if (parts.length === 0) return [message];
    return [message, { id: `${message.id}/results`, role: "tool", parts, at: message.at, origin: "runtime" }];
  });
}

/** Results by call; a late result replaces the first one. */
function resultsOf(facts: readonly Fact[]): ReadonlyMap<string, Ended> {
  const results = new Map<string, Ended>();
  for (const fact of facts) if (fact.type === "tool-end" || fact.type === "tool-late") results.set(fact.callId, fact);
  return results;
}

/** The decisions of people, by call. */
function decidedOf(facts: readonly Fact[]): ReadonlyMap<string, readonly Decided[]> {
  const decided = decidedIn(facts);
  const found = new Map<string, Decided[]>();
  for (const fact of facts) {
    const { id, callId } = (fact.type === "action" && fact.action.interrupted) || {};
    const how = id === undefined ? undefined : decided.get(id);
    if (how !== undefined && callId !== undefined) found.set(callId, [...(found.get(callId) ?? []), how]);
  }
  return found;
}

interface Calls {
  readonly results: ReadonlyMap<string, Ended>;
  readonly decided: ReadonlyMap<string, readonly Decided[]>;
}

type Ended = Pick<Fact & { type: "tool-end" }, "outcome" | "output">;

function joined(first: Message, next: Message): Message {
  const { interrupted: _, continues: __, ...rest } = { ...first, ...next };
  const parts = [...first.parts];
  const last = parts.at(-1);
  const [head, ...tail] = next.parts;
  if (last?.type === "text" && head?.type === "text")
    parts[parts.length - 1] = { ...last, text: last.text + head.text };
  else if (head !== undefined) parts.push(head);
  const cut = next.interrupted === undefined ? {} : { interrupted: next.interrupted };
  return { ...rest, id: first.id, parts: [...parts, ...tail], ...cut };
}

function markdown(threadId: string, folder: string | undefined, facts: readonly Fact[], texts: Texts): string {
  const calls = { results: resultsOf(facts), decided: decidedOf(facts) };
  const began = facts[0] === undefined ? "" : new Date(facts[0].at).toISOString();
  const head = [`# ${texts.page.title(threadId)}`, [folder, began].filter(Boolean).join(" · ")];
  const body = messagesOf(facts).flatMap((message) => messageBlocks(message, calls, texts));
  return `${[...head, ...body].filter((block) => block !== "").join("\n\n")}\n`;
}

function messageBlocks(message: Message, of: Calls, texts: Texts): string[] {
  if (message.role === "tool" || message.role === "system") return [];
  const { page } = texts;
  const who = message.role === "assistant" ? page.agent : message.origin === "person" ? page.person : page.runtime;
  const said = messageText(message).trim();
  const cut = message.interrupted === undefined ? [] : [`*${page.cut(message.interrupted.by)}*`];
  const calls = message.parts.flatMap((part) => callBlocks(part, of, texts));
  return said === "" && calls.length === 0 ? [] : [`## ${who}`, said, ...cut, ...calls];
}

function callBlocks(part: Part, { results, decided }: Calls, texts: Texts): string[] {
  if (part.type !== "call") return [];
  const { log, page } = texts;
  const ended = results.get(part.id);
  const by = (decided.get(part.id) ?? []).map((each) => ` · ${howDecided(each, texts)}`).join("");
  const outcome = ended === undefined ? page.notRun : log.word(ended.outcome);
  const text = outputText(ended?.output ?? null);
  return [
    `**${part.tool}** \`${JSON.stringify(part.ranArgs ?? part.args).replaceAll("`", "ˋ")}\` → ${outcome}${by}`,
    fenced(text.trimEnd()),
  ];
}

/** With more backticks than the text has in a row. */
function fenced(text: string): string {
  if (text === "") return "";
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((ticks) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
