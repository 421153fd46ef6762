// The next step of an open call, read from its record: run, wait for a person, end with an answer, or continue in
// memory. The same question for a call of this turn and for one that another process left.

import { belayError } from "../error.ts";
import type { Fact } from "../event.ts";
import type { Frame } from "../frame.ts";
import { hookFailed } from "../hooks/call-hooks.ts";
import type { Hook } from "../hooks/hooks.ts";
import type { Decision } from "../interrupt/decision.ts";
import { callDigest } from "../interrupt/digest.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import { rerunAddress } from "../interrupt/rerun.ts";
import type { CallState } from "../journal/state.ts";
import type { Json } from "../json.ts";
import type { Outcome } from "../message.ts";
import { LiveCall } from "../tool/call.ts";
import { type PreparedCall, prepareCall, type ReadyCall } from "../tool/prepare-call.ts";
import type { ChatDefinition } from "./definition.ts";
import { argsOf, denial, doubtOf, gateOf } from "./gate.ts";
import { askHooks, beforeToolHooks } from "./tool-hooks.ts";

/** It waits for a person; `raise` has the requests that are not raised yet, `waits` the raised ones. */
export interface AskingCall {
  readonly call: CallState;
  readonly raise?: Interrupt;
  readonly waits: readonly string[];
}

/** It has its end without running. */
export interface SettledCall {
  readonly call: CallState;
  readonly outcome: Outcome;
  readonly output: Json;
}

/** A call whose code waits in memory. */
export interface AdoptedCall {
  readonly call: CallState;
  readonly live: LiveCall;
}

/** A call to leave alone for now. */
export interface LeftCall {
  readonly call: CallState;
  readonly left: true;
}

export type NextCall = PreparedCall | AskingCall | SettledCall | AdoptedCall | LeftCall;

export function newCall(frame: Frame, agent: ChatDefinition, call: CallState): NextCall | Promise<NextCall> {
  const hooks = beforeToolHooks(frame, agent, call);
  if (hooks !== undefined) return hookedCall(frame, agent, call, hooks);
  const prepared = prepareCall(agent.tools, call);
  return prepared instanceof Promise
    ? prepared.then((ready) => gated(frame, agent, ready))
    : gated(frame, agent, prepared);
}

/** Calls the hooks before the judgement, which is about their arguments. Rejects with HOOK_FAILED. */
async function hookedCall(
  frame: Frame,
  agent: ChatDefinition,
  call: CallState,
  hooks: readonly Hook[],
): Promise<NextCall> {
  const made = await askHooks(frame, call, hooks);
  if (made === undefined) return { call, left: true };
  if ("outcome" in made) return { call, ...made };
  const { ranArgs } = made;
  const ready = await prepareCall(agent.tools, call, ranArgs);
  if (ranArgs === undefined) return gated(frame, agent, ready);
  // The last words of it are for a model.
  if ("refusal" in ready) throw hookFailed(frame, "beforeTool", ready.refusal.replace(" Call the tool again.", ""));
  return gated(frame, agent, { ...ready, changedBy: "hook" });
}

function gated(frame: Frame, agent: ChatDefinition, ready: PreparedCall): NextCall | Promise<NextCall> {
  if ("refusal" in ready) return ready;
  const gate = gateOf(frame, agent, ready);
  if (!(gate instanceof Promise)) return ready;
  return gate.then((decided): NextCall => {
    switch (decided.effect) {
      case "allow":
        return decided.rule === undefined ? ready : { rule: decided.rule, ...ready };
      case "ask":
        return { call: ready.call, raise: decided.interrupt, waits: [decided.interrupt.id] };
      case "deny":
        return { call: ready.call, outcome: "rejected", output: decided.words };
      default:
        return decided satisfies never;
    }
  });
}

