// The only function that changes a thread's state. It is deterministic and updates the given state in place: a copy of the past
// for each fact would make a journal quadratic.

import { belayError } from "../error.ts";
import type { ActionEvent, Fact, Patch } from "../event.ts";
import { isAtNode, isRequest } from "../interrupt/interrupt.ts";
import { isView } from "../interrupt/view.ts";
import type { Json } from "../json.ts";
import { move } from "../lifecycle.ts";
import { addUsage, messageText } from "../message.ts";
import {
  addAnswer,
  addInput,
  addSaid,
  addStep,
  addSummary,
  closeCalls,
  endCall,
  holdCall,
  lateResult,
  startCall,
} from "./history.ts";
import { mergeLabels, titleOf } from "./naming.ts";
import { raise, settle } from "./requests.ts";
import { newScope, type Scope, type ThreadState } from "./state.ts";
import { take, takeOld } from "./taken.ts";

const nothing: readonly never[] = [];

export function reduce(state: ThreadState, fact: Fact): void {
  if (fact.seq !== state.head + 1) {
    const problem = `fact ${fact.seq} follows ${state.head}`;
    throw belayError("JOURNAL_CORRUPT", { threadId: state.threadId, seq: fact.seq, problem });
  }
  // A call that goes back to held, to run again, is no step forward.
  if (fact.type === "message" || (fact.type === "tool-end" && !fact.held)) state.crashes = 0;
  switch (fact.type) {
    case "run-start": {
      if (isChild(fact)) {
        startChild(state, fact);
        break;
      }
      state.agent ??= fact.agentName;
      const retried = state.run?.id === fact.runId ? state.run : undefined;
      const { runId: id, segment, seq } = fact;
      state.run = {
        id,
        segment,
        startSeq: retried?.startSeq ?? seq,
        usage: retried?.usage ?? addUsage(undefined, undefined),
        underway: retried !== undefined,
      };
      const scope = scopeOf(state, fact.runPath);
      if (retried === undefined) {
        scope.turn = 0;
        scope.attempt = 0;
        begin(scope, id);
      }
      scope.allowedFrom = scope.turn;
      if (fact.fingerprint !== undefined) state.fingerprint = fact.fingerprint;
      break;
    }
    case "message": {
      const scope = scopeOf(state, fact.runPath);
      if (fact.message.isInterrupted) {
        addSaid(scope, fact.message);
      } else if (fact.message.summary !== undefined) {
        addSummary(scope, fact.message, fact.message.summary.coversTo);
        if (state.run !== undefined) state.run.usage = addUsage(state.run.usage, fact.message.usage);
      } else if (fact.message.role === "assistant") {
        for (const part of fact.message.parts) if (part.type === "call") state.callIds.add(part.id);
        addAnswer(scope, fact.message, fact.turn);
        if (scope.calls.length > 0) {
          scope.callsSeq = fact.seq;
          scope.callsBy = fact.agentName;
        }
        if (state.run !== undefined) state.run.usage = addUsage(state.run.usage, fact.message.usage);
      } else {
        addInput(scope, fact.message);
        if (fact.message.origin === "person") {
          // A new input wants an answer, also from an agent that was about to leave.
          scope.action = undefined;
          if (state.beginning === undefined) state.beginning = titleOf(fact.message);
        }
        // The input of an agent must stay the same however often it begins again.
        if (!state.run?.underway || isChild(fact)) scope.given.push(fact.message);
        else scope.later.push(fact.message);
      }
      break;
    }
    case "tool-start":
      startCall(scopeOf(state, fact.runPath), fact);
      break;
    case "tool-end":
      if (fact.held) holdCall(scopeOf(state, fact.runPath), fact.callId, fact.outcome);
      else {
        endCall(scopeOf(state, fact.runPath), fact.callId, fact.outcome, fact.output);
        share(state, fact.values);
        dropBelow(state, `${fact.address}/`);
      }
      break;
    case "tool-late":
      lateResult(scopeOf(state, fact.runPath), fact.callId, fact.as, fact.outcome, fact.output, fact.at);
      share(state, fact.values);
      break;
    case "input-queued":
      state.queued ??= new Set();
      state.queued.add(fact.id);
      break;
    case "input-consumed":
      state.queued?.delete(fact.id);
      break;
    case "action":
      act(state, fact);
      break;
    case "request-answered":
      settle(state, fact);
      break;
    case "command":
      take(state, fact.key, fact, fact.refused);
      break;
    case "step":
      addStep(scopeOf(state, fact.runPath), fact);
      if (state.run !== undefined) state.run.underway = true;
      break;
    case "rule-removed":
      state.rules = state.rules?.filter(({ id }) => id !== fact.id);
      break;
    case "breakpoint":
      state.breakpoints ??= [];
      state.breakpoints.push({ ...fact.breakpoint, seq: fact.seq });
      break;
    case "label":
      if (fact.title !== undefined) state.title = fact.title;
      if (fact.labels !== undefined) state.labels = mergeLabels(state.labels, fact.labels);
      break;
    case "drift":
      state.fingerprint = fact.fingerprint;
      state.drift = { seq: fact.seq, at: fact.at, report: fact.report };
      break;
    case "run-end":
      if (fact.status === "failed") tryAgainBelow(state, fact.runPath);
      if (isChild(fact)) endChild(state, scopeOf(state, fact.runPath), fact);
      share(state, fact.values);
      if (fact.outputKey !== undefined)
        share(state, { [fact.outputKey]: outputOf(scopeOf(state, fact.runPath), fact.output) });
      break;
    case "state":
      reduceState(state, fact);
      break;
    default:
      fact satisfies never;
  }
  state.head = fact.seq;
}

