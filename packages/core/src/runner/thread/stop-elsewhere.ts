// A stop, a pause or a termination of a thread that another process, or another runner, is running: a durable command to its
// owner, and a receipt read from the facts that the owner records.

import { belayError } from "../../error.ts";
import { decode, type Line } from "../../journal/codec.ts";
import { fold } from "../../journal/fold.ts";
import { newThread, type Taken } from "../../journal/state.ts";
import { keyOf } from "../../journal/taken.ts";
import type { Command, Loaded, Store, ThreadKey, ThreadRow } from "../../store/store.ts";
import type { Receipt } from "../decide/ending.ts";
import { read, type StopMail, type StopVerb } from "../decide/mail.ts";
import { nothingStopped, receiptIn } from "../decide/receipt.ts";
import { isStale } from "../decide/stale.ts";
import { type InterruptOptions, readStop, sentStop } from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread } from "../read/read-facts.ts";
import { watched } from "../read/until-taken.ts";

export interface StopOrder {
  readonly do: StopVerb;
  readonly options: InterruptOptions;
}

/**
 * `end` is the end of the thread when the stop was asked for, if it was read. `joined` is called with the receipt of another
 * stop that ended the segment first: this one is not on record then.
 */
export async function stopElsewhere(
  setup: Setup,
  key: ThreadKey,
  { do: verb, options }: StopOrder,
  end?: Loaded,
  joined: (told: Receipt) => Promise<void> = async () => {},
): Promise<Receipt> {
  if (verb === "stop") readStop(options, 0, setup.maxBytes);
  const { store, clock } = setup;
  const { id = clock.id() } = options;
  // Whether a stop is on record under an id stands anywhere in it.
  const loaded =
    options.id === undefined ? (end ?? (await loadThread(store, key, "rest"))) : await loadThread(store, key);
  if (loaded === undefined) throw belayError("THREAD_UNKNOWN", { threadId: key.threadId });
  const { row, lines } = loaded;
  if (options.id !== undefined && takenIn(key, lines, keyOf.stop(id)) !== undefined)
    return recordedReceipt(store, key, id);
  const last = lines.at(-1);
  const { runId, segment } = last === undefined ? {} : decode(key.threadId, last, noArgs).at(-1)!;
  const nothing = nothingStopped(runId, segment);
  // A paused thread with an owner runs answered calls, which a pause leaves alone.
  const runs = row.lease !== undefined && (row.state === "running" || (row.state === "paused" && verb !== "pause"));
  if (!runs || runId === undefined || segment === undefined) return nothing;
  if (isStale(options, { runId, segment })) return nothing;
  const mail: StopMail = { do: verb, runId, segment, options: sentStop(options) };
  const command: Command = { key: keyOf.stop(id), kind: "stop", body: JSON.stringify(mail), at: clock.now() };
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

function takenIn({ threadId }: ThreadKey, lines: readonly Line[], command: string): Taken | undefined {
  const state = newThread(threadId);
  fold(state, lines);
  return state.taken?.get(command);
}

/** Returns the receipt of a stop that is on record under this id. */
export async function recordedReceipt(store: Store, key: ThreadKey, id: string): Promise<Receipt> {
  const { lines = [] } = (await loadThread(store, key)) ?? {};
  const taken = takenIn(key, lines, keyOf.stop(id));
  const facts = lines.flatMap((line) => decode(key.threadId, line, noArgs));
  return taken === undefined ? nothingStopped(undefined, undefined) : receiptIn(taken, facts);
}

async function isFor(mail: StopMail, store: Store, key: ThreadKey, id: string): Promise<boolean> {
  const { commands = [], lines = [] } = (await loadThread(store, key)) ?? {};
  const waiting = commands.find((command) => command.key === keyOf.stop(id));
  // Neither waiting nor answered: its sender took it back, or somebody has put it away.
  if (waiting === undefined) {
    return takenIn(key, lines, keyOf.stop(id)) !== undefined;
  }
  const { runId, segment } = read<StopMail>(key, waiting);
  return runId === mail.runId && segment === mail.segment;
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
    for (const fact of facts) {
      if (fact.seq <= head) continue;
      if (fact.type === "command" && fact.key === keyOf.stop(id)) return receiptIn(fact, facts);
      if (fact.type !== "state") continue;
      const told = receiptIn({ runId: nothing.runId!, segment: nothing.segment!, seq: fact.seq }, facts);
      // Running again means that the owner died, and that another process has taken over since.
      if (!told.accepted && fact.state === "paused") continue;
      await takeBack(store, key, id);
      if (told.accepted) await joined(told);
      return told;
    }
    if (loaded?.row.lease !== undefined) {
      fence = loaded.row.lease.fence;
      overdue = 0;
      continue;
    }
    // The owner is gone, or has paused: there is nothing left to stop. Whoever has a pause runs answered calls in it, and
    // finds the stop in the store, unless it is taken back before.
    if (!loaded?.commands.some((command) => command.key === keyOf.stop(id))) return nothing;
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
  return store.withdraw(key, keyOf.stop(id)).catch(() => false);
}

/** What a call was given makes no difference to a receipt. */
const noArgs = () => null;