/** `lost` collects the ends of tries that a crash cut off. Undefined if there is no other step. */
export function openCall(
  frame: Frame,
  agent: ChatDefinition,
  call: CallState,
  lost: Fact[],
): NextCall | Promise<NextCall> | undefined {
  if (call.status === "started") return startedCall(frame, agent, call, lost);
  // It asked to be run again, and waits for resume().
  if (frame.desk.isToRerun(rerunAddress(call.address))) return { call, waits: [] };
  if (call.resumes) return goesOn(frame, agent, call, "resumes");
  const { gate } = call;
  if (gate === undefined && !call.cut)
    return call.passed ? passedCall(frame, agent, call) : newCall(frame, agent, call);
  if (gate === undefined) return cutCall(frame, agent, call, lost);
  const decision = frame.desk.request(gate)?.decision;
  if (decision === undefined) return { call, waits: [gate] };
  return call.cut ? cutCall(frame, agent, call, lost) : decidedCall(frame, agent, call, decision);
}

function startedCall(
  frame: Frame,
  agent: ChatDefinition,
  call: CallState,
  lost: Fact[],
): NextCall | Promise<NextCall> | undefined {
  // A call to an agent is never in doubt: its work is on record, and it continues from there.
  if (agent.tools.get(call.part.tool)?.agent !== undefined) return goesOn(frame, agent, call, "goesOn");
  const live = frame.desk.hot.take(call.address);
  if (live instanceof LiveCall) return { call, live };
  const asks = call.steps?.flatMap(({ requestId }) => requestId ?? []) ?? [];
  // Its own question was answered in this segment: it begins again, from its recorded steps.
  const { from } = frame.beginning;
  if (asks.some((id) => (frame.desk.request(id)?.settled ?? 0) > from)) return goesOn(frame, agent, call, "goesOn");
  const waits = asks.filter((id) => frame.desk.request(id)?.decision === undefined);
  if (waits.length > 0) return { call, waits };
  return cutCall(frame, agent, call, lost);
}

/** Continues from its recorded steps: if it is on record as started, or (`resumes`) was held after it ran in part. */
async function goesOn(
  frame: Frame,
  agent: ChatDefinition,
  call: CallState,
  how: "goesOn" | "resumes",
): Promise<NextCall> {
  const ready = await prepareCall(agent.tools, call, call.ranArgs);
  const bar = barOf(frame, agent, ready);
  if (bar === undefined) return { [how]: true, ...(ready as ReadyCall), ...changer(call) };
  return { call, outcome: "error", output: `It had begun, and cannot go on: ${bar}` };
}

/** It ran before and was cut off: a call that may no longer run can still have taken effect. */
async function again(frame: Frame, agent: ChatDefinition, call: CallState): Promise<NextCall> {
  const ready = await prepareCall(agent.tools, call, call.ranArgs);
  const bar = barOf(frame, agent, ready);
  if (bar === undefined) return { ...ready, ...changer(call) };
  return { call, outcome: "unknown", output: `It was not run again: ${bar}` };
}

/** Returns a call whose start was on record and that never began. It was judged then. */
function passedCall(frame: Frame, agent: ChatDefinition, call: CallState): NextCall | Promise<NextCall> {
  const judged = (ready: PreparedCall): NextCall => {
    const bar = "refusal" in ready ? undefined : barOf(frame, agent, ready);
    return bar === undefined ? { ...ready, ...changer(call) } : { call, outcome: "rejected", output: bar };
  };
  const ready = prepareCall(agent.tools, call, call.ranArgs);
  return ready instanceof Promise ? ready.then(judged) : judged(ready);
}

function changer({ changedBy }: Pick<CallState, "changedBy">): Pick<ReadyCall, "changedBy"> {
  return changedBy === undefined ? {} : { changedBy };
}

/** A crash cut it off: by its tool's policy. */
function cutCall(
  frame: Frame,
  agent: ChatDefinition,
  call: CallState,
  lost: Fact[],
): NextCall | Promise<NextCall> | undefined {
  const runAgain = () => {
    if (call.status === "started") lost.push(frame.toolEnd(call, "unknown", null, true));
    return again(frame, agent, call);
  };
  const policy = agent.tools.get(call.part.tool)?.onCrash ?? "fail";
  if (policy === "retry") return runAgain();
  const doubt = call.doubt === undefined ? undefined : frame.desk.request(call.doubt);
  if (doubt?.decision !== undefined) return doubtSettled(call, doubt.decision, runAgain);
  if (doubt !== undefined) return { call, waits: [doubt.interrupt.id] };
  if (!frame.beginning.mayCallModel) return { call, left: true };
  if (policy === "fail" || frame.desk.unattended) {
    // At once, in any case: every start has its end.
    lost.push(frame.toolEnd(call, "unknown", null, false));
    return undefined;
  }
  // The earlier try has ended, with any outcome.
  if (call.status === "started") lost.push(frame.toolEnd(call, "unknown", null, true));
  const raise = doubtOf(frame, call);
  return { call, raise, waits: [raise.id] };
}

