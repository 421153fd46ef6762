// A cache of the fold, never the truth: the state that a run needs, without the past that it no longer needs. Messages
// that a summary covers are not in it; a person's view of them is folded from the lines when it is read.

import type { RequestState } from "../interrupt/decision.ts";
import type { Message, Part } from "../message.ts";
import { newThread, type Scope, type Taken, type ThreadState } from "./state.ts";

const VERSION = 6;

const LEAST_FACTS = 200;

/** How many characters of a snapshot one fact that need not be read is worth. */
const WORTH = 64;

/** The last messages of a scope that the fold itself looks at: a cut answer, or open calls and their results. */
const TAIL = 2;

interface Frozen
  extends Omit<
    ThreadState,
    "scopes" | "callIds" | "queued" | "taken" | "requests" | "partial" | "openOnly" | "snapshotSeq"
  > {
  readonly v: number;
  readonly scopes: readonly Scope[];
  readonly callIds: readonly string[];
  readonly queued: readonly string[] | undefined;
  readonly taken: readonly (readonly [string, Taken])[] | undefined;
  readonly requests: readonly (readonly [string, RequestState])[] | undefined;
}

function freeze(state: ThreadState): string {
  const { threadId, head, agent, state: now, pauseType, interrupts, view, tokenHash, tokenUntil, run, crashes } = state;
  const scopes = [...state.scopes.values()].map(
    (scope): Scope => ({ ...scope, messages: scope.messages.slice(-TAIL) }),
  );
  const frozen: Frozen = {
    v: VERSION,
    threadId,
    head,
    agent,
    state: now,
    pauseType,
    interrupts,
    view,
    tokenHash,
    tokenUntil,
    reruns: state.reruns,
    values: state.values,
    rules: state.rules,
    breakpoints: state.breakpoints,
    title: state.title,
    labels: state.labels,
    beginning: state.beginning,
    fingerprint: state.fingerprint,
    drift: state.drift,
    run,
    crashes,
    scopes,
    callIds: [...state.callIds],
    queued: state.queued && [...state.queued],
    taken: state.taken && [...state.taken],
    requests: state.requests && [...state.requests],
  };
  return JSON.stringify(frozen);
}

/**
 * Returns a snapshot of `state`, if it is worth its size: if a summary replaces the past, and the facts since the last
 * snapshot are several times its size.
 */
export function snapshotIfDue(state: ThreadState): string | undefined {
  const since = state.head - state.snapshotSeq;
  if (since < LEAST_FACTS || ![...state.scopes.values()].some(isSummarised)) return undefined;
  let size = 0;
  for (const scope of state.scopes.values())
    for (const { parts } of scope.prompt) for (const part of parts) size += weight(part);
  return size <= since * WORTH ? freeze(state) : undefined;
}

function isSummarised(scope: Scope): boolean {
  return scope.prompt[0]?.summary !== undefined;
}

function weight(part: Part): number {
  if (part.type === "text" || part.type === "reasoning") return part.text.length;
  if (part.type === "result" && typeof part.output === "string") return part.output.length;
  return 200;
}

/** Returns the fold of a snapshot; undefined if the snapshot has another version or shape. */
export function thaw(threadId: string, seq: number, body: string): ThreadState | undefined {
  let frozen: Frozen;
  try {
    frozen = JSON.parse(body) as Frozen;
  } catch {
    return undefined;
  }
  if (frozen?.v !== VERSION || frozen.threadId !== threadId || frozen.head !== seq) return undefined;
  const { v: _v, scopes, callIds, queued, taken, requests, ...plain } = frozen;
  const state: ThreadState = { ...newThread(threadId), ...plain, partial: true, snapshotSeq: seq };
  if (queued !== undefined) state.queued = new Set(queued);
  if (taken !== undefined) state.taken = new Map(taken);
  if (requests !== undefined) state.requests = new Map(requests);
  for (const scope of scopes) state.scopes.set(scope.path, shared(scope));
  for (const id of callIds) state.callIds.add(id);
  return state;
}

/** Restores one object for each message: identity means "unchanged". */
function shared(scope: Scope): Scope {
  const byId = new Map<string, Message>(scope.prompt.map((message) => [message.id, message]));
  const messages = scope.messages.map((message) => {
    const same = byId.get(message.id);
    return same !== undefined && JSON.stringify(same) === JSON.stringify(message) ? same : message;
  });
  const calls = scope.calls.map((call) => ({ ...call, result: call.result ?? undefined }));
  return { ...scope, messages, calls };
}
