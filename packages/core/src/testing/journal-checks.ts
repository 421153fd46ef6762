// The rules of a journal, of its fold and of its shown events, after any fault.

import type { Fact } from "../event.ts";
import type { Line } from "../journal/codec.ts";
import { fold } from "../journal/fold.ts";
import { newThread } from "../journal/state.ts";
import { moves, type SessionState } from "../lifecycle.ts";
import type { Message, ResultPart } from "../message.ts";
import type { Command } from "../store/store.ts";
import { promptProblems } from "./providers/render.ts";
import { requestProblems } from "./request-checks.ts";

/** Seqs without a gap, legal moves, every start with its end at rest, and no call with a recorded outcome starts again. */
export function factProblems(facts: readonly Fact[]): string[] {
  const problems: string[] = [];
  let state: SessionState = "created";
  const open = new Map<string, { readonly tool: string; readonly address: string }>();
  const told = new Map<string, string>();
  /** The calls with code that waits for a person, by request. */
  const asks = new Map<string, string>();
  for (const [i, fact] of facts.entries()) {
    if (fact.seq !== i + 1) problems.push(`fact ${i + 1} has seq ${fact.seq}`);
    if (fact.type === "tool-start") {
      if (told.has(fact.callId)) problems.push(`call ${fact.callId} starts again after ${told.get(fact.callId)}`);
      open.set(fact.callId, fact);
    }
    if (fact.type === "tool-end") {
      if (!fact.held && fact.outcome === "not-executed" && open.has(fact.callId)) {
        problems.push(`call ${fact.callId} began and is told as not executed`);
      }
      open.delete(fact.callId);
      if (!fact.held) told.set(fact.callId, fact.outcome);
    }
    if (fact.type === "action") {
      const { id = "", callId, key } = fact.action.interrupted ?? {};
      if (callId !== undefined && key !== undefined) asks.set(id, callId);
    }
    if (fact.type === "request-answered" && !fact.open && fact.refused === undefined) asks.delete(fact.id);
    if (fact.type !== "state") continue;
    // Running after running: the holder of the lease is gone, and the thread was read as paused.
    const from: SessionState = state === "running" && fact.state === "running" ? "paused" : state;
    const stays = from === "paused" && fact.state === "paused";
    // A fork begins in the state that its past leads to.
    if (fact.forked === undefined && !stays && !moves[from].includes(fact.state))
      problems.push(`fact ${fact.seq} moves from ${from} to ${fact.state}`);
    state = fact.state;
    // Code waits for a person over such a pause, and while another branch has failed.
    const waits = new Set(fact.pauseType === "tool_interrupt" || state === "error" ? asks.values() : []);
    // A call to an agent is stopped, and continues, in its place.
    const inside = (address: string) => (state === "paused" || state === "error") && holdsAgent(facts, i, address);
    const endless = [...open].filter(([callId, { address }]) => !waits.has(callId) && !inside(address));
    // A pause that is written once more says nothing of answered calls that run in it, or that a crash has cut.
    if (!stays && state !== "running" && state !== "initialized" && endless.length > 0) {
      const which = endless.map(([callId, { tool }]) => `${callId},${tool}`).join("; ");
      const failure = facts.findLast((other) => other.type === "run-end" && other.error !== undefined);
      const why = state === "error" && failure?.type === "run-end" ? ` (${failure.error!.message})` : "";
      problems.push(`${state} at ${fact.seq} while calls have no end: ${which}${why}`);
    }
  }
  return [
    ...problems,
    ...mailProblems(facts),
    ...requestProblems(facts),
    ...childProblems(facts),
    ...idProblems(facts),
    ...stretchProblems(facts),
  ];
}

/** An agent has begun inside the call. */
function holdsAgent(facts: readonly Fact[], before: number, address: string): boolean {
  const below = `${address}/`;
  return facts.slice(0, before).some(({ type, runPath }) => type === "run-start" && runPath.startsWith(below));
}

/**
 * Agents inside others begin and end in pairs, once in a run unless they failed, and inside one that has begun. With a call, with
 * the run, and before the next one all of them have ended; one that failed may be tried again, and those inside it with it.
 */
function childProblems(facts: readonly Fact[]): string[] {
  const problems: string[] = [];
  const begun = new Set<string>();
  let ended = new Set<string>();
  let runId: string | undefined;
  const leaves = (what: string, below: string) => {
    const open = [...begun].filter((path) => path.startsWith(below));
    if (open.length > 0) problems.push(`${what} while ${open.join(", ")} has no end`);
    for (const path of open) begun.delete(path);
  };
  for (const fact of facts) {
    const { type, runPath: path, seq } = fact;
    if (type === "run-start" && !path.includes("/") && fact.runId !== runId) {
      leaves(`another run begins at ${seq}`, "");
      ({ runId } = fact);
      ended = new Set();
    }
    if (type === "tool-end" && !fact.held) leaves(`call ${fact.callId} ends at ${seq}`, `${fact.address}/`);
    if (type === "run-end" && fact.status !== "failed") leaves(`${fact.status} at ${seq}`, `${path}/`);
    if (!path.includes("/")) continue;
    if (type === "run-start") {
      if (begun.has(path)) problems.push(`agent ${path} begins again at ${seq}`);
      if (ended.has(path)) problems.push(`agent ${path} had ended, and begins again at ${seq}`);
      begun.add(path);
    } else if (type === "run-end") {
      if (!begun.delete(path)) problems.push(`agent ${path} ends at ${seq} and had not begun`);
      if (fact.status === "completed") ended.add(path);
    }
  }
  return problems;
}

