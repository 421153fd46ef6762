// stop, pause and terminate: the commands that end a segment. They meet a thread in the same three places as any command:
// running here, at rest, running elsewhere. Invariants:
// 1. The signal of a run in this process is set before this returns (S1).
// 2. A stop and a pause are for the present segment at their call, or for one whose run or resume was called
//    before. A later segment is deliberate (S2). A termination is for the thread.
// 3. The first accepted receipt counts. A stop that arrives while a pause is being appended is for the requests that the pause
//    leaves open.

import type { Clock } from "../../clock.ts";
import { type BelayError, belayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import { isRequest } from "../../interrupt/interrupt.ts";
import { decode } from "../../journal/codec.ts";
import type { Taken, ThreadState } from "../../journal/state.ts";
import type { Loaded, ThreadKey } from "../../store/store.ts";
import { sayOfIdleStop } from "../decide/after-stop.ts";
import type { SignalCommand } from "../decide/command.ts";
import { decide, outcomeOf } from "../decide/decide.ts";
import type { Receipt } from "../decide/ending.ts";
import { nothingStopped } from "../decide/receipt.ts";
import { joinedFacts, stopAtRest } from "../decide/signal.ts";
import { isStale, refuseIfStale } from "../decide/stale.ts";
import { loadThread } from "../read/read-facts.ts";
import type { Door } from "./door.ts";
import type { LiveThread } from "./live-thread.ts";
import { folded, recorded } from "./outcome.ts";
import { stopElsewhere } from "./stop-elsewhere.ts";

/** How long a stop waits for a resume that was asked for before it: the store need not answer at all. */
const BEGIN_MS = 1_000;

/** A stop on its way. */
interface Order {
  readonly door: Door;
  command: SignalCommand;
  /** The segment that it has met first. A stop and a pause are for that one. */
  aim?: Place;
  /** The runs and resumes that were asked for before it and have not begun. */
  readonly ahead: Promise<void>[];
  /** The receipts of the work in this process that it has met. */
  readonly met: Promise<Receipt>[];
  /** The messages of hooks, which are called once, however often the stop has to be written. */
  said?: readonly Fact[];
  /** True if it was to be written once. */
  isTried: boolean;
  isSent: boolean;
  isOnRecord: boolean;
}

/** Applies a stop, a pause or a termination, wherever the thread is. Resolves to the receipt when that is on record. */
export async function signal(door: Door, command: SignalCommand): Promise<Receipt> {
  const ahead = command.do === "terminate" ? [] : [...door.ahead()];
  const order: Order = { door, command, ahead, met: [], isTried: false, isSent: false, isOnRecord: false };
  for (;;) {
    const { thread } = door;
    const isHere = thread !== undefined && (thread.tenure !== undefined || ahead.length > 0);
    const found = (isHere ? await here(order, thread) : undefined) ?? (await there(order));
    if (found === undefined) continue;
    const receipt = await best(order.met, found);
    if (receipt.accepted) await putOnRecord(order, receipt);
    const late = new Set([...receipt.late, ...(door.thread?.behind ?? [])]);
    return late.size === receipt.late.length ? receipt : { ...receipt, late: [...late] };
  }
}

/** Stops the work in this process. Resolves to undefined if there is none, or if it ended before it read the stop. */
async function here(order: Order, thread: LiveThread): Promise<Receipt | undefined> {
  const { command, ahead, met } = order;
  const { tenure, running } = thread;
  const { options } = command;
  const at = running?.run ?? thread.standing;
  const taken = takenIn(command, () => running?.state ?? thread.recall.now());
  if (taken !== undefined) return recorded(thread, command, taken);
  if (ahead.length > 0 && running === undefined && options.segment !== at.segment) {
    // The resume ahead of it begins another segment. Answered calls end at once.
    if (command.do === "stop" && tenure !== undefined) met.push(tenure.stop(command));
    await begun(ahead, thread.setup.clock);
    return here(order, thread);
  }
  if (command.do === "terminate") thread.refuseIfClosed();
  const isMissed = isStopStale(thread.key, command, at, thread.state) || (tenure?.hasMissed(command.key) ?? false);
  if (isMissed) return nothingAt(order, at);
  if (tenure === undefined) return undefined;
  const receipt = await tenure.stop(command);
  if (command.do === "terminate" ? thread.state === "terminated" : receipt.accepted) return receipt;
  met.push(Promise.resolve(receipt));
  aim(order, tenure.state === undefined ? thread.standing : receipt);
  return undefined;
}

/** Stops a thread that rests, or that another process runs. Resolves to undefined if the thread has to be looked at again. */
async function there(order: Order): Promise<Receipt | undefined> {
  const { door } = order;
  const { thread, setup, key } = door;
  // If it is to be written, its append finds out whether another process has the thread.
  if (
    !order.isTried &&
    thread !== undefined &&
    (order.command.do === "terminate" || withdraws(order.command, thread))
  ) {
    order.isTried = true;
    return door.here((rests) => atRest(order, rests, 0));
  }
  // Read in the tick of the call: the stop is for the present segment.
  const loaded = await loadThread(setup.store, key, order.command.id === undefined ? "rest" : undefined);
  if (loaded === undefined && thread === undefined) throw belayError("THREAD_UNKNOWN", { threadId: key.threadId });
  const { lease, state = "created", head = 0 } = loaded?.row ?? {};
  const at = loaded === undefined ? thread!.standing : endOf(loaded);
  const command = aim(order, at);
  const taken = takenIn(command, () => folded(key.threadId, loaded?.lines ?? []));
  if (taken !== undefined) return recorded(door, command, taken);
  if (door.thread?.tenure !== undefined) return undefined;
  if (order.isSent && state === "terminated") {
    await thread?.refresh();
    return nothingAt(order, at);
  }
  if (lease === undefined) return door.here((rests) => atRest(order, rests, head));
  if (isStopStale(key, command, at, state)) return nothingAt(order, at);
  order.isSent = true;
  const { receipt, isOnRecord } = await stopElsewhere(setup, key, command, loaded!.row, at);
  order.isOnRecord = isOnRecord;
  return command.do === "terminate" ? undefined : receipt;
}

/** Stops a thread at rest by one append. Resolves to undefined if another append came first. */
async function atRest(order: Order, thread: LiveThread, head: number): Promise<Receipt | undefined> {
  const { command } = order;
  const { do: verb, options } = command;
  if (verb === "terminate") thread.refuseIfClosed();
  if (head > thread.standing.head) await thread.refresh();
  if (thread.isWriting) return undefined;
  const { standing, stopping, hot } = thread;
  const { force = false } = options;
  // Also for the processes that an earlier stop or termination waits for.
  if (force) hot.force();
  if (verb === "terminate" && force && thread.state === "terminated" && hot.gone !== undefined) {
    await hot.gone;
    return nothingAt(order, standing);
  }
  const isDue = withdraws(command, thread);
  // All stops of one pause are one stop (S2).
  if (isDue && stopping !== undefined && !isStale(stopping, standing)) {
    stopping.forced ||= force;
    return stopping.receipt;
  }
  const isRecorded = verb === "terminate" || (command.id !== undefined && standing.state !== "created");
  if (!isDue && !isRecorded) return nothingAt(order, standing);
  const { runId, segment } = standing;
  const begins = { runId, segment, forced: force };
  const receipt = write(order, thread, begins);
  if (!isDue) return receipt;
  thread.stopping = Object.assign(begins, { receipt });
  return receipt.finally(() => {
    if (thread.stopping === begins) thread.stopping = undefined;
  });
}

/** True if the thread, as this process knows it, rests with open requests that the stop withdraws, or another stop does just now. */
function withdraws({ do: verb, stop, options }: SignalCommand, { state, standing, stopping }: LiveThread): boolean {
  if (verb !== "stop" || stop.keepsRequests || isStale(options, standing)) return false;
  return stopping !== undefined || (state === "paused" && standing.interrupts.some(isRequest));
}

/** Appends the stop. Resolves when the processes of the code that it ends are gone. */
async function write(
  order: Order,
  thread: LiveThread,
  stopping: { readonly forced: boolean },
): Promise<Receipt | undefined> {
  const { clock, groups, tokenTtlMs } = thread.setup;
  const { agent, behind, hot } = thread;
  const read = () => thread.recall.load(true);
  const interrupt = (place: FramePlace, state: ThreadState) =>
    stopAtRest(state, aim(order, place), { place, late: [...behind], now: clock.now() });
  let wrote: Wrote = { facts: [] };
  try {
    const { do: verb, stop } = order.command;
    order.said ??= verb === "stop" ? await sayOfIdleStop(thread, thread.resting(), stop, read, interrupt) : [];
    await thread.append((place, state) => {
      const rest = { agent, tokenTtlMs, late: [...behind], said: order.said ?? [] };
      const context = { place, now: clock.now(), groups, callsRun: false, byRow: false, rest };
      const decision = decide(state, aim(order, place), context);
      if ("refusal" in decision) throw decision.refusal;
      wrote = "facts" in decision ? { state, facts: decision.facts } : { facts: [] };
      return wrote.facts;
    });
  } catch (error) {
    const { code } = error as Partial<BelayError>;
    if (code !== "STORE_CONFLICT" && code !== "THREAD_BUSY") throw error;
    return undefined;
  }
  // Its last request was answered, and the call may run by now. Or another process has recorded the same command.
  if (wrote.state === undefined || wrote.facts.length === 0) return undefined;
  const receipt = outcomeOf(order.command, wrote.state, wrote.facts);
  if (!receipt.accepted && order.command.do !== "terminate") return nothingAt(order, receipt);
  hot.dropAll();
  if (stopping.forced) hot.force();
  await hot.gone;
  return receipt;
}

/** The state that a stop was written to, and its facts. */
interface Wrote {
  readonly state?: ThreadState;
  readonly facts: readonly Fact[];
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
async function putOnRecord({ door, command, isOnRecord }: Order, { runId, segment }: Receipt): Promise<void> {
  if (command.id === undefined || isOnRecord) return;
  const options = { ...command.options, runId, segment };
  const record = async (thread: LiveThread) => {
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

/** Returns the first receipt that is accepted, or the last one. */
async function best(met: readonly Promise<Receipt>[], last: Receipt): Promise<Receipt> {
  if (last.accepted) return last;
  const receipts = await Promise.all(met);
  return receipts.find(({ accepted }) => accepted) ?? receipts.at(-1) ?? last;
}

/** The segment that a thread is in, or was in last. */
interface Place {
  readonly runId?: string | undefined;
  readonly segment?: number | undefined;
}

function endOf({ row, lines }: Loaded): Place {
  const last = lines.at(-1);
  return last === undefined ? {} : decode(row.threadId, last, () => null).at(-1)!;
}

/** Aims it at the first segment that it meets, unless its caller named one. A termination is for the thread. */
function aim(order: Order, { runId, segment }: Place): SignalCommand {
  const { command } = order;
  if (command.do === "terminate" || order.aim !== undefined || runId === undefined) return command;
  const { options } = command;
  order.aim = { runId, segment };
  order.command = {
    ...command,
    options: { ...options, runId: options.runId ?? runId, segment: options.segment ?? segment },
  };
  return order.command;
}

/** True if the stop is for another segment. Throws STALE for a termination. */
function isStopStale(
  { threadId }: ThreadKey,
  { do: verb, options }: SignalCommand,
  { runId, segment = 0 }: Place,
  state: string,
): boolean {
  if (verb === "terminate") refuseIfStale(threadId, options, { runId, segment, state });
  return isStale(options, { runId, segment });
}

/** The receipt of a stop that met nothing: in its segment, or in the present one. */
function nothingAt(order: Order, at: Place): Receipt {
  const { runId, segment } = order.aim ?? at;
  return nothingStopped(runId, runId === undefined ? undefined : segment);
}
