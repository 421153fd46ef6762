// A thread that begins from another one's past. Whole lines are shared; of a line that the point cuts, what stands before
// it is written anew, with what makes the fork a thread that can go on: one append, and the other thread is only read.

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

/** Where to fork: with what is on record up to a seq or with a message, or before a message was there. */
export type ForkOptions = {
  /** The id of the new thread. */
  readonly as?: string | undefined;
} & (
  | { readonly at: number | string; readonly before?: undefined }
  /** The id of a message. What was said together with it is taken back together. */
  | { readonly before: string; readonly at?: undefined }
);

const OPTIONS: KnownOptions<ForkOptions> = { as: true, at: true, before: true };

const TRIES = 3;

/** Which point is meant, and whether there is one, is judged by what the thread has on record. */
export function readFork(options: ForkOptions): ForkOptions {
  refuseUnknown("fork()", options ?? {}, OPTIONS);
  return options ?? {};
}

/** Makes the fork `threadId`; `checked` may refuse the agent first. What took effect beyond the point. */
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

/** The seq of the last fact that the fork has in common with the other thread. */
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

/** What a message of a session was made of, in order: people may see several facts as one. */
function factsOfMessage(facts: readonly Fact[], lines: readonly Line[], id: unknown): readonly Fact[] {
  const said = facts.filter((fact) => fact.type === "message" && fact.message.id === id);
  const [first] = said;
  if (first !== undefined) {
    const { seq, count } = lineOf(lines, first);
    // The same words may be told to several agents, at once or later; an answer that was cut may go on.
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

/** One append. `wanted` is the seq of the last fact in common. */
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
  // All facts of an append are of one stretch: that of the line which is cut, where one is.
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
    listed: listedAfter(state, [], state.state),
    ...((named.title !== undefined || state.labels !== undefined) && { named }),
    // What the facts in common asked for is the other thread's.
    ...asked(state, own, state.state === "paused"),
    ...(snapshot !== undefined && { snapshot }),
  };
  const appended = await persist(store, { ...of, threadId }, append);
  if (!appended.ok) throw refusal(of, threadId, appended);
}

/**
 * An agent that has begun and was not told what to do yet, or an input whose words are cut off, is not there at all; nor is
 * what a new run ends of the one before it, `run`, where it has not begun itself.
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

/** An answer that was lost is asked for again, under the same id. */
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
