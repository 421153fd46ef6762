// stop, pause and terminate: the commands that end a segment. They meet a thread in the same three places as any command:
// running here, at rest, running elsewhere. A stop of a thread at rest is a tenure, which other stops join. Invariants:
// 1. The signal of a run in this process is set before this returns (S1).
// 2. A stop and a pause are for the present segment at their call, or for one whose run or resume was called
//    before. A later segment is deliberate (S2). A termination is for the thread.
// 3. The first accepted receipt counts. A stop that arrives while a pause is being appended is for the requests that the pause
//    leaves open.

import type { Clock } from "../../clock.ts";
import { type BelayError, belayError } from "../../error.ts";
import { folded } from "../../journal/fold.ts";
import type { Taken, ThreadState } from "../../journal/state.ts";
import { type Aim, aimedAt, isSignal, type SignalCommand } from "../decide/command.ts";
import type { Receipt } from "../decide/ending.ts";
import { bestOf, nothingStopped } from "../decide/receipt.ts";
import { joinedFacts } from "../decide/signal.ts";
import { isStale, refuseIfStale } from "../decide/stale.ts";
import { endOf, loadThread } from "../read/read-facts.ts";
import type { Door } from "./door.ts";
import type { LiveThread } from "./live-thread.ts";
import { recorded } from "./outcome.ts";
import { stopElsewhere } from "./stop-elsewhere.ts";
import type { Tenure } from "./tenure.ts";

/** How long a stop waits for a resume that was asked for before it: the store need not answer at all. */
const BEGIN_MS = 1_000;

/** A stop on its way. */
interface Order {
  readonly door: Door;
  command: SignalCommand;
  /** The segment that it has met first. */
  aim?: Aim;
  /** The runs and resumes that were asked for before it and have not begun. */
  readonly ahead: Promise<void>[];
  /** The receipts of the work in this process that it has met. */
  readonly met: Promise<Receipt>[];
  isSent: boolean;
  isOnRecord: boolean;
}

/** Applies a stop, a pause or a termination, wherever the thread is. Resolves to the receipt when that is on record. */
export async function signal(door: Door, command: SignalCommand): Promise<Receipt> {
  const ahead = command.do === "terminate" ? [] : [...door.ahead()];
  const order: Order = { door, command, ahead, met: [], isSent: false, isOnRecord: false };
  for (;;) {
    const { thread } = door;
    const isHere = thread !== undefined && (thread.isWriting || ahead.length > 0 || !thread.isElsewhere);
    const found = (isHere ? await here(order, thread) : undefined) ?? (await there(order));
    if (found === undefined) continue;
    const receipt = found.accepted ? found : await bestOf(order.met, found);
    if (receipt.accepted && command.id !== undefined && !order.isOnRecord) await putOnRecord(order, receipt);
    const late = door.thread?.behind.filter((id) => !receipt.late.includes(id)) ?? [];
    return late.length === 0 ? receipt : { ...receipt, late: [...receipt.late, ...late] };
  }
}

/** Stops the thread in this process. Resolves to undefined if another process has it, or if its work ended before it read the stop. */
async function here(order: Order, thread: LiveThread): Promise<Receipt | undefined> {
  const { command, ahead, met } = order;
  const { tenure, running } = thread;
  const at = running?.run ?? thread.standing;
  if (ahead.length > 0 && running === undefined && command.options.segment !== at.segment) {
    // The resume ahead of it begins another segment. Answered calls end at once. An earlier stop is for the segment before.
    if (command.do === "stop" && tenure !== undefined && !isSignal(tenure.command)) met.push(tenure.stop(command));
    await begun(ahead, thread.setup.clock);
    return here(order, thread);
  }
  if (command.do === "terminate") thread.refuseIfClosed();
  return tenure === undefined ? atRest(order, thread) : underWay(order, thread, tenure, at);
}

/** Stops a tenure. Resolves to undefined if it ended before it read the stop. */
async function underWay(order: Order, thread: LiveThread, tenure: Tenure, at: Aim): Promise<Receipt | undefined> {
  const { command } = order;
  const known = settled(
    order,
    { runId: at.runId, segment: at.segment, state: thread.state },
    () => tenure.state ?? thread.recall.now(),
  );
  if (known !== undefined) return known;
  if (tenure.hasMissed(command.key)) return nothingAt(order, at);
  const receipt = await tenure.stop(command);
  if (command.do === "terminate" ? thread.state === "terminated" : receipt.accepted) return receipt;
  order.met.push(Promise.resolve(receipt));
  aim(order, tenure.state === undefined ? thread.standing : receipt);
  return undefined;
}

