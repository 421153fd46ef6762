// Makes an append from the facts of one batch: their seqs and time, the line, and the copies of them that the store lists by.

import type { Fact } from "../../event.ts";
import { encode } from "../../journal/codec.ts";
import { snapshotIfDue } from "../../journal/snapshot.ts";
import type { ThreadState } from "../../journal/state.ts";
import type { Append } from "../../store/store.ts";
import { listedAfter, namedAfter } from "../decide/listing.ts";
import { asked } from "../decide/requests.ts";
import type { Setup } from "../given/setup.ts";
import type { Recall } from "../read/recall.ts";

/** The first append of a writer, which takes the lease. */
export interface FirstAppend {
  /** When the thread began; undefined if it begins with this append. */
  readonly since: number | undefined;
}

interface Batch {
  readonly facts: readonly Fact[];
  readonly writer: Append["writer"];
  /** True if the append returns the lease. */
  readonly release: boolean;
  /** The name of the thread's agent. */
  readonly agent: string;
  /** Keys of commands that wait in the store: the append that records one consumes it. */
  readonly rows: readonly string[] | undefined;
  readonly first: FirstAppend | undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Counts the appends of all writers of this process: no two appends may share an id, also not of two writers of one thread. */
let appends = 0;

/** Returns the append for the thread in this state. Sets the seq and the time of each fact. */
export function appendOf(
  { setup, recall }: { readonly setup: Setup; readonly recall: Recall },
  before: ThreadState,
  { facts, writer, release, agent, rows, first }: Batch,
): Append {
  const at = setup.clock.now();
  const expect = before.head;
  let seq = expect;
  let { state } = before;
  const isFirst = first !== undefined;
  let moves = isFirst;
  let labels = isFirst;
  let mayAsk = false;
  let consumes = false;
  // One look at the facts: most appends are of a turn, and change no row beside the thread.
  for (const fact of facts as readonly Mutable<Fact>[]) {
    seq += 1;
    fact.seq = seq;
    fact.at = at;
    const { type } = fact;
    if (type === "state") state = fact.state;
    moves ||= type === "state" || type === "run-start";
    mayAsk ||= type === "action" || type === "request-answered";
    consumes ||= type === "input-consumed" || type === "tool-late" || type === "command";
    labels ||= type === "label";
  }
  appends += 1;
  const appendId = `${setup.owner}.${appends}`;
  const snapshot = release ? snapshotIfDue(before) : undefined;
  const requests = state === "paused" || mayAsk ? asked(before, facts, state === "paused") : undefined;
  const consume = consumes ? consumption(facts, rows) : undefined;
  const count = facts.length;
  const body = encode(facts);
  const listed = moves ? listedAfter(before, facts, state, isFirst) : undefined;
  const named = labels ? namedAfter(before, facts, recall.named, setup.titles, isFirst) : undefined;
  const since = first?.since;
  // Most appends have no more than this; a small literal is cheaper.
  if ((snapshot ?? requests ?? consume ?? since ?? listed ?? named) === undefined)
    return { appendId, expect, count, at, body, writer, release, agent, state };
  return {
    appendId,
    expect,
    count,
    at,
    body,
    writer,
    release,
    agent,
    state,
    consume,
    snapshot,
    rest: requests?.rest,
    raise: requests?.raise,
    close: requests?.close,
    amend: requests?.amend,
    decided: requests?.decided,
    remember: requests?.remember,
    since,
    listed,
    named,
  };
}

/** Returns the keys of the commands that these facts consume. */
function consumption(facts: readonly Fact[], rows: readonly string[] | undefined): readonly string[] | undefined {
  let consume: string[] | undefined;
  for (const fact of facts) {
    if (fact.type === "input-consumed" || fact.type === "tool-late") {
      consume ??= [];
      consume.push(fact.id);
    } else if (fact.type === "command" && rows?.includes(fact.key)) {
      consume ??= [];
      consume.push(fact.key);
    }
  }
  return consume;
}