/** A message of a model or the runtime has an id of its own; a person's message to several agents has one for all of them. */
function idProblems(facts: readonly Fact[]): string[] {
  const known = new Set<string>();
  return facts.flatMap((fact) => {
    if (fact.type !== "message") return [];
    const { id, origin } = fact.message;
    const own = origin === "person" ? `${fact.runPath} ${id}` : id;
    if (known.has(own)) return [`message ${id} comes again at ${fact.seq}`];
    known.add(own);
    return [];
  });
}

/** A pause is left once (R6), and pause() takes no question back. */
function stretchProblems(facts: readonly Fact[]): string[] {
  const problems: string[] = [];
  const begun = new Set<string>();
  let withdrawn: number | undefined;
  for (const fact of facts) {
    if (fact.type === "request-answered" && fact.answer.type === "withdraw" && fact.by === "user") withdrawn = fact.seq;
    if (fact.type !== "state") continue;
    const stretch = `${fact.runId} ${fact.segment}`;
    if (fact.state === "running") {
      if (begun.has(stretch)) problems.push(`stretch ${stretch} begins again at ${fact.seq}`);
      begun.add(stretch);
    }
    if (fact.pauseType === "manual" && fact.forked === undefined && withdrawn !== undefined) {
      problems.push(`pause() at ${fact.seq} took a question back at ${withdrawn}`);
    }
    withdrawn = undefined;
  }
  return problems;
}

/** A command is consumed once, and reported as queued once, before that. */
function mailProblems(facts: readonly Fact[]): string[] {
  const problems: string[] = [];
  const queued = new Set<string>();
  const consumed = new Set<string>();
  for (const fact of facts) {
    if (fact.type === "input-queued") {
      if (queued.has(fact.id) || consumed.has(fact.id)) problems.push(`input ${fact.id} is told as queued again`);
      queued.add(fact.id);
    } else if (fact.type === "input-consumed" || fact.type === "tool-late") {
      if (consumed.has(fact.id)) problems.push(`${fact.type} ${fact.id} comes twice`);
      consumed.add(fact.id);
    }
  }
  return problems;
}

const next: Message = { id: "n", role: "user", parts: [{ type: "text", text: "?" }], at: 0, origin: "person" };

/** After each line a new question would make a prompt that is valid for every provider (H1). */
export function prefixProblems(threadId: string, lines: readonly Line[]): string[] {
  const state = newThread(threadId);
  return lines.flatMap((line) => {
    fold(state, [line]);
    return [...state.scopes.values()].flatMap((scope) =>
      promptProblems([...scope.prompt, next]).map((problem) => `after line ${line.seq}: ${problem}`),
    );
  });
}

export function resultsIn(messages: readonly Message[]): ResultPart[] {
  return messages.flatMap((message) => message.parts.filter((part): part is ResultPart => part.type === "result"));
}

/** Returns the person's messages, in the order of the history. */
export function inputsIn(messages: readonly Message[]): string[] {
  return messages
    .filter((message) => message.origin === "person")
    .map((message) => message.parts.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join(""));
}

export interface GivenInput {
  readonly texts: readonly string[];
  readonly process: number;
  /** Undefined if it cannot be known: the reply of the store was lost, or its process died. */
  readonly taken: boolean | undefined;
}

/**
 * Checks that each input is recorded verbatim, once, with its texts together; refused ones are not; those of one process are in
 * its order.
 */
export function inputProblems(given: readonly GivenInput[], found: readonly string[]): string[] {
  const problems: string[] = [];
  const last = new Map<number, number>();
  let matched = 0;
  for (const { texts, process, taken } of given) {
    const at = found.indexOf(texts[0]!);
    const whole = at >= 0 && texts.every((text, i) => found[at + i] === text);
    const words = JSON.stringify(texts);
    if (at >= 0 && !whole) problems.push(`input ${words} is torn: ${JSON.stringify(found)}`);
    if (whole && taken === false) problems.push(`refused input ${words} is in the history`);
    if (!whole && taken === true) problems.push(`input ${words} is not in the history: ${JSON.stringify(found)}`);
    if (!whole) continue;
    matched += texts.length;
    if (at < (last.get(process) ?? -1)) problems.push(`input ${words} is out of order: ${JSON.stringify(found)}`);
    last.set(process, at);
  }
  if (matched !== found.length) problems.push(`inputs that nobody gave, or doubled: ${JSON.stringify(found)}`);
  return problems;
}

/** Each input of a person is in the history once; each command, under its id, is in it once, or still waits. */
export function sentProblems(
  input: string,
  sent: string | undefined,
  found: readonly string[],
  commands: readonly Command[],
): string[] {
  const count = (text: string) => found.filter((each) => each === text).length;
  const problems = count(input) === 1 ? [] : [`the input is ${count(input)} times in the history`];
  if (sent === undefined) return problems;
  const times = count(`[${sent}]`);
  const waits = commands.some(({ key }) => key === sent);
  if (times + (waits ? 1 : 0) !== 1) {
    problems.push(`what was sent by ${sent} is ${times} times in the history, and ${waits ? "waits" : "is gone"}`);
  }
  return problems;
}
