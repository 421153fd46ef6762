// A stop for a thread that another process, or another runner, is running: a durable command to its owner, and a
// receipt read from what the owner records.

import { belayError } from "../../error.ts";
import type { ActionEvent, Fact, StateEvent } from "../../event.ts";
import { decode, type Line } from "../../journal/codec.ts";
import { fold } from "../../journal/fold.ts";
import { newThread } from "../../journal/state.ts";
import { keyOf } from "../../journal/taken.ts";
import { messageText } from "../../message.ts";
import type { Command, Loaded, Store, ThreadKey, ThreadRow } from "../../store/store.ts";
import type { Receipt } from "../decide/ending.ts";
import { read, type StopMail, stopKey } from "../decide/mail.ts";
import { type InterruptOptions, readStop, sentStop } from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread, readFacts } from "../read/read-facts.ts";

/** How often to look, besides the store's hints, whether the owner is still there; the first time sooner, for it may have been quicker than we. */
const LOOK_MS = 250;
const FIRST_LOOK_MS = 25;

/**
 * `end` is the end of the thread as it was a moment ago, where that is known; `joined` hears of a stop that is told of
 * another one, which was written, or nearly, when it came: it is not on record.
 */
export async function stopElsewhere(
  setup: Setup,
  key: ThreadKey,
  options: InterruptOptions,
  end?: Loaded,
  joined: (told: Receipt) => Promise<void> = async () => {},
): Promise<Receipt> {
  readStop(options, 0, setup.maxBytes);
  const { store, clock } = setup;
  const { id = clock.id() } = options;
  // Whether a stop is on record under an id stands anywhere in it.
  const loaded =
    options.id === undefined ? (end ?? (await loadThread(store, key, "rest"))) : await loadThread(store, key);
  if (loaded === undefined) throw belayError("THREAD_UNKNOWN", { threadId: key.threadId });
  const { row, lines } = loaded;
  if (options.id !== undefined && isTaken(key, lines, keyOf.stop(id))) return recordedReceipt(store, key, id);
  const last = lines.at(-1);
  const { runId, segment } = last === undefined ? {} : decode(key.threadId, last, noArgs).at(-1)!;
  const nothing = notAccepted(runId, segment);
  // Paused, and somebody has it: an answered call runs.
  const runs = row.lease !== undefined && (row.state === "running" || row.state === "paused");
  if (!runs || runId === undefined || segment === undefined) return nothing;
  if ((options.runId ?? runId) !== runId || (options.segment ?? segment) !== segment) return nothing;
  const mail: StopMail = { runId, segment, options: sentStop(options) };
  const command: Command = { key: stopKey(id), kind: "stop", body: JSON.stringify(mail), at: clock.now() };
  // Watched before it is sent: the owner may be quick.
  const news = watched(setup, key);
  try {
    // Sent before: for this stretch, or for one that was over before its owner could heed it.
    if (!(await store.send(key, command)) && !(await isFor(mail, store, key, id))) return nothing;
    return await waitForReceipt(store, key, row, nothing, news.come, id, joined);
  } finally {
    news.end();
  }
}

function isTaken({ threadId }: ThreadKey, lines: readonly Line[], command: string): boolean {
  const state = newThread(threadId);
  fold(state, lines);
  return state.taken?.has(command) ?? false;
}

/** What a stop did that is on record under this id. */
export async function recordedReceipt(store: Store, key: ThreadKey, id: string): Promise<Receipt> {
  const facts = await readFacts(store, key, 0);
  const end = facts.find((fact): fact is StateEvent => fact.type === "state" && (fact.stops?.includes(id) ?? false));
  if (end === undefined) {
    const missed = facts.flatMap((fact) => (fact.type === "state" ? (fact.missed ?? []) : []));
    const of = missed.find((stop) => stop.id === id);
    return notAccepted(of?.runId, of?.segment);
  }
  const { runId, segment, seq } = end;
  const stretch = facts.filter((fact) => fact.runId === runId && fact.segment === segment && fact.seq <= seq);
  return receipt(stretch, notAccepted(runId, segment), true);
}

async function isFor(mail: StopMail, store: Store, key: ThreadKey, id: string): Promise<boolean> {
  const { commands = [], lines = [] } = (await loadThread(store, key)) ?? {};
  const waiting = commands.find((command) => command.key === stopKey(id));
  // Neither waiting nor answered: its sender took it back, or somebody has put it away.
  if (waiting === undefined) {
    const facts = lines.flatMap((line) => decode(key.threadId, line, noArgs));
    return facts.some((fact) => fact.type === "state" && fact.stops?.includes(id));
  }
  const { runId, segment } = read<StopMail>(key, waiting);
  return runId === mail.runId && segment === mail.segment;
}

