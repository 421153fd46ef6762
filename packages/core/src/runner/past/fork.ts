// Makes a thread with the past of another one. Whole lines are shared. If the point cuts a line, the facts before the point are
// written anew, with those that make the fork a thread that can be resumed: one append. The other thread is only read.

import { BelayError, belayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import { encode, type Line } from "../../journal/codec.ts";
import { namedAs } from "../../journal/naming.ts";
import { reduce } from "../../journal/reduce.ts";
import { snapshotIfDue } from "../../journal/snapshot.ts";
import { newThread } from "../../journal/state.ts";
import { type KnownOptions, refuseUnknown } from "../../refuse-unknown.ts";
import type { Append, Appended, Store, ThreadKey } from "../../store/store.ts";
import { forkFacts } from "../decide/fork-facts.ts";
import { listedAfter } from "../decide/listing.ts";
import { asked } from "../decide/requests.ts";
import type { Setup } from "../given/setup.ts";
import { type Effect, effectsAfter } from "../read/effects.ts";
import { type ReadPast, readPast } from "../read/read-past.ts";
import { storeError } from "../read/store-error.ts";

/** The point of a fork: after a seq, after a message, or before a message. */
export type ForkOptions = {
  /** The id of the new thread. */
  readonly as?: string | undefined;
} & (
  | { readonly at: number | string; readonly before?: undefined }
  /** The id of a message. Messages that were recorded together with it are left out, too. */
  | { readonly before: string; readonly at?: undefined }
);

const OPTIONS: KnownOptions<ForkOptions> = { as: true, at: true, before: true };

const TRIES = 3;

/** Checks the options of fork(). The journal shows whether there is such a point. */
export function readFork(options: ForkOptions): ForkOptions {
  refuseUnknown("fork()", options ?? {}, OPTIONS);
  return options ?? {};
}

/** Makes the fork `threadId`; `checked` may refuse the agent first. Resolves to the effects after the point. */
export async function forkThread(
  setup: Setup,
  of: ThreadKey,
  threadId: string,
  options: ForkOptions,
  checked: (agent: string) => void,
): Promise<readonly Effect[]> {
  const past = await readPast(setup.store, of);
  if (past.damage !== undefined) throw past.damage.error;
  const point = pointOf(of.threadId, past, options);
  checked(past.agent);
  await writeFork(setup, of, threadId, past, point);
  return effectsAfter(past.facts, point);
}

/** Returns the seq of the last fact that the fork shares with the other thread. */
function pointOf(threadId: string, { facts, lines }: ReadPast, options: ForkOptions): number {
  const { at, before } = (options ?? {}) as { readonly at?: unknown; readonly before?: unknown };
  const head = facts.length;
  const refused = (point: unknown) =>
    belayError("FORK_POINT", { threadId, point: JSON.stringify(point) ?? "nothing", head });
  if ((at === undefined) === (before === undefined)) throw refused(at === undefined ? undefined : { at, before });
  if (typeof at === "number") {
    if (Number.isInteger(at) && at >= 0 && at <= head) return at;
    throw refused(at);
  }
  const told = factsOfMessage(facts, lines, at ?? before);
  const [first] = told;
  if (first === undefined) throw refused(at ?? before);
  return before === undefined ? told.at(-1)!.seq : lineOf(lines, first).seq - 1;
}

/** Returns the facts of one shown message, in order: several facts may be shown as one message. */
function factsOfMessage(facts: readonly Fact[], lines: readonly Line[], id: unknown): readonly Fact[] {
  const said = facts.filter((fact) => fact.type === "message" && fact.message.id === id);
  const [first] = said;
  if (first !== undefined) {
    const { seq, count } = lineOf(lines, first);
    // One input may be recorded for several agents, at once or later. An answer that was cut may be continued.
    const ends = facts.filter((fact) => fact.type === "message" && fact.message.continues === id);
    return [...said.filter((fact) => fact.seq < seq + count), ...ends];
  }
  // The results of an answer's calls, and a late one that came as a note.
  const answer = facts.find((fact) => fact.type === "message" && `${fact.message.id}.r` === id);
  const calls =
    answer?.type === "message" ? answer.message.parts.flatMap((part) => (part.type === "call" ? part.id : [])) : [];
  return facts.filter(
    (fact) =>
      (fact.type === "tool-end" && !fact.held && calls.includes(fact.callId)) ||
      (fact.type === "tool-late" && fact.as === "note" && `${fact.callId}.late` === id),
  );
}

function lineOf(lines: readonly Line[], fact: Fact): Line {
  return lines.findLast(({ seq }) => seq <= fact.seq)!;
}

/** Writes the fork by one append. `wanted` is the seq of the last shared fact. */
export async function writeFork(
  setup: Setup,
  of: ThreadKey,
  threadId: string,
  { facts, lines, agent }: ReadPast,
  wanted: number,
): Promise<void> {
  const { clock, owner: take, leaseTtlMs: ttlMs, store } = setup;
  const shared = lastEnd(lines, wanted);
  const forked = { threadId: of.threadId, seq: shared };
  const state = newThread(threadId);
  for (const fact of facts.slice(0, shared)) reduce(state, fact);
  const point = settledPoint(facts, shared, wanted, state.run?.id);
  const snapshot = snapshotIfDue(state);
  const at = clock.now();
  const cut = facts.slice(shared, point).map((fact): Fact => ({ ...fact, threadId, at }));
  for (const fact of cut) reduce(state, fact);
  // All facts of an append are of one segment: that of the line that is cut, if one is.
  const { runId = clock.id(), segment = 1 } = cut[0] ?? { runId: state.run?.id, segment: state.run?.segment };
  const place: FramePlace = {
    threadId,
    runId,
    segment,
    agentName: agent,
    runPath: agent,
  };
  const own = forkFacts(place, state, { ...forked, seq: point }, clock).map(
    (fact, i): Fact => ({ ...fact, at, seq: point + 1 + i }),
  );
  for (const fact of own) reduce(state, fact);
  const named = namedAs(state, setup.titles);
  const append: Append = {
    appendId: `${take}.fork.${clock.id()}`,
    expect: shared,
    count: cut.length + own.length,
    at,
    body: encode([...cut, ...own]),
    writer: { take, ttlMs },
    release: true,
    agent,
    state: state.state,
    parent: forked,
    listed: listedAfter(state, [], state.state, true),
    ...((named.title !== undefined || state.labels !== undefined) && { named }),
    // Commands in the shared facts belong to the other thread.
    ...asked(state, own, state.state === "paused"),
    ...(snapshot !== undefined && { snapshot }),
  };
  const appended = await persist(store, { ...of, threadId }, append);
  if (!appended.ok) throw refusal(of, threadId, appended);
}

/**
 * Returns the point of the fork. It leaves out an agent that has begun without its input, an input whose message is cut off,
 * and the facts by which a new run ends the one before it, `run`, if the new run itself is cut off.
 */
function settledPoint(facts: readonly Fact[], shared: number, wanted: number, run: string | undefined): number {
  const cut = facts.slice(shared, wanted);
  const begins = cut.some(({ type, runPath }) => type === "run-start" && !runPath.includes("/"));
  if (run !== undefined && cut[0]?.runId !== run && !begins) return shared;
  let point = wanted;
  while (point > shared && isHalf(facts[point - 1]!)) point -= 1;
  return point;
}

function isHalf({ type, runPath }: Fact): boolean {
  return type === "input-consumed" || (type === "run-start" && runPath.includes("/"));
}

function lastEnd(lines: readonly Line[], point: number): number {
  const last = lines.findLast(({ seq, count }) => seq + count - 1 <= point);
  return last === undefined ? 0 : last.seq + last.count - 1;
}

/** Makes the append again under the same id if the store's answer was lost. */
async function persist(store: Store, key: ThreadKey, append: Append): Promise<Appended> {
  for (let tries = 1; ; tries++) {
    try {
      return await store.append(key, append);
    } catch (error) {
      if (error instanceof BelayError || tries === TRIES) throw storeError(key, error);
    }
  }
}

function refusal(of: ThreadKey, threadId: string, appended: Exclude<Appended, { ok: true }>): BelayError {
  switch (appended.why) {
    case "conflict":
      return belayError("THREAD_EXISTS", { threadId });
    case "orphan":
      return belayError("THREAD_UNKNOWN", { threadId: of.threadId });
    case "busy":
    case "fenced":
    case "gone":
      return belayError("STORE_FAILED", { threadId, reason: `the store answers a fork with ${appended.why}` });
    default:
      return appended satisfies never;
  }
}
