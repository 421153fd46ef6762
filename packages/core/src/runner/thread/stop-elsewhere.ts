// A stop, a pause or a termination of a thread that another process, or another runner, is running: a row for its owner, and a
// receipt read from the facts that the owner records.

import type { CommandEvent, Fact } from "../../event.ts";
import { decode } from "../../journal/codec.ts";
import type { Command as Row, Store, ThreadKey, ThreadRow } from "../../store/store.ts";
import type { SignalCommand } from "../decide/command.ts";
import type { Receipt } from "../decide/ending.ts";
import { read, type StopMail } from "../decide/mail.ts";
import { nothingStopped, receiptIn } from "../decide/receipt.ts";
import { isStale } from "../decide/stale.ts";
import { sentStop } from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread } from "../read/read-facts.ts";
import { untilFree, watched } from "../read/until-taken.ts";

/** Without a receipt, the thread came to rest, and has to be looked at again. */
export interface Sent {
  readonly receipt?: Receipt;
  /** True if the command itself is on record, and not only another stop of the segment. */
  readonly isOnRecord: boolean;
}

/** Sends a stop for this segment to the owner of the thread, and waits for its receipt. */
export async function stopElsewhere(
  setup: Setup,
  key: ThreadKey,
  { do: verb, key: name, options }: SignalCommand,
  row: ThreadRow,
  { runId, segment }: Partial<Pick<StopMail, "runId" | "segment">>,
): Promise<Sent> {
  const { store, clock } = setup;
  const nothing = { receipt: nothingStopped(runId, segment), isOnRecord: false };
  // A paused thread with an owner runs answered calls, which a pause leaves alone.
  const runs = row.state === "running" || (row.state === "paused" && verb !== "pause");
  if (runs && runId !== undefined && segment !== undefined) {
    const mail: StopMail = { do: verb, runId, segment, options: sentStop(options) };
    // Watched before it is sent: the owner may be quick.
    const news = watched(setup, key);
    try {
      const isNew = await store.send(key, { key: name, kind: "stop", body: JSON.stringify(mail), at: clock.now() });
      if (isNew || (await isFor(mail, store, key, name))) {
        return await waitForReceipt(store, key, row, mail, news.come, name);
      }
    } finally {
      news.end();
    }
  }
  // It cannot be sent. A termination is for any later run of the thread.
  if (verb === "terminate") await untilFree(setup, key, {});
  return nothing;
}

/** Returns true if the row that was sent under this key before is for the same segment, or is consumed. */
async function isFor(mail: StopMail, store: Store, key: ThreadKey, name: string): Promise<boolean> {
  const { commands = [], lines = [] } = (await loadThread(store, key)) ?? {};
  const waiting = commands.find((command: Row) => command.key === name);
  if (waiting !== undefined) return !isStale(read<StopMail>(key, waiting), mail);
  return lines.some((line) => decode(key.threadId, line, noArgs).some((fact) => isOwn(fact, name)));
}

async function waitForReceipt(
  store: Store,
  key: ThreadKey,
  { head, lease: owner }: ThreadRow,
  { runId, segment }: StopMail,
  news: () => Promise<void>,
  name: string,
): Promise<Sent> {
  let fence = owner?.fence ?? 0;
  /** How many looks in a row found no owner. */
  let overdue = 0;
  for (;;) {
    await news();
    const loaded = await loadThread(store, key, head);
    const facts = (loaded?.lines ?? []).flatMap((line) => decode(key.threadId, line, noArgs));
    for (const fact of facts) {
      if (fact.seq <= head) continue;
      if (isOwn(fact, name)) return { receipt: receiptIn(fact, facts), isOnRecord: true };
      if (fact.type !== "state") continue;
      const receipt = receiptIn({ runId, segment, seq: fact.seq }, facts);
      // Running again means that the owner died, and that another process has taken over since.
      if (!receipt.accepted && fact.state === "paused") continue;
      await takeBack(store, key, name);
      return { receipt, isOnRecord: false };
    }
    if (loaded?.row.lease !== undefined) {
      fence = loaded.row.lease.fence;
      overdue = 0;
      continue;
    }
    // The owner is gone, or has paused. The next owner would find the stop in the store, unless it is taken back before.
    if (!loaded?.commands.some((command) => command.key === name)) return { isOnRecord: false };
    // An owner that let its lease lapse, and is not back a look later, has lost the thread. It may have read the stop, and
    // would heed it when it wakes up, long after the sender had its receipt.
    if (overdue > 0) await store.release(key, fence);
    if (overdue > 1 || (await takeBack(store, key, name))) return { isOnRecord: false };
    overdue += 1;
  }
}

/**
 * Takes the row back. Left there, it would hit answered calls of the same pause, long after its sender had its receipt. Resolves
 * to false if a process has the thread again, and consumes the row.
 */
function takeBack(store: Store, key: ThreadKey, name: string): Promise<boolean> {
  return store.withdraw(key, name).catch(() => false);
}

function isOwn(fact: Fact, name: string): fact is CommandEvent {
  return fact.type === "command" && fact.key === name;
}

/** The arguments of a call make no difference to a receipt. */
const noArgs = () => null;
