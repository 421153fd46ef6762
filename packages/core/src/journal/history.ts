// A scope's history and the few ways it may grow. Invariants:
// 1. `prompt` is valid for every provider after each function here (H1): a message with calls enters it only when
//    each call has its result, and both enter together.
// 2. A message that has entered is never checked or copied again: a function costs as much as it adds.
// 3. A call that started can never read "not executed".

import type { StepEvent, ToolStartEvent } from "../event.ts";
import { callAddress, turnAddress } from "../interrupt/address.ts";
import type { Json } from "../json.ts";
import type { CallPart, Message, Outcome } from "../message.ts";
import { isBlank } from "../message.ts";
import { joined, lateNote, resultPart, sendable } from "./render.ts";
import type { CallState, Scope } from "./state.ts";

/** Adds an input of a person or the runtime. While calls are open it waits: nothing stands between a call and its result. */
export function addInput(scope: Scope, message: Message): void {
  if (scope.calls.length > 0) {
    scope.waiting.push(message);
    return;
  }
  if (scope.remembered !== undefined) remember(scope, scope.remembered);
  scope.messages.push(message);
  const sent = sendable(message, false);
  if (sent !== undefined) scope.prompt.push(sent);
  scope.last = "input";
}

/** Adds the remembered words of hooks to the prompt. */
function remember(scope: Scope, words: readonly Message[]): void {
  scope.remembered = undefined;
  for (const message of words) {
    const sent = sendable(message, false);
    if (sent !== undefined) addWords(scope, sent);
  }
}

/** Adds words of the agent that no model wrote. Words after an answer join it; a prompt does not begin with them. */
function addWords({ prompt }: Scope, sent: Message): void {
  const last = prompt.at(-1);
  if (last === undefined) return;
  if (last.role !== "assistant") prompt.push(sent);
  else prompt[prompt.length - 1] = { ...last, parts: [...last.parts, ...sent.parts] };
}

/** Adds the message of a hook after a stop. Readers see it in its place; the rest of the history does not change. */
export function addSaid(scope: Scope, message: Message): void {
  scope.said ??= [];
  scope.said.push({ message, after: scope.messages.at(-1)?.id });
  if (!message.remembered) return;
  scope.remembered ??= [];
  scope.remembered.push(message);
}

/** Returns the messages as readers see them. */
export function shownMessages({ messages, said }: Scope): Message[] {
  if (said === undefined) return messages.slice();
  const shown: Message[] = [];
  const left = new Set(said);
  const say = (after: string | undefined) => {
    for (const each of left) {
      if (each.after !== after) continue;
      shown.push(each.message);
      left.delete(each);
    }
  };
  say(undefined);
  let due: string[] = [];
  for (const [i, { id }] of messages.entries()) {
    shown.push(messages[i]!);
    due.push(id);
    // Nothing is shown between calls and their results.
    if (messages[i + 1]?.role === "tool") continue;
    for (const each of due) say(each);
    due = [];
  }
  // The messages that these followed are no longer in the history.
  return [...shown, ...[...left].map(({ message }) => message)];
}

/** Replaces the messages that a summary covers in the prompt. Readers keep the originals. */
export function addSummary(scope: Scope, message: Message, coversTo: string): void {
  const last = scope.prompt.findIndex(({ id }) => id === coversTo);
  if (last !== -1) scope.prompt.splice(0, last + 1, message);
}

/** Adds the answer of a model. With `continues` it is joined with the cut message at the end. */
export function addAnswer(scope: Scope, message: Message, turn: number): void {
  let whole = message;
  const cut = scope.messages.at(-1);
  if (message.continues !== undefined && scope.last === "cut" && cut !== undefined) {
    whole = joined(cut, message);
    scope.messages.pop();
    scope.prompt.pop();
  }
  scope.messages.push(whole);
  scope.turn = turn;
  scope.attempt = 0;
  const calls = openCalls(whole, scope.path, turn);
  if (calls !== undefined) {
    scope.calls = calls;
    scope.last = "calls";
    return;
  }
  const sent = sendable(whole, true);
  // The words of code: no model reads them there, and several may follow one another.
  if (sent !== undefined && whole.origin === "runtime") addWords(scope, sent);
  else if (sent !== undefined) scope.prompt.push(sent);
  scope.last = whole.interrupted === undefined ? "answer" : "cut";
}