/** Stops a thread at rest by one append. Resolves to undefined if another process has it. */
async function atRest(order: Order, thread: LiveThread): Promise<Receipt | undefined> {
  const tenure = thread.startAtRest(order.command);
  const opened = await tenure.opening;
  // A thread that was deleted may have been made again under the same name.
  if (thread.isGone && order.door.thread !== thread) return undefined;
  const { options } = order.command;
  const command = tenure.command as SignalCommand;
  order.command = command;
  // The segment that it met first, unless its caller named another one. The thread may have moved on since.
  const isAimed = options.runId !== undefined || options.segment !== undefined || thread.standing.runId === undefined;
  aim(order, isAimed ? thread.standing : command.options);
  if ("known" in opened) return recorded(thread, command, opened.known);
  if ("facts" in opened) return tenure.receipt;
  const { code } = opened.refusal;
  if (code === "THREAD_BUSY" || code === "STORE_CONFLICT") return undefined;
  const meetsNothing =
    command.do === "terminate" ? order.isSent && thread.state === "terminated" : code === "INVALID_STATE";
  if (meetsNothing) return nothingAt(order, thread.standing);
  throw opened.refusal;
}

/** Looks at the thread in the store, and stops it if another process runs it. Resolves to undefined if it has to be looked at again. */
async function there(order: Order): Promise<Receipt | undefined> {
  const { door } = order;
  const { setup, key } = door;
  // Read in the tick of the call: the stop is for the present segment.
  const loaded = await loadThread(setup.store, key, order.command.id === undefined ? "rest" : undefined);
  if (loaded === undefined && door.thread === undefined) throw belayError("THREAD_UNKNOWN", { threadId: key.threadId });
  if (loaded?.row.lease === undefined) return door.here((rests) => here(order, rests));
  const at: Aim = endOf(loaded) ?? {};
  const command = aim(order, at);
  const { state } = loaded.row;
  const known = settled(order, { ...at, state }, () => folded(key.threadId, loaded.lines));
  if (known !== undefined || door.thread?.isWriting) return known;
  order.isSent = true;
  const { receipt, isOnRecord } = await stopElsewhere(setup, key, command, loaded.row, at);
  order.isOnRecord = isOnRecord;
  return command.do === "terminate" ? undefined : receipt;
}

/** Waits until the first resume ahead of a stop has begun or was refused. A store need not answer at all: a second at most. */
async function begun(ahead: Promise<void>[], clock: Clock): Promise<void> {
  let timer: unknown;
  const isLate = new Promise<void>((resolve) => {
    timer = clock.setTimeout(() => {
      ahead.length = 0;
      resolve();
    }, BEGIN_MS);
  });
  await Promise.race([ahead.shift(), isLate]);
  clock.clearTimeout(timer);
}

/** Puts a stop with an id on record that joined another one when that was written, or nearly: it hits nothing that comes later. */
async function putOnRecord({ door, command }: Order, { runId, segment }: Receipt): Promise<void> {
  const options = { ...command.options, runId, segment };
  const record = async (thread: LiveThread) => {
    // An answer, or another stop, that waited for this one may come to nothing.
    for (let { tenure } = thread; tenure !== undefined && !tenure.mayCallModel; { tenure } = thread) {
      if (tenure.state !== undefined && !isSignal(tenure.command)) break;
      await (isSignal(tenure.command) ? tenure.over : tenure.opening);
    }
    if (thread.isWriting || takenIn(command, () => thread.recall.now()) !== undefined) return;
    await thread.append((place, state) => joinedFacts(state, { ...command, options }, place));
  };
  for (let isRefused = true; isRefused; ) {
    isRefused = await door.here(record).then(
      () => false,
      ({ code }: BelayError) => code === "STORE_CONFLICT",
    );
  }
}

/** Returns the place on record of a stop with an id. Others are read nowhere. */
function takenIn({ id, key }: SignalCommand, read: () => ThreadState): Taken | undefined {
  return id === undefined ? undefined : read().taken?.get(key);
}

/** Aims the stop at the first segment that it meets. */
function aim(order: Order, { runId, segment }: Aim): SignalCommand {
  if (runId !== undefined) order.aim ??= { runId, segment };
  order.command = aimedAt(order.command, { runId, segment });
  return order.command;
}

/**
 * Returns the receipt of a stop that is on record, or that is for another segment than the present one. A termination for
 * another segment is refused with STALE.
 */
function settled(
  order: Order,
  { runId, segment = 0, state }: Aim & { readonly state: string },
  read: () => ThreadState,
): Promise<Receipt> | undefined {
  const { door, command } = order;
  const { do: verb, options } = command;
  const taken = takenIn(command, read);
  if (taken !== undefined) return recorded(door, command, taken);
  if (verb === "terminate") refuseIfStale(door.key.threadId, options, { runId, segment, state });
  return isStale(options, { runId, segment }) ? Promise.resolve(nothingAt(order, { runId, segment })) : undefined;
}

/** The receipt of a stop that met nothing: in its segment, or in the present one. */
function nothingAt(order: Order, at: Aim): Receipt {
  const { runId, segment } = order.aim ?? at;
  return nothingStopped(runId, runId === undefined ? undefined : segment);
}
