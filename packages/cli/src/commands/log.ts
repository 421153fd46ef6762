// belay log: a thread as a timeline, one line for each thing that happened. With --json, the facts themselves.

import { type Fact, type Json, type Message, messageText } from "@belay/core";
import { allThreads } from "../all-threads.ts";
import { factsOf, isFact } from "../facts.ts";
import { EXIT } from "../headless/exit-codes.ts";
import { writeJson } from "../headless/write-json.ts";
import { outputText } from "../output-text.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { fit, width } from "../terminal/width.ts";
import type { Texts } from "../texts/texts.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { openDesk } from "./desk.ts";
import { findId } from "./find.ts";

export interface LogCommand extends CommandOptions {
  readonly thread: string;
  /** Follows the thread until it is stopped. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

export async function log(options: LogCommand, io: CommandIo): Promise<number> {
  const desk = await openDesk(options);
  try {
    const ids = (await allThreads(desk.runner)).map(({ threadId }) => threadId);
    const threadId = findId("thread", ids, options.thread);
    const tell = options.json ? (fact: Fact) => io.stdout.write(`${writeJson(fact)}\n`) : timeline(io);
    const facts = await factsOf(desk.runner, threadId);
    for (const fact of facts) tell(fact);
    if (!options.follow) return EXIT.done;
    const signal = options.signal ?? new AbortController().signal;
    for await (const event of desk.runner.events(threadId, { after: facts.length, signal }))
      if (isFact(event)) tell(event);
    return EXIT.done;
  } finally {
    await desk.close();
  }
}

/** Remembers when each run and each call began, to print how long they took. */
function timeline(io: CommandIo): (fact: Fact) => void {
  let runId: string | undefined;
  let began = 0;
  const starts = new Map<string, number>();
  return (fact) => {
    if (fact.runId !== runId) {
      runId = fact.runId;
      began = fact.at;
      io.stdout.write(
        `${new Date(fact.at).toISOString().replace("T", " ").slice(0, 19)}  ${io.texts.commands.run(sanitizeLine(runId, 100))}\n`,
      );
    }
    if (fact.type === "tool-start") starts.set(fact.callId, fact.at);
    const started = fact.type === "tool-end" ? starts.get(fact.callId) : undefined;
    const took = started === undefined ? "" : `  (${seconds(fact.at - started)})`;
    for (const [who, words] of tellFact(fact, io.texts.log)) {
      const time = seconds(fact.at - began).padStart(10);
      const lead = who + " ".repeat(Math.max(0, 9 - width(who)));
      io.stdout.write(`${fit(`${time}  ${lead}  ${sanitizeLine(words, 2_000)}${took}`, io.columns)}\n`);
    }
  };
}

function seconds(ms: number): string {
  return ms < 60_000
    ? `${(ms / 1_000).toFixed(2)} s`
    : `${Math.floor(ms / 60_000)}m ${Math.floor((ms % 60_000) / 1_000)}s`;
}

type Row = readonly [who: string, words: string];

/** Returns the actor and the action in words; nothing for a fact that another line covers. */
function tellFact(fact: Fact, says: Texts["log"]): Row[] {
  const inner = fact.runPath.includes("/") ? `${fact.runPath}: ` : "";
  switch (fact.type) {
    case "message":
      return messageRows(fact.message, inner, says);
    case "tool-start":
      return [[says.call, `${inner}${fact.tool} ${writeJson(fact.ranArgs ?? fact.args)}`]];
    case "tool-end": {
      const outcome = says.word(fact.held ? "held" : fact.outcome);
      return [[says.result, `${inner}${fact.tool} ${outcome}${gave(fact.output)}`]];
    }
    case "tool-late":
      return [[says.late, `${inner}${fact.tool} ${says.word(fact.outcome)}${gave(fact.output)}`]];
    case "step":
      return [[says.step, `${inner}${fact.key}`]];
    case "action":
      return actionRows(fact.action, inner, says);
    case "request-answered": {
      const how = fact.refused ? says.refused(fact.refused.message) : says.word(fact.answer.type);
      return [[says.answer, says.answered(fact.id, how, fact.by)]];
    }
    // The facts that a command causes follow it; only a refusal has none.
    case "command":
      return fact.refused ? [[says.answer, says.answered(fact.key, says.refused(fact.refused.message), fact.by)]] : [];
    case "input-queued":
      return [[says.queued, `${says.word(fact.kind)} ${fact.id}`]];
    case "input-consumed":
      return [[says.read, `${says.word(fact.kind)} ${fact.id}`]];
    case "state": {
      const state = says.word(fact.state);
      return [[says.state, fact.pauseType === undefined ? state : says.paused(state, says.word(fact.pauseType))]];
    }
    case "run-end": {
      const why = fact.error ? `: ${fact.error.message}` : "";
      return [[says.end, `${inner}${says.word(fact.status)}${why}${tokens(fact.usage, says)}`]];
    }
    case "drift":
      return [[says.drift, says.drifted]];
    case "rule-removed":
      return [[says.rule, says.removed(fact.id, fact.by)]];
    case "breakpoint": {
      const { stop, at, node } = fact.breakpoint;
      return [[says.break, stop ? says.stops(at, node) : says.stopsNot(at, node)]];
    }
    case "run-start":
      return inner === "" ? [] : [[says.child, fact.runPath]];
    default:
      // A newer runtime may write other facts.
      return [[(fact as Fact).type, ""]];
  }
}

function messageRows(message: Message, inner: string, says: Texts["log"]): Row[] {
  const text = messageText(message).trim();
  const cut = message.interrupted === undefined ? "" : ` ${says.cut(message.interrupted.by)}`;
  if (message.role === "tool" || (text === "" && cut === "")) return [];
  const who = message.role !== "user" || message.origin === "model" ? says.agent : says[message.origin];
  return [[who, `${inner}${text}${cut}`]];
}

function actionRows(action: (Fact & { type: "action" })["action"], inner: string, says: Texts["log"]): Row[] {
  const { interrupted, exit, transferToAgent, breakLoop, customized } = action;
  if (interrupted !== undefined) {
    const { kind, id, by, reason = "", tool, address } = interrupted;
    if (kind === "user" || kind === "manual")
      return [
        [says.stop, `${inner}${says.stoppedBy(by)}${reason === "" || reason === "general" ? "" : `: ${reason}`}`],
      ];
    // The view of a pause repeats requests that have a row. Nodes of the root graph stand only there.
    if ("data" in interrupted) {
      const { data } = interrupted;
      const nodes = data.type === "graph" ? data.interrupts.filter((each) => each.data.type === "none") : [];
      return nodes.flatMap(({ data: _data, ...each }) =>
        each.kind === "node" ? actionRows({ interrupted: each }, inner, says) : [],
      );
    }
    if (kind === "node" || kind === "rerun") {
      const at = tool ?? (kind === "node" || interrupted.node !== undefined ? nodeAt(address) : by);
      return [[says.stop, `${inner}${says.stoppedBy(by)}: ${says.atNode(reason, at)}`]];
    }
    const what = tool === undefined ? says.word(kind) : says.asks(says.word(kind), tool);
    return [[says.request, `${inner}${id} ${what}: ${reason}`]];
  }
  if (exit !== undefined) return [[says.exit, `${inner}${shortly(exit.output)}`]];
  if (transferToAgent !== undefined) return [[says.transfer, `${inner}${says.to(transferToAgent.name)}`]];
  if (breakLoop !== undefined) return [[says.break, `${inner}${shortly(breakLoop.output)}`]];
  // The change that a call made to a file: the call before it says which.
  if (typeof customized === "object" && customized !== null && "change" in customized) return [];
  return [[says.action, `${inner}${shortly(customized)}`]];
}

/** The address of a node ends with its key, and which visit it is. */
function nodeAt(address: string): string {
  return address.slice(address.lastIndexOf("/") + 1, address.lastIndexOf("#"));
}

function gave(output: Json): string {
  const text = outputText(output);
  return text.trim() === "" ? "" : `: ${shortly(text)}`;
}

function shortly(output: unknown): string {
  const text = typeof output === "string" ? output : writeJson(output ?? null);
  const [first = ""] = text.trim().split("\n");
  const more = text.trim().split("\n").length - 1;
  return `${first.slice(0, 300)}${more > 0 ? ` … +${more}` : ""}`;
}

function tokens(usage: { inputTokens: number; outputTokens: number }, says: Texts["log"]): string {
  const { inputTokens, outputTokens } = usage;
  return inputTokens + outputTokens === 0 ? "" : says.tokens(inputTokens, outputTokens);
}
