// The rules of a journal with requests, and of the real effects beside it.

import { BelayError, errorText } from "../error.ts";
import type { Fact, RequestAnsweredEvent, ToolEndEvent, ToolStartEvent } from "../event.ts";
import { type Interrupt, isRequest } from "../interrupt/interrupt.ts";
import { isView } from "../interrupt/view.ts";

interface Asked {
  readonly interrupt: Interrupt;
  /** Approvals below the quorum, by digest. */
  readonly votes: { readonly by: string; readonly digest: string | undefined }[];
  decided: RequestAnsweredEvent | undefined;
}

/**
 * A request is raised once and decided at most once, in time and by enough people; nothing runs that was not approved,
 * or otherwise than it was; a step is recorded once, while its call runs; at the end of a run nothing is open, nor inside an
 * agent or a call that has ended.
 */
export function requestProblems(facts: readonly Fact[]): string[] {
  const problems: string[] = [];
  const requests = new Map<string, Asked>();
  const running = new Set<string>();
  const steps = new Set<string>();
  /** A fork writes its part of a cut line again, with its own time. */
  const forkedAt = new Set(facts.flatMap((fact) => (fact.type === "state" && fact.forked ? [fact.at] : [])));
  /** Calls and agents that have ended, well or not, and were not begun again. */
  const ended = new Set<string>();
  /** Those of them that had no output. */
  const failed = new Set<string>();
  for (const fact of facts) {
    switch (fact.type) {
      case "action": {
        const { interrupted: interrupt } = fact.action;
        if (!isRequest(interrupt)) break;
        const { id, callId, key } = interrupt;
        if (requests.has(id)) problems.push(`request ${id} is raised again`);
        if (key !== undefined && callId !== undefined && !running.has(callId)) {
          problems.push(`request ${id} is raised by call ${callId}, which does not run`);
        }
        if (interrupt.replaces !== undefined) requests.delete(interrupt.replaces);
        requests.set(id, { interrupt, votes: [], decided: undefined });
        break;
      }
      case "request-answered": {
        const request = requests.get(fact.id);
        if (fact.refused !== undefined) break;
        if (request === undefined) problems.push(`request ${fact.id} is answered and was never raised`);
        else problems.push(...decide(request, fact, forkedAt.has(fact.at)));
        break;
      }
      case "tool-start":
        running.add(fact.callId);
        for (const request of requests.values()) problems.push(...startProblems(request, fact));
        break;
      case "tool-end":
        running.delete(fact.callId);
        if (!fact.held) ended.add(`${fact.address}/`);
        break;
      case "run-end":
        if (!fact.runPath.includes("/")) break;
        if (fact.status !== "failed" || !FAILS_ALL.test(fact.runPath)) ended.add(`${fact.runPath}/`);
        if (fact.status === "completed") failed.delete(`${fact.runPath}/`);
        else failed.add(`${fact.runPath}/`);
        break;
      case "run-start":
        if (fact.runPath.includes("/")) ended.delete(`${fact.runPath}/`);
        else ended.clear();
        break;
      case "step": {
        const { callId, address, runId } = fact;
        const once = `${runId} ${address}`;
        if (steps.has(once)) problems.push(`step ${address} is recorded twice`);
        if (callId !== undefined && !running.has(callId)) {
          problems.push(`step ${address} is recorded while its call does not run`);
        }
        steps.add(once);
        break;
      }
      case "state": {
        // Cut from the line that ended all of them, a fork continues the ones without a result.
        if (fact.forked !== undefined) for (const path of failed) ended.delete(path);
        if (fact.state === "paused") problems.push(...forgotten(requests, ended, fact.seq));
        if (fact.state !== "completed" && fact.state !== "terminated") break;
        for (const [id, { decided }] of requests) {
          if (decided === undefined) problems.push(`${fact.state} at ${fact.seq} while request ${id} is open`);
        }
        break;
      }
      default:
        break;
    }
  }
  return problems;
}

/**
 * One with a number, or a node: the agent around it fails with it, at the latest when the others have ended, and both are tried
 * again. Code may catch the error.
 */