function reduceState(state: ThreadState, fact: Extract<Fact, { type: "state" }>): void {
  // A crash leaves "running" as the last state; a takeover moves from the pause that it reads as.
  const crashed = state.state === "running" && fact.state === "running";
  // A pause may become one of another kind.
  const stays = state.state === "paused" && fact.state === "paused";
  if (fact.forked !== undefined) beginFork(state, fact.state, fact.forked.threadId);
  else if (!stays) state.state = move(crashed ? "paused" : state.state, fact.state);
  state.crashes = crashed ? state.crashes + 1 : 0;
  if (fact.state === "running") {
    goOn(state, fact);
    state.reruns = undefined;
  }
  state.pauseType = fact.pauseType;
  state.interrupts = fact.interrupts?.filter((each) => !isRequest(each)) ?? nothing;
  if (fact.state !== "paused" || isNewPause(state, fact)) state.view = undefined;
  state.tokenHash = fact.tokenHash;
  state.tokenUntil = fact.tokenUntil;
  if (state.run !== undefined) {
    if (fact.segment !== state.run.segment) state.run.underway = true;
    state.run.segment = fact.segment;
  }
  takeOld(state, fact);
  // Of a pause that becomes another one nothing was cut.
  if (!stays && (fact.state === "paused" || fact.state === "error")) {
    const scope = state.scopes.get(fact.runPath);
    if (scope !== undefined) scope.attempt = fact.attempt - 1;
    // While people are asked, other calls run to their own end, except those that a stop has met.
    if (fact.pauseType !== "tool_interrupt" || fact.interrupts?.some(({ kind }) => kind === "manual"))
      for (const [path, inner] of state.scopes) if (path !== fact.runPath) cut(inner);
  }
  // A model call that was cut may have shown some of its text: the next one is another try at the same message.
  if (crashed) for (const scope of state.scopes.values()) if (scope.calls.length === 0) scope.attempt += 1;
  if (fact.mode !== "rethink") return;
  for (const scope of state.scopes.values()) {
    if (fact.to === undefined || isWithin(scope.path, fact.to)) closeCalls(scope, fact.repair ?? "synthetic");
  }
}

/** A fork that rests as by pause() waits for another interrupt than its parent. */
function isNewPause(
  { view }: ThreadState,
  { forked, interrupts = nothing }: Extract<Fact, { type: "state" }>,
): boolean {
  return forked !== undefined && view !== undefined && interrupts.some(({ kind }) => kind === "manual");
}

/**
 * A fork has the state that its past leads to, which need not be a legal move. Decisions in the past were meant for the other
 * thread.
 */
function beginFork(state: ThreadState, now: ThreadState["state"], other: string): void {
  state.state = now;
  for (const request of state.requests?.values() ?? []) if (request.decision !== undefined) request.decidedIn ??= other;
}

/** The shown text of its model call, if it had one, was not kept: the next call is another try at the same message. */
function cut(scope: Scope): void {
  if (scope.ended === undefined && (scope.last === "input" || scope.last === "results")) scope.attempt += 1;
}

/** At one of these paths, or below. */
export function isWithin(path: string, paths: readonly string[]): boolean {
  return paths.some((each) => path === each || path.startsWith(`${each}/`));
}

/** The root's path is its agent's name. */
function isChild({ runPath }: Fact): boolean {
  return runPath.includes("/");
}

