// stop, pause and terminate: the commands that end a segment. They meet a thread in the same three places as any command:
// running here, at rest, running elsewhere. A stop of a thread at rest is a tenure, which other stops join. Invariants:
// 1. The signal of a run in this process is set before this returns (S1).
// 2. A stop and a pause are for the present segment at their call, or for one whose run or resume was called
//    before. A later segment is deliberate (S2). A termination is for the thread.
// 3. The first accepted receipt counts. A stop that arrives while a pause is being appended is for the requests that the pause
//    leaves open.
// 4. A stop that was sent, and that its owner did not read, is decided at rest: that append consumes the row, and fences the owner.

import { belayError } from "../../error.ts";
import type { CommandEvent, Fact } from "../../event.ts";
import { isRequest } from "../../interrupt/interrupt.ts";
import { folded } from "../../journal/fold.ts";
import type { Taken, ThreadState } from "../../journal/state.ts";
import { type Aim, aimedAt, isSignal, type SignalCommand, stopRow } from "../decide/command.ts";
import type { Receipt } from "../decide/ending.ts";
import { read, type StopMail } from "../decide/mail.ts";
import { bestOf, nothingStopped, receiptIn } from "../decide/receipt.ts";
import { isStale, refuseIfStale } from "../decide/stale.ts";
import { endOf, loadThread } from "../read/read-facts.ts";
import { untilTaken } from "../read/until-taken.ts";
import type { Door } from "./door.ts";
import type { LiveThread } from "./live-thread.ts";
import { recorded } from "./outcome.ts";
import type { Tenure } from "./tenure.ts";

/** How long a stop waits for the resumes that were asked for before it: the store need not answer at all. */
const BEGIN_MS = 1_000;

/** The refusals of a stop by which another process was first. */
const MOVED: ReadonlySet<string> = new Set(["THREAD_BUSY", "STORE_CONFLICT", "INPUT_WITHDRAWN"]);

/** A stop on its way. */
interface Order {
  readonly door: Door;
  /** Aimed at the segment that it has met first, unless its caller named one. */
  command: SignalCommand;
  /** The segment that it has met first. A receipt without effect names it. */
  first?: Aim;
  /** The receipts of the work in this process that it has met. */
  readonly met: Promise<Receipt>[];
  /** The head of the thread before it was sent. */
  from?: number;
}

/** Applies a stop, a pause or a termination, wherever the thread is. Resolves to the receipt when that is on record. */
export async function signal(door: Door, command: SignalCommand): Promise<Receipt> {
  const order: Order = { door, command, met: [] };
  const ahead = command.do === "terminate" ? [] : door.ahead();
  // Without a wait, if a run is to be stopped: its signal is set in this tick (S1).
  if (ahead.length > 0 && isForNext(command, door.thread)) await letBegin(order, ahead);
  for (;;) {
    const { thread } = door;
    const isHere = thread !== undefined && (thread.isWriting || !thread.isElsewhere);
    const found = (isHere ? await here(order, thread) : undefined) ?? (await there(order));
    if (found === undefined) continue;
    const receipt = await bestOf(order.met, found);
    // Calls that were left behind in other segments still run, too.
    const late = door.thread?.behind.filter((id) => !receipt.late.includes(id)) ?? [];
    return late.length === 0 ? receipt : { ...receipt, late: [...receipt.late, ...late] };
  }
}

/** Waits until the runs and resumes ahead of a stop have begun, or were refused: it is for the segment that they begin. */
async function letBegin({ door, command, met }: Order, ahead: readonly Promise<void>[]): Promise<void> {
  const { clock } = door.setup;
  let timer: unknown;
  const late = new Promise<"late">((resolve) => (timer = clock.setTimeout(() => resolve("late"), BEGIN_MS)));
  for (const begun of ahead) {
    const { thread } = door;
    if (!isForNext(command, thread)) break;
    // Answered calls end at once. An earlier stop is for the segment before.
    const tenure = command.do === "stop" ? thread?.tenure : undefined;
    const stopped = tenure === undefined || isSignal(tenure.command) ? undefined : tenure.stop(command);
    if (stopped !== undefined) met.push(stopped);
    if ((await Promise.race([begun, late])) === "late") break;
  }
  clock.clearTimeout(timer);
}

/** True if a run or a resume ahead of the stop would begin the segment that the stop is for. */
function isForNext({ options }: SignalCommand, thread: LiveThread | undefined): boolean {
  return thread === undefined || (thread.running === undefined && options.segment !== thread.standing.segment);
}

/** Stops the thread in this process. Resolves to undefined if it has to be looked at in the store. */
function here(order: Order, thread: LiveThread): Promise<Receipt | undefined> {
  if (order.command.do === "terminate") thread.refuseIfClosed();
  const { tenure } = thread;
  return tenure === undefined ? atRest(order, thread) : underWay(order, thread, tenure);
}

/** Stops a tenure. Resolves to undefined if it ended before it read the stop, or left requests open. */
async function underWay(order: Order, thread: LiveThread, tenure: Tenure): Promise<Receipt | undefined> {
  const { runId, segment } = thread.running?.run ?? thread.standing;
  const known = settled(order, { runId, segment, state: thread.state }, () => tenure.state ?? thread.recall.now());
  if (known !== undefined) return known;
  const { command } = order;
  const stopped = tenure.stop(command);
  if (stopped === undefined) return nothing(order);
  const receipt = await stopped;
  const isDone =
    command.do === "terminate" ? thread.state === "terminated" : receipt.accepted && !leavesRequests(command, thread);
  if (isDone && receipt.accepted) await putOnRecord(order, thread, receipt);
  if (isDone) return receipt;
  order.met.push(stopped);
  order.command = aimedAt(command, tenure.state === undefined ? thread.standing : receipt);
  return undefined;
}

