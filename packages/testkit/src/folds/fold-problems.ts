// The fold that pages draw from, held against the fold of the journal: after every line both must show the same thread.

import { isDeepStrictEqual } from "node:util";
import { type AgentView, type CallView, emptyThread, foldThread, type ThreadView } from "@belay/client";
import type { BelayEvent, Message, Part } from "@belay/core";
import {
  foldLines,
  type Line,
  LineReader,
  lateNote,
  newThread,
  openRequests,
  resultPart,
  shownMessages,
} from "@belay/core/inside";

type State = ReturnType<typeof newThread>;
type Scope = State["scopes"] extends ReadonlyMap<string, infer S> ? S : never;

/** Returns the differences of the two folds of a journal. */
export function foldProblems(threadId: string, lines: readonly Line[]): string[] {
  const state = newThread(threadId);
  const reader = new LineReader(threadId);
  const problems: string[] = [];
  let view = emptyThread;
  for (const line of lines) {
    foldLines(state, [line]);
    const facts = reader.read(line);
    const next = facts.reduce(foldThread, view);
    // A page that was read twice changes nothing.
    if (facts.reduce(foldThread, next) !== next) problems.push(`line ${line.seq} counts twice`);
    view = next;
    for (const problem of differences(state, view)) problems.push(`after line ${line.seq} the fold has ${problem}`);
  }
  return problems.slice(0, 5);
}

/** Returns the view after all of these events. */
export function foldAll(events: readonly BelayEvent[]): ThreadView {
  return events.reduce(foldThread, emptyThread);
}

function differences(state: State, view: ThreadView): string[] {
  const problems: string[] = [];
  const differ = (what: string, shown: unknown, known: unknown) => {
    if (!isAlike(shown, known)) {
      problems.push(`another ${what}: ${JSON.stringify(shown)}, not ${JSON.stringify(known)}`);
    }
  };
  differ("head", view.head, state.head);
  differ("state", [view.state, view.pauseType], [state.state, state.pauseType]);
  if (state.run !== undefined) {
    differ("run", [view.runId, view.segment], [state.run.id, state.run.segment]);
    differ("usage", view.usage, state.run.usage);
  }
  const interrupts = view.interrupts.map(({ approvals: _approvals, ...interrupt }) => interrupt);
  differ("interrupts", interrupts, [...state.interrupts, ...openRequests(state)]);
  for (const { interrupt, votes } of state.requests?.values() ?? []) {
    const request = view.requests.find(({ id }) => id === interrupt.id);
    differ(`approvals of ${interrupt.id}`, request?.approvals, votes);
  }
  differ(
    "waiting",
    view.waiting.map(({ id }) => id),
    [...(state.queued ?? [])],
  );
  differ("rules", view.rules, state.rules ?? []);
  for (const scope of state.scopes.values()) {
    const agent = view.agents.find(({ path }) => path === scope.path);
    if (agent === undefined) {
      if (scope.messages.length > 0) problems.push(`no agent ${scope.path}`);
      continue;
    }
    const told = agent.messages.map((message) => toldMessage(message, view.calls));
    const known = shownMessages(scope);
    if (!isSame(told, known)) {
      problems.push(`other messages of ${scope.path}: ${JSON.stringify(told)}, not ${JSON.stringify(known)}`);
    }
    problems.push(...callProblems(scope, agent, view.calls));
  }
  const [root] = view.agents;
  if (root !== undefined && !root.path.includes("/")) differ("messages", view.messages, root.messages);
  return problems;
}

function callProblems({ calls, path }: Scope, { group }: AgentView, shown: readonly CallView[]): string[] {
  const open = calls.map(({ part }) => part.id);
  if (open.join() !== group.join()) return [`open calls ${group.join()} of ${path}, not ${open.join()}`];
  return calls.flatMap(({ part, status, address, ranArgs }) => {
    const call = shown.findLast(({ id }) => id === part.id);
    const phase = call?.phase === "received" ? "held" : call?.phase === "running" ? "started" : call?.phase;
    const same = phase === status && call?.address === address && isDeepStrictEqual(call.args, part.args);
    if (same && isDeepStrictEqual(call.ranArgs, ranArgs)) return [];
    return [`call ${part.id} as ${JSON.stringify(call)}, not ${status} at ${address}`];
  });
}

/**
 * A message, with the ways to say each of its parts. The words that a model reads stand for a result, and there are two ways to
 * say it: a call that new input closed leaves out its edits. One message may have results of both kinds.
 */
interface Told {
  readonly message: Message;
  readonly ways: readonly (readonly Part[])[];
}

function toldMessage(message: Message, calls: readonly CallView[]): Told {
  if (message.id.endsWith(".late") && message.role === "user" && message.parts[0]?.type === "result") {
    const { id, outcome, output } = message.parts[0];
    return { message, ways: [[{ type: "text", text: lateNote(id, outcome, output) }]] };
  }
  const ways = message.parts.map((part) => {
    if (message.role !== "tool" || part.type !== "result") return [part];
    const call = calls.findLast(({ id }) => id === part.id);
    const { outcome, output } = part;
    const words = resultPart(call ?? part, outcome, output);
    return call === undefined ? [words] : [words, resultPart(call, outcome, output, call.ranArgs, call.changedBy)];
  });
  return { message, ways };
}

function isSame(told: readonly Told[], known: readonly Message[]): boolean {
  if (told.length !== known.length) return false;
  return known.every(({ parts, ...rest }, i) => {
    const { message, ways } = told[i]!;
    const { parts: _parts, ...shown } = message;
    if (parts.length !== ways.length || !isAlike(shown, rest)) return false;
    return parts.every((part, j) => ways[j]!.some((way) => isAlike(way, part)));
  });
}

/** As JSON. Most are equal as they are, which costs less to see. */
function isAlike(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other) || isDeepStrictEqual(plain(one), plain(other));
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null));
}
