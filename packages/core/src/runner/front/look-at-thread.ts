// A thread as the store has it, for readers in any process. It takes no lease, opens no session and keeps nothing.

import type { LastDrift } from "../../fingerprint.ts";
import { isExpired, type Vote } from "../../interrupt/decision.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";
import type { InterruptView } from "../../interrupt/view.ts";
import { fold } from "../../journal/fold.ts";
import { namedAs } from "../../journal/naming.ts";
import { thaw } from "../../journal/snapshot.ts";
import { newThread, type ThreadState } from "../../journal/state.ts";
import type { Json } from "../../json.ts";
import type { PauseType, SessionState } from "../../lifecycle.ts";
import { addUsage, type Usage } from "../../message.ts";
import type { Loaded, Parent, ThreadKey } from "../../store/store.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread } from "../read/read-facts.ts";
import { standingOf } from "../read/recall.ts";
import { type Waiting, waitingIn } from "../thread/waiting.ts";

/** An interrupt that a pause waits for. */
export interface OpenInterrupt extends Interrupt {
  /** The approvals so far, of a request that needs several. */
  readonly approvals: readonly Vote[];
}

/** A thread at one moment. */
export interface Look {
  readonly threadId: string;
  readonly state: SessionState;
  /** The kind of the pause; undefined if the thread is not paused. */
  readonly pauseType?: PauseType;
  /** The present run, or the last one. */
  readonly runId?: string;
  readonly segment?: number;
  /** The name of its agent. */
  readonly agent: string;
  readonly title?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The seq of its last fact. */
  readonly head: number;
  /** Everything that the thread waits for: open requests, stops, nodes of graphs. */
  readonly interrupts: readonly OpenInterrupt[];
  /** The same as the root agent sees it, nested. */
  readonly interrupt?: InterruptView;
  /** The values that its agents share. */
  readonly values: Readonly<Record<string, Json>>;
  /** Inputs, steers and late results that were sent and are not part of the thread yet, the oldest first. */
  readonly waiting: readonly Waiting[];
  /** The tokens of the present run, or of the last one. */
  readonly usage: Usage;
  /** The thread that this one was forked from. */
  readonly parent?: Parent;
  /** The last change of its agent with which a run continued; undefined if there was none. */
  readonly lastDrift?: LastDrift;
  /** The process that holds its lease, and the end of that lease. */
  readonly owner?: { readonly name: string; readonly until: number };
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Reads a thread once. Returns undefined if there is none. */
export async function lookAtThread(setup: Setup, key: ThreadKey): Promise<Look | undefined> {
  const loaded = await loadThread(setup.store, key, "snapshot");
  if (loaded === undefined) return undefined;
  const state = folded(key, loaded);
  if (state !== undefined) return lookOf(setup, key, loaded, state);
  // A snapshot of another release: the lines say the same.
  const whole = await loadThread(setup.store, key);
  return whole && lookOf(setup, key, whole, folded(key, whole)!);
}

/** Returns the fold of the loaded lines; undefined if its snapshot cannot be read. */
function folded({ threadId }: ThreadKey, { snapshot, lines }: Loaded): ThreadState | undefined {
  const state = snapshot === undefined ? newThread(threadId) : thaw(threadId, snapshot.seq, snapshot.body);
  if (state !== undefined) fold(state, lines);
  return state;
}

function lookOf({ clock, titles }: Setup, key: ThreadKey, { row, commands }: Loaded, state: ThreadState): Look {
  const { interrupts, view, runId, segment, head, ...standing } = standingOf(state);
  const { title, labels } = namedAs(state, titles);
  const { parent, lease, agent, createdAt, updatedAt } = row;
  // A run is on record, and no process has it.
  const isCrashed = row.state === "running" && lease === undefined;
  const pauseType = isCrashed ? "crash" : standing.pauseType;
  const now = clock.now();
  return {
    threadId: key.threadId,
    state: isCrashed ? "paused" : standing.state,
    ...(pauseType !== undefined && { pauseType }),
    ...(runId !== undefined && { runId, segment }),
    agent,
    ...(title !== undefined && { title }),
    labels,
    head,
    interrupts: interrupts.filter((each) => !isExpired(each, now)).map((each) => withApprovals(state, each)),
    ...(view !== undefined && { interrupt: view }),
    values: state.values ?? {},
    waiting: waitingIn(key, commands),
    usage: state.run?.usage ?? addUsage(undefined, undefined),
    ...(parent && { parent }),
    ...(state.drift && { lastDrift: state.drift }),
    ...(lease && { owner: { name: lease.owner, until: lease.until } }),
    createdAt,
    updatedAt,
  };
}

function withApprovals({ requests }: ThreadState, interrupt: Interrupt): OpenInterrupt {
  return { ...interrupt, approvals: requests?.get(interrupt.id)?.votes ?? [] };
}