function openCalls(message: Message, path: string, turn: number): CallState[] | undefined {
  let calls: CallState[] | undefined;
  for (const part of message.parts) {
    if (part.type !== "call") continue;
    const address = callAddress(turnAddress(path, turn), calls?.length ?? 0);
    const call: CallState = { part, address, status: "held", cut: false, result: undefined };
    if (calls === undefined) calls = [call];
    else calls.push(call);
  }
  return calls;
}

export function startCall(scope: Scope, { callId, segment, ranArgs, changedBy }: ToolStartEvent): void {
  const call = findCall(scope, callId);
  if (call === undefined) return;
  call.status = "started";
  if (call.cut) {
    scope.again ??= {};
    scope.again[callId] = segment;
  }
  // A doubt about an earlier try is settled by the new one.
  if (call.doubt !== undefined) delete call.doubt;
  if (call.resumes) delete call.resumes;
  if (ranArgs === undefined) return;
  call.ranArgs = ranArgs;
  if (changedBy === undefined) delete call.changedBy;
  else call.changedBy = changedBy;
  showRanArgs(scope, callId, changedBy === undefined ? { ranArgs } : { ranArgs, changedBy });
}

/** Shows readers both the arguments of the model and those that ran. */
function showRanArgs(scope: Scope, callId: string, ran: Pick<CallPart, "ranArgs" | "changedBy">): void {
  const index = groupIndex(scope);
  const message = scope.messages[index]!;
  const parts = message.parts.map((part) => (part.type === "call" && part.id === callId ? { ...part, ...ran } : part));
  scope.messages[index] = { ...message, parts };
}

export function addStep(scope: Scope, fact: StepEvent): void {
  const of = fact.callId === undefined ? scope : findCall(scope, fact.callId);
  if (of === undefined) return;
  const { key, value, error, seq: settled } = fact;
  of.steps ??= [];
  of.steps.push({ key, kind: "step", settled, ...(error === undefined ? { value: value ?? null } : { error }) });
}

/** Holds a call, which continues on resume(): it never ran, (`unknown`) a crash cut it, or (`interrupted`) it has recorded steps. */
export function holdCall(scope: Scope, callId: string, outcome: Outcome): void {
  const call = findCall(scope, callId);
  if (call === undefined) return;
  if (call.status === "started" && outcome === "not-executed") call.passed = true;
  call.status = "held";
  if (outcome === "unknown") call.cut = true;
  if (outcome === "interrupted") call.resumes = true;
}

export function endCall(scope: Scope, callId: string, outcome: Outcome, output: Json): void {
  const call = findCall(scope, callId);
  if (call === undefined) return;
  call.status = "ended";
  call.result = resultPart(call.part, outcome, output, call.ranArgs, call.changedBy);
  showResults(scope);
  if (scope.calls.every((c) => c.status === "ended")) closeGroup(scope);
}

/** Ends the open calls without running them. `drop` removes them if none of them ever ran. */
export function closeCalls(scope: Scope, repair: "synthetic" | "drop"): void {
  if (scope.calls.length === 0) return;
  if (repair === "drop" && scope.calls.every(neverRan)) return dropGroup(scope);
  for (const call of scope.calls) {
    if (call.status === "ended") continue;
    const outcome = call.status === "held" ? heldOutcome(call) : "unknown";
    call.result = resultPart(call.part, outcome, null);
    call.status = "ended";
  }
  showResults(scope);
  closeGroup(scope);
}

function neverRan(call: CallState): boolean {
  return call.status === "held" && heldOutcome(call) === "not-executed";
}

/** Returns the outcome so far of a held call: it has recorded steps to continue from, a crash cut it, or it never ran. */
export function heldOutcome({ cut, resumes }: { readonly cut: boolean; readonly resumes?: boolean }): Outcome {
  return resumes ? "interrupted" : cut ? "unknown" : "not-executed";
}

/**
 * True while the result of the call can be replaced: it is not that of a later try, no answer was recorded after it, and no
 * summary covers it.
 */
export function isReplaceable(scope: Scope, callId: string, segment: number): boolean {
  // The result is that of a later try.
  if (segment < (scope.again?.[callId] ?? 0)) return false;
  const index = resultIndex(scope.messages, callId);
  if (index === undefined) return false;
  const told = scope.messages[index]!.parts.find((part) => part.type === "result" && part.id === callId);
  if (told?.type === "result" && told.outcome === "ok") return false;
  return findCall(scope, callId) !== undefined || resultIndex(scope.prompt, callId) !== undefined;
}