function doubtSettled(
  call: CallState,
  decision: Decision,
  again: () => NextCall | Promise<NextCall>,
): NextCall | Promise<NextCall> {
  switch (decision.how) {
    case "approved":
      return again();
    case "responded":
      return { call, outcome: "ok", output: decision.value };
    case "rejected":
      return { call, outcome: "unknown", output: decision.reason };
    case "expired":
    case "withdrawn":
      return { call, outcome: "unknown", output: null };
    default:
      return decision satisfies never;
  }
}

/** A person has decided about a call before it ran. */
function decidedCall(
  frame: Frame,
  agent: ChatDefinition,
  call: CallState,
  decision: Decision,
): NextCall | Promise<NextCall> {
  const rejected = (output: string): SettledCall => ({ call, outcome: "rejected", output });
  switch (decision.how) {
    case "approved":
      return approvedCall(frame, agent, call, decision.args);
    case "rejected":
      return rejected(decision.reason === "" ? "a person rejected it." : `a person rejected it: ${decision.reason}`);
    case "responded":
      return { call, outcome: "ok", output: decision.value };
    case "expired":
      if (decision.counts === "approve") return approvedCall(frame, agent, call, undefined);
      if (decision.counts === "reject") return rejected("nobody approved it in time.");
      return { call, outcome: "error", output: expiredWords(frame, call) };
    case "withdrawn":
      return { call, outcome: "not-executed", output: null };
    default:
      return decision satisfies never;
  }
}

function expiredWords(frame: Frame, call: CallState): string {
  const { id, expiresAt = 0 } = frame.desk.request(call.gate!)!.interrupt;
  return belayError("ANSWER_EXPIRED", { id, expiredAt: new Date(expiresAt).toISOString() }).message;
}

async function approvedCall(
  frame: Frame,
  agent: ChatDefinition,
  call: CallState,
  edited: Json | undefined,
): Promise<NextCall> {
  // The person approved the hooks' arguments, unless the person has edited them.
  const { args, changedBy } = frame.desk.request(call.gate!)!.interrupt;
  const hooked = changedBy !== undefined && edited === undefined;
  const ready = await prepareCall(agent.tools, call, hooked ? args : edited);
  const bar = "refusal" in ready ? undefined : barOf(frame, agent, ready);
  if (bar !== undefined) return { call, outcome: "rejected", output: bar };
  return hooked ? { ...ready, ...changer({ changedBy }) } : ready;
}

/**
 * Returns the reason why a call that may run by its record does not. Only the approved call runs: its tool, its version and its
 * arguments are compared, then its schema and the rules that forbid (Q5).
 */
function barOf(frame: Frame, agent: ChatDefinition, ready: PreparedCall): string | undefined {
  if ("refusal" in ready) return ready.refusal;
  const { call, tool } = ready;
  const args = argsOf(ready);
  const gate = call.gate === undefined ? undefined : frame.desk.request(call.gate);
  if (gate !== undefined) {
    const { interrupt, decision } = gate;
    const approved = decision?.how === "approved" ? decision.digest : undefined;
    // One that began before a fork was approved for the thread that it was forked from.
    const threadId = gate.decidedIn ?? frame.place.threadId;
    const digest = callDigest(tool.name, tool.version, args, threadId, call.address);
    if (digest !== (approved ?? interrupt.digest)) {
      const was = `${interrupt.tool} version ${interrupt.version}`;
      const problem = `what was approved (${was}) is not what would run now (${tool.name} version ${tool.version})`;
      return `${problem}. Call the tool again to ask anew.`;
    }
  }
  return denial(frame, agent, tool, args);
}