/** True if the stop came too late for the pause that it met: requests are open that it withdraws. */
function leavesRequests({ do: verb, stop }: SignalCommand, { standing }: LiveThread): boolean {
  return verb === "stop" && !stop.keepsRequests && standing.interrupts.some(isRequest);
}

/** Stops a thread at rest by one append. Resolves to undefined if it has to be looked at again. */
async function atRest(order: Order, thread: LiveThread): Promise<Receipt | undefined> {
  order.first ??= thread.standing;
  const tenure = thread.startAtRest(order.command, order.command.joins);
  const opened = await tenure.opening;
  // A thread that was deleted may have been made again under the same name.
  if (thread.isGone && order.door.thread !== thread) return undefined;
  const command = tenure.command as SignalCommand;
  order.command = command;
  if ("known" in opened) return onRecord(order, opened.known);
  // One that joins an earlier stop has the receipt of that.
  if ("facts" in opened) return command.joins ? undefined : tenure.receipt;
  const { code } = opened.refusal;
  // The row is gone. If it was consumed, the next look finds the stop on record; if it was lost, there is no row to wait for.
  if (code === "INPUT_WITHDRAWN") order.command = { ...command, joins: false };
  if (MOVED.has(code)) return undefined;
  if (code === "INVALID_STATE" && command.do !== "terminate") return nothing(order);
  throw opened.refusal;
}

/** Looks at the thread in the store, and stops it if another process runs it. Resolves to undefined if it has to be looked at again. */
async function there(order: Order): Promise<Receipt | undefined> {
  const { door } = order;
  const { setup, key } = door;
  const { store, clock } = setup;
  // Read in the tick of the call: the stop is for the present segment.
  const loaded = await loadThread(store, key, order.command.id !== undefined ? undefined : "rest");
  if (loaded === undefined && door.thread === undefined) throw belayError("THREAD_UNKNOWN", { threadId: key.threadId });
  if (loaded?.row.lease === undefined) return door.here((rests) => here(order, rests));
  const at: Aim = endOf(loaded) ?? {};
  const { state, head } = loaded.row;
  const command = aimedAt(order.command, at);
  order.command = command;
  const known = settled(order, { ...at, state }, () => folded(key.threadId, loaded.lines));
  if (known !== undefined || door.thread?.isWriting) return known;
  if (isStale(command.options, at)) return nothing(order);
  const row = loaded.commands.find((each) => each.key === command.key);
  if (row === undefined) await store.send(key, stopRow(command, at, clock.now()));
  // Sent before under the same id, for a segment that is over.
  else if (isStale(read<StopMail>(key, row), at)) return nothing(order);
  order.command = { ...command, joins: true };
  order.from ??= head;
  const isOver = (fact: Fact) => isStale(command.options, fact);
  const facts = (await untilTaken(setup, key, command.key, order.from, { isOver })) ?? [];
  const own = facts.find((fact) => fact.type === "command" && fact.key === command.key) as CommandEvent | undefined;
  // The session here shows it from now on.
  await door.thread?.lookAgain();
  return own && onRecord(order, own, facts);
}

/** Puts a stop with an id on record that joined another one when that was written, or nearly: it hits nothing that comes later. */
async function putOnRecord({ command }: Order, thread: LiveThread, { runId, segment }: Receipt): Promise<void> {
  if (command.id === undefined) return;
  // An answer, or another stop, that waited for this one may come to nothing.
  for (let { tenure } = thread; tenure !== undefined && !tenure.mayCallModel; { tenure } = thread) {
    if (tenure.state !== undefined && !isSignal(tenure.command)) return;
    await (isSignal(tenure.command) ? tenure.over : tenure.opening);
  }
  if (thread.isWriting || thread.recall.now().taken?.has(command.key)) return;
  await thread.startAtRest({ ...aimedAt(command, { runId, segment }), joins: true }).opening;
}

/**
 * Returns the receipt of a stop that is on record, from these facts of its segment, if there are some. One that was sent and
 * missed is for the segment that it was sent to; a termination looks again.
 */
async function onRecord(order: Order, taken: Taken, facts?: readonly Fact[]): Promise<Receipt | undefined> {
  const { door, command } = order;
  if (command.joins && taken.refused !== undefined) return command.do === "terminate" ? undefined : nothing(order);
  return facts === undefined ? recorded(door, command, taken) : receiptIn(taken, facts);
}

/**
 * Returns the receipt of a stop that is on record in the present segment. A termination for another segment is refused with STALE.
 */
function settled(
  order: Order,
  { runId, segment = 0, state }: Aim & { readonly state: string },
  stateNow: () => ThreadState,
): Promise<Receipt | undefined> | undefined {
  const { door, command } = order;
  order.first ??= { runId, segment };
  if (command.do === "terminate") refuseIfStale(door.key.threadId, command.options, { runId, segment, state });
  const taken = command.id !== undefined ? stateNow().taken?.get(command.key) : undefined;
  return taken && onRecord(order, taken);
}

/** The receipt of a stop that met nothing. */
function nothing({ first = {} }: Order): Receipt {
  return nothingStopped(first.runId, first.runId === undefined ? undefined : first.segment);
}
