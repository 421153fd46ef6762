// belay log: a thread as a timeline, one line for each thing that happened. With --json, the facts themselves.

import { type Fact, messageText } from "@belay/core";
import { EXIT } from "../headless/exit-codes.ts";
import { writeJson } from "../headless/write-json.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { fit } from "../terminal/width.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { openDesk } from "./desk.ts";
import { factsOf, isFact } from "./facts.ts";
import { findId } from "./find.ts";

export interface LogCommand extends CommandOptions {
  readonly thread: string;
  /** Goes on with what happens, until it is stopped. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

export async function log(options: LogCommand, io: CommandIo): Promise<number> {
  const desk = await openDesk(options);
  try {
    const ids = (await desk.runner.threads()).map(({ threadId }) => threadId);
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

/** Remembers when each run and each call began, to tell how long they took. */
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
    for (const [who, words] of tellFact(fact)) {
      const time = seconds(fact.at - began).padStart(10);
      io.stdout.write(`${fit(`${time}  ${who.padEnd(9)}  ${sanitizeLine(words, 2_000)}${took}`, io.columns)}\n`);
    }
  };
}

function seconds(ms: number): string {
  return ms < 60_000
    ? `${(ms / 1_000).toFixed(2)} s`
    : `${Math.floor(ms / 60_000)}m ${Math.floor((ms % 60_000) / 1_000)}s`;
}

type Row = readonly [who: string, words: string];

/** Who did it, and what, in words; nothing for what another line tells already. */
function tellFact(fact: Fact): Row[] {
  const inner = fact.runPath.includes("/") ? `${fact.runPath}: ` : "";
  switch (fact.type) {
    case "message": {
      const { message } = fact;
      const text = messageText(message).trim();
      const cut = message.interrupted === undefined ? "" : ` ✂ cut by ${message.interrupted.by}`;
      if (message.role === "tool" || (text === "" && cut === "")) return [];
      return [
        [
          message.role === "user" ? (message.origin === "person" ? "person" : message.origin) : "agent",
          `${inner}${text}${cut}`,
        ],
      ];
    }
    case "tool-start":
      return [["call", `${inner}${fact.tool} ${writeJson(fact.ranArgs ?? fact.args)}`]];
    case "tool-end":
      return [["result", `${inner}${fact.tool} ${fact.held ? "held" : fact.outcome}: ${shortly(fact.output)}`]];
    case "tool-late":
      return [["late", `${inner}${fact.tool} ${fact.outcome}: ${shortly(fact.output)}`]];
    case "step":
      return [["step", `${inner}${fact.key}`]];
    case "action":
      return actionRows(fact.action, inner);
    case "request-answered":
      return [
        ["answer", `${fact.id} ${fact.refused ? `refused: ${fact.refused.message}` : fact.answer.type} by ${fact.by}`],
      ];
    case "input-queued":
      return [["queued", `${fact.kind} ${fact.id}`]];
    case "input-consumed":
      return [["read", `${fact.kind} ${fact.id}`]];
    case "state":
      return [["state", fact.pauseType === undefined ? fact.state : `${fact.state} (${fact.pauseType})`]];
    case "run-end":
      return [["end", `${inner}${fact.status}${fact.error ? `: ${fact.error.message}` : ""}${tokens(fact.usage)}`]];
    case "drift":
      return [["drift", "the agent is not the one that the run began with"]];
    case "rule-removed":
      return [["rule", `${fact.id} removed by ${fact.by}`]];
    case "breakpoint":
      return [
        ["break", `${fact.breakpoint.stop ? "stops" : "does not stop"} ${fact.breakpoint.at} ${fact.breakpoint.node}`],
      ];
    case "run-start":
      return inner === "" ? [] : [["child", fact.runPath]];
    default:
      // A newer runtime may have more to tell.
      return [[(fact as Fact).type, ""]];
  }
}

function actionRows(action: (Fact & { type: "action" })["action"], inner: string): Row[] {
  const { interrupted, exit, transferToAgent, breakLoop, customized } = action;
  if (interrupted !== undefined) {
    const { kind, id, by, reason = "", tool } = interrupted;
    if (kind === "user" || kind === "manual")
      return [["stop", `${inner}by ${by}${reason === "" ? "" : `: ${reason}`}`]];
    return [["request", `${inner}${id} ${kind}${tool === undefined ? "" : ` of ${tool}`}: ${reason}`]];
  }
  if (exit !== undefined) return [["exit", `${inner}${shortly(exit.output)}`]];
  if (transferToAgent !== undefined) return [["transfer", `${inner}to ${transferToAgent.name}`]];
  if (breakLoop !== undefined) return [["break", `${inner}${shortly(breakLoop.output)}`]];
  return [["action", `${inner}${shortly(customized)}`]];
}

function shortly(output: unknown): string {
  const text = typeof output === "string" ? output : writeJson(output ?? null);
  const [first = ""] = text.trim().split("\n");
  const more = text.trim().split("\n").length - 1;
  return `${first.slice(0, 300)}${more > 0 ? ` … +${more}` : ""}`;
}

function tokens({ inputTokens, outputTokens }: { inputTokens: number; outputTokens: number }): string {
  return inputTokens + outputTokens === 0 ? "" : `, ${inputTokens} + ${outputTokens} tokens`;
}