/** Adds the late result of a call that was left behind: in place of the recorded result, or as a note. */
export function lateResult(
  scope: Scope,
  callId: string,
  as: "replace" | "note",
  outcome: Outcome,
  output: Json,
  at: number,
): void {
  if (as === "note") {
    const text = lateNote(callId, outcome, output);
    addInput(scope, { id: `${callId}.late`, role: "user", parts: [{ type: "text", text }], at, origin: "runtime" });
    return;
  }
  for (const messages of [scope.messages, scope.prompt]) {
    const index = resultIndex(messages, callId);
    if (index === undefined) continue;
    const told = withResult(messages, index, callId, outcome, output);
    messages[index] = messages === scope.prompt ? sendable(told, false)! : told;
  }
  for (const call of scope.calls) {
    if (call.part.id === callId) call.result = resultPart(call.part, outcome, output, call.ranArgs, call.changedBy);
  }
}

/** True if an input of a person follows the result of the call, and no answer follows either. */
export function isSpokenTo({ messages }: Scope, callId: string): boolean {
  const index = resultIndex(messages, callId) ?? messages.length;
  return messages.slice(index).some(({ role, origin }) => role === "user" && origin === "person");
}

/** Returns the index of the message with the result of a call, if no answer follows it. */
function resultIndex(messages: readonly Message[], callId: string): number | undefined {
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i]!;
    if (message.role === "assistant") return undefined;
    if (message.parts.some((part) => part.type === "result" && part.id === callId)) return i;
  }
  return undefined;
}

/** Returns the message at `index` with another result of the call. Its calls are in the message before. */
function withResult(
  messages: readonly Message[],
  index: number,
  callId: string,
  outcome: Outcome,
  output: Json,
): Message {
  const message = messages[index]!;
  const call = messages[index - 1]?.parts.find((part): part is CallPart => part.type === "call" && part.id === callId);
  const parts = message.parts.map((part) =>
    part.type === "result" && part.id === callId
      ? resultPart(call ?? part, outcome, output, call?.ranArgs, call?.changedBy)
      : part,
  );
  return { ...message, parts };
}

/** Returns the index of the message with the open calls: the last, or the one before their results. */
function groupIndex(scope: Scope): number {
  const end = scope.messages.length - 1;
  return scope.messages[end]!.role === "tool" ? end - 1 : end;
}

function showResults(scope: Scope): void {
  const index = groupIndex(scope);
  const answer = scope.messages[index]!;
  const [only] = scope.calls;
  const parts =
    scope.calls.length === 1
      ? [only!.result!]
      : scope.calls.flatMap(({ result }) => (result === undefined ? [] : [result]));
  scope.messages[index + 1] = { id: `${answer.id}.r`, role: "tool", parts, at: answer.at, origin: "runtime" };
}

function closeGroup(scope: Scope): void {
  const end = scope.messages.length - 1;
  scope.prompt.push(sendable(scope.messages[end - 1]!, true)!, sendable(scope.messages[end]!, false)!);
  scope.calls = [];
  scope.last = "results";
  letIn(scope);
}

function letIn(scope: Scope): void {
  if (scope.waiting.length === 0) return;
  for (const message of scope.waiting.splice(0)) addInput(scope, message);
}

function dropGroup(scope: Scope): void {
  const answer = scope.messages.pop()!;
  scope.calls = [];
  const parts = answer.parts.filter((part) => part.type !== "call");
  if (!parts.some((part) => part.type === "text" && !isBlank(part.text))) {
    const before = scope.messages.at(-1);
    scope.last = before === undefined ? "nothing" : before.role === "tool" ? "results" : "input";
    return letIn(scope);
  }
  const rest: Message = { ...answer, parts, interrupted: answer.interrupted ?? { by: "user", at: answer.at } };
  scope.messages.push(rest);
  scope.prompt.push(sendable(rest, true)!);
  scope.last = "cut";
  letIn(scope);
}

export function findCall(scope: Scope, callId: string): CallState | undefined {
  for (const call of scope.calls) if (call.part.id === callId) return call;
  return undefined;
}