function begin(scope: Scope, runId: string): void {
  scope.runId = runId;
  scope.given = [];
  scope.later = [];
  scope.input = undefined;
  scope.ended = undefined;
  scope.settled = undefined;
  scope.failed = undefined;
  scope.active = undefined;
  scope.action = undefined;
  scope.steps = undefined;
  scope.state = undefined;
  scope.goneOn = undefined;
}

function startChild(state: ThreadState, fact: Extract<Fact, { type: "run-start" }>): void {
  if (fact.fresh) state.scopes.delete(fact.runPath);
  const scope = scopeOf(state, fact.runPath);
  if (state.run !== undefined) state.run.underway = true;
  if (scope.runId === fact.runId) {
    // Again, after it failed: from its position.
    scope.failed = undefined;
    scope.settled = undefined;
    scope.allowedFrom = scope.turn;
    // It failed before it was given anything.
    if (fact.input !== undefined) scope.input = fact.input;
    return;
  }
  begin(scope, fact.runId);
  scope.turn = 0;
  scope.attempt = 0;
  scope.allowedFrom = 0;
  scope.input = fact.input;
}

function endChild(state: ThreadState, scope: Scope, fact: Extract<Fact, { type: "run-end" }>): void {
  scope.settled = fact.seq;
  if (fact.status !== "completed") {
    scope.failed = fact.error ?? "again";
    return;
  }
  const output = outputOf(scope, fact.output);
  const { action } = scope;
  const { patch, seq: at } = fact;
  scope.ended = { output, at, ...(action && { action }), ...(patch && { patch }) };
  if (patch !== undefined) change(scopeOf(state, pathAround(fact.runPath)), patch);
}

/** Returns the recorded output, or the text of the last message if that is the output. */
function outputOf({ messages }: Scope, output: Json | undefined): Json {
  if (output !== undefined) return output;
  const last = messages.at(-1);
  return last === undefined ? null : messageText(last);
}

function share(state: ThreadState, values: Patch | undefined): void {
  if (values !== undefined) state.values = { ...state.values, ...values };
}

function change(scope: Scope, patch: Patch): void {
  scope.state = { ...scope.state, ...patch };
}

/** Moves past the nodes that a graph stopped at; edits count before the next step. */
function goOn(state: ThreadState, { seq: at, edits }: Extract<Fact, { type: "state" }>): void {
  if (edits === undefined && state.interrupts.length === 0) return;
  const past = new Map<string, { reason: string; address: string }[]>(
    Object.keys(edits ?? {}).map((path) => [path, []]),
  );
  for (const interrupt of state.interrupts) {
    if (!isAtNode(interrupt)) continue;
    const { reason = "", address } = interrupt;
    const path = pathAround(address);
    past.set(path, [...(past.get(path) ?? []), { reason, address }]);
  }
  for (const [path, stops] of past) {
    const scope = scopeOf(state, path);
    const edit = edits?.[path];
    if (edit !== undefined) change(scope, edit);
    scope.goneOn ??= [];
    scope.goneOn.push({ at, past: stops, ...(edit && { edit }) });
  }
}

function pathAround(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** A failed agent inside a failed one is retried with it. */
function tryAgainBelow(state: ThreadState, path: string): void {
  for (const scope of state.scopes.values()) {
    if (scope.failed !== undefined && scope.path.startsWith(`${path}/`)) scope.failed = "again";
  }
}

/** Agents inside a call are of no use once it has its result. */
function dropBelow(state: ThreadState, path: string): void {
  if (state.scopes.size === 1) return;
  for (const key of state.scopes.keys()) if (key.startsWith(path)) state.scopes.delete(key);
}

function act(state: ThreadState, { runPath, action, seq }: ActionEvent): void {
  const scope = scopeOf(state, runPath);
  const { interrupted, transferToAgent, exit, breakLoop } = action;
  if (isView(interrupted)) state.view = interrupted;
  else if (interrupted?.kind === "rerun") {
    state.reruns ??= [];
    state.reruns.push(interrupted);
  } else if (isRequest(interrupted)) raise(state, scope, interrupted, seq);
  if (transferToAgent !== undefined) scope.active = transferToAgent.name;
  if (exit !== undefined || breakLoop !== undefined) scope.action ??= action;
}

function scopeOf(state: ThreadState, path: string): Scope {
  let scope = state.scopes.get(path);
  if (scope === undefined) {
    scope = newScope(path);
    state.scopes.set(path, scope);
  }
  return scope;
}