/** Whether something was written since one last asked, or it is time to look whether the owner is still there. */
function watched({ store, clock }: Setup, key: ThreadKey) {
  let came = false;
  let patience = FIRST_LOOK_MS;
  let wake = () => {};
  const end = store.watch(
    key,
    () => {
      came = true;
      wake();
    },
    "append",
  );
  const come = async () => {
    if (!came) {
      const told = new Promise<void>((resolve) => (wake = resolve));
      const timer = clock.setTimeout(wake, patience);
      await told;
      clock.clearTimeout(timer);
    }
    came = false;
    patience = LOOK_MS;
  };
  return { come, end };
}

async function waitForReceipt(
  store: Store,
  key: ThreadKey,
  { head, lease: owner }: ThreadRow,
  nothing: Receipt,
  news: () => Promise<void>,
  id: string,
  joined: (told: Receipt) => Promise<void>,
): Promise<Receipt> {
  let fence = owner?.fence ?? 0;
  /** How often in a row nobody had it. */
  let overdue = 0;
  for (;;) {
    await news();
    const loaded = await loadThread(store, key, head);
    const facts = (loaded?.lines ?? []).flatMap((line) => decode(key.threadId, line, noArgs));
    for (const [i, fact] of facts.entries()) {
      if (fact.type !== "state" || fact.seq <= head) continue;
      const isConsumed = fact.stops?.includes(id) ?? false;
      const told = receipt(facts.slice(0, i + 1), nothing, isConsumed);
      // Running again means that the owner died, and that somebody has taken over since.
      if (!told.accepted && fact.state === "paused" && !isConsumed) continue;
      if (!isConsumed) await takeBack(store, key, id);
      if (!isConsumed && told.accepted) await joined(told);
      return told;
    }
    if (loaded?.row.lease !== undefined) {
      fence = loaded.row.lease.fence;
      overdue = 0;
      continue;
    }
    // The owner is gone, or has paused: there is nothing left to stop. Whoever has a pause runs answered calls in it, and
    // finds the stop in the store, unless it is taken back before.
    if (!loaded?.commands.some((command) => command.key === stopKey(id))) return nothing;
    // One that let its lease lapse, and a look later still has not come back, has lost the thread: it may have read the
    // stop, and would heed it when it wakes up, long after the sender was told otherwise.
    if (overdue > 0) await store.release(key, fence);
    if (overdue > 1 || (await takeBack(store, key, id))) return nothing;
    overdue += 1;
  }
}

/**
 * Left there, it would hit what people let run in the same pause, long after its sender was told that there was nothing to
 * stop; and the next run would look for mail with each append. False where somebody has the thread again, and consumes it.
 */
function takeBack(store: Store, key: ThreadKey, id: string): Promise<boolean> {
  return store.withdraw(key, stopKey(id)).catch(() => false);
}

/** What a call was given makes no difference to a receipt. */
const noArgs = () => null;

/** `facts` end with the state that the stretch came to; `isConsumed` where that answers the stop. */
function receipt(facts: readonly Fact[], nothing: Receipt, isConsumed: boolean): Receipt {
  const told = isConsumed ? facts.at(-2) : undefined;
  const action = facts.findLast((fact) => fact.type === "action" && isStopOf(fact, nothing, fact === told));
  if (action?.type !== "action") return nothing;
  const cut = facts.findLast((fact) => fact.type === "message" && fact.message.interrupted !== undefined);
  const partialText = cut?.type === "message" ? messageText(cut.message) : "";
  return { ...nothing, accepted: true, partialText, ...action.action.interrupted?.calls };
}

/** It may have come to rest otherwise before it heard of the stop. One that kept what is asked is told as a pause, `withIt`. */
function isStopOf({ action, runId, segment }: ActionEvent, of: Receipt, withIt: boolean): boolean {
  const kind = action.interrupted?.kind;
  return (kind === "user" || (kind === "manual" && withIt)) && runId === of.runId && segment === of.segment;
}

function notAccepted(runId: string | undefined, segment: number | undefined): Receipt {
  return { accepted: false, runId, segment, partialText: "", stopped: [], finished: [], notStarted: [], late: [] };
}