const FAILS_ALL = /(\/[\d.]+|#\d+):[^/]*$/;

/** No request is open that no code waits for: in a pause nothing is open inside an ended agent. A failed run may continue with it. */
function forgotten(requests: ReadonlyMap<string, Asked>, ended: ReadonlySet<string>, seq: number): string[] {
  return [...requests.values()].flatMap(({ interrupt: { id, address }, decided }) => {
    const over = decided === undefined ? [...ended].find((path) => address.startsWith(path)) : undefined;
    return over === undefined ? [] : [`paused at ${seq}, and request ${id} is open inside ${over}, which has ended`];
  });
}

function decide(request: Asked, fact: RequestAnsweredEvent, isCopied: boolean): string[] {
  const { interrupt, votes } = request;
  const { id, by, answer, digest, at } = fact;
  const { expiresAt = Number.POSITIVE_INFINITY, quorum = 1 } = interrupt;
  const problems: string[] = [];
  const { decided } = request;
  if (decided !== undefined) {
    problems.push(`request ${id} is decided twice: ${words(decided)}, then ${words(fact)}`);
  }
  const same = votes.filter((vote) => vote.digest === digest);
  if (answer.type === "approve" || answer.type === "respond") {
    if (same.some((vote) => vote.by === by)) problems.push(`request ${id} is approved twice by ${by}`);
    if (!fact.open && same.length + 1 < quorum) {
      problems.push(`request ${id} is approved by ${same.length + 1}, and needs ${quorum}`);
    }
  }
  if (answer.type === "expire" && at < expiresAt) problems.push(`request ${id} expires before its time`);
  const late = answer.type !== "expire" && answer.type !== "withdraw" && at >= expiresAt && !isCopied;
  if (late) problems.push(`request ${id} is answered after its time`);
  if (fact.open) votes.push({ by, digest });
  else request.decided ??= fact;
  return problems;
}

function words({ by, answer }: RequestAnsweredEvent): string {
  return `${answer.type} by ${by}`;
}

/** Checks that a call that waits for approval starts only after it, and with the approved arguments. */
function startProblems({ interrupt, decided }: Asked, start: ToolStartEvent): string[] {
  const { callId, kind, key } = interrupt;
  if (callId !== start.callId || kind !== "approval" || key !== undefined) return [];
  if (!allows(interrupt, decided))
    return [`call ${callId} starts, and its request is ${decided?.answer.type ?? "open"}`];
  const edited = decided?.answer.type === "approve" ? decided.answer.args : undefined;
  const allowed = edited ?? (interrupt.changedBy === undefined ? undefined : interrupt.args);
  const ran = JSON.stringify(start.ranArgs);
  if (ran === JSON.stringify(allowed)) return [];
  return [
    `call ${callId} starts with ${ran ?? "its own arguments"}, approved was ${JSON.stringify(allowed) ?? "them"}`,
  ];
}

function allows({ onExpire }: Interrupt, decided: RequestAnsweredEvent | undefined): boolean {
  const type = decided?.answer.type;
  return type === "approve" || (type === "expire" && onExpire === "approve");
}

/** Something that really happened, named by the address of its call, or by one below it. */
export interface Effect {
  readonly name: string;
  /** The key of an ask of its call that comes before it. */
  readonly after?: string | undefined;
  /** The last fact of the journal at that moment, if it is known. */
  head?: number;
}

interface Known {
  readonly address: string;
  readonly callId: string;
  started: number;
  told: string | undefined;
}

/** The run in which the thread was when `head` was its last fact; undefined if that is not known. */
export function runAt(facts: readonly Fact[], head: number | undefined): string | undefined {
  if (head === undefined) return undefined;
  return facts.findLast(({ type, seq, runPath }) => type === "run-start" && seq <= head && !runPath.includes("/"))
    ?.runId;
}

/**
 * Checks that each effect was on record before it happened, is reported truly, comes after its answer, and is no step that
 * was recorded. Addresses repeat over runs: an effect is compared with the facts of its own run.
 */
export function effectProblems(facts: readonly Fact[], effects: readonly Effect[]): string[] {
  const byRun = new Map<string | undefined, Facts>();
  return effects.flatMap((effect) => {
    const run = runAt(facts, effect.head);
    let known = byRun.get(run);
    if (known === undefined) {
      known = read(run === undefined ? facts : facts.filter(({ runId }) => runId === run));
      byRun.set(run, known);
    }
    return problemsOf(effect, known);
  });
}

/** The record of one run. */
interface Facts {
  readonly calls: readonly Known[];
  readonly asks: ReadonlyMap<string, Asked>;
  readonly steps: ReadonlyMap<string, number>;
}

function read(facts: readonly Fact[]): Facts {
  const calls: Known[] = [];
  const callOf = ({ address }: ToolStartEvent | ToolEndEvent) => calls.find((known) => known.address === address);
  const asks = new Map<string, Asked>();
  const steps = new Map<string, number>();
  for (const fact of facts) {
    if (fact.type === "tool-start" && callOf(fact) === undefined) {
      calls.push({ address: fact.address, callId: fact.callId, started: fact.seq, told: undefined });
    } else if (fact.type === "tool-end" && !fact.held) {
      const call = callOf(fact);
      const { address, callId, outcome: told } = fact;
      if (call !== undefined) call.told = told;
      else calls.push({ address, callId, started: Number.POSITIVE_INFINITY, told });
    } else if (fact.type === "action") {
      const { interrupted: interrupt } = fact.action;
      // The view of a whole pause repeats requests that were raised.
      if (interrupt !== undefined && !isView(interrupt))
        asks.set(interrupt.id, { interrupt, votes: [], decided: undefined });
    } else if (fact.type === "request-answered" && !fact.open && fact.refused === undefined) {
      const ask = asks.get(fact.id);
      if (ask !== undefined) ask.decided ??= fact;
    } else if (fact.type === "step") {
      steps.set(fact.address, fact.seq);
    }
  }
  return { calls, asks, steps };
}

function problemsOf({ name, after, head = Number.POSITIVE_INFINITY }: Effect, { calls, asks, steps }: Facts): string[] {
  // The innermost: a call may be one to an agent that has calls of its own.
  const call = calls
    .filter(({ address }) => isBelow(name, address))
    .sort((a, b) => b.address.length - a.address.length)[0];
  const problems: string[] = [];
  if (call !== undefined) {
    if (call.started > head) problems.push(`effect ${name} happened before its call's start was on record`);
    if (call.told === "not-executed" || call.told === "rejected") {
      problems.push(`effect ${name} happened, and its call is told as ${call.told}`);
    }
  }
  for (const [address, seq] of steps) {
    if (isBelow(name, address) && seq <= head) problems.push(`effect ${name} happened when its step was recorded`);
  }
  for (const { interrupt, decided } of asks.values()) {
    const { kind, key, address, callId } = interrupt;
    // A turn that was dropped gave its address to the next one: the request of another call is not its gate.
    const isOfIt = call?.address !== address.slice(0, address.lastIndexOf("/")) || callId === call.callId;
    const gates =
      kind === "approval" && key === undefined && isOfIt && isBelow(name, address.slice(0, address.lastIndexOf("/")));
    if (gates && (!allows(interrupt, decided) || decided!.seq > head)) {
      problems.push(`effect ${name} happened, and its request is ${decided?.answer.type ?? "open"}`);
    }
  }
  if (after !== undefined) {
    const at = `${call?.address}/s:${after}`;
    const ask = [...asks.values()].find(({ interrupt }) => interrupt.address === at);
    const how = ask?.decided?.answer.type ?? "open";
    if (how === "open" || how === "withdraw" || ask!.decided!.seq > head) {
      problems.push(`effect ${name} happened after ${after}, which was ${how === "withdraw" ? "withdrawn" : "open"}`);
    }
  }
  return problems;
}

function isBelow(name: string, address: string): boolean {
  return name.startsWith(address) && !/^\w/.test(name.slice(address.length));
}

/** An answer to a request, and its fate. */
export interface SaidAnswer {
  readonly id: string;
  /** The person; no other answer to this request uses the name. */
  readonly by: string;
  /** It cannot count. */
  readonly vain: boolean;
  /** Undefined while it waits. */
  told: "it counts" | Error | undefined;
  /** Its process is dead, or stands still: the sender gets no reply. */
  lost: boolean;
}

/** Every sender gets a true reply: a counted answer is on record once, a refused one is not, and a refusal names the first answer. */
export function answerProblems(said: readonly SaidAnswer[], facts: readonly Fact[]): string[] {
  const answered = facts.filter((fact): fact is RequestAnsweredEvent => fact.type === "request-answered");
  return said.flatMap(({ id, by, vain, told, lost }) => {
    const here = `the answer to ${id} by ${by}`;
    if (told === undefined) return lost ? [] : [`${here} got no word`];
    const of = answered.filter((fact) => fact.id === id && fact.refused === undefined);
    const own = of.filter((fact) => fact.by === by);
    if (told !== "it counts") return refusalProblems(here, told, own, of);
    if (vain) return [`${here} counts`];
    return own.length === 1 ? [] : [`${here} counts, and is ${own.length} times on record`];
  });
}

function refusalProblems(
  here: string,
  refusal: Error,
  own: readonly RequestAnsweredEvent[],
  of: readonly RequestAnsweredEvent[],
): string[] {
  const decided = of.find((fact) => !fact.open);
  const how = decided?.answer.type;
  const untrue = [`${here} was refused (${refusal.message}), and the request is ${how ?? "open"}, by ${decided?.by}`];
  switch (refusal instanceof BelayError ? refusal.code : undefined) {
    case "ANSWER_TAKEN":
      return own.length > 0 || refusal.message.includes(` by ${decided?.by} at `) ? [] : untrue;
    case "ANSWER_WITHDRAWN":
      return how === "withdraw" ? [] : untrue;
    case "ANSWER_UNKNOWN":
      return of.length === 0 ? [] : untrue;
    case "ANSWER_EXPIRED":
    case "ANSWER_FORBIDDEN":
    case "ANSWER_INVALID":
      return own.length === 0 ? [] : untrue;
    default:
      return [`${here} was refused with ${errorText(refusal)}`];
  }
}
