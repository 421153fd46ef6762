// A stop for a thread that another process, or another runner, is running: a durable command to its owner, and a
// receipt read from what the owner records.

import { belayError } from "../error.ts";
import type { Fact, StateEvent } from "../event.ts";
import { fold } from "../journal/fold.ts";
import { newThread } from "../journal/state.ts";
import { messageText } from "../message.ts";
import type { Command, Store, ThreadKey } from "../store/store.ts";
import type { DriveSetup } from "./drive.ts";
import type { Receipt } from "./ending.ts";
import { read, type StopMail, stopKey } from "./mailbox.ts";
import { type InterruptOptions, readStop } from "./options.ts";
import { loadThread, readFacts } from "./read-facts.ts";

/** How often to look, besides the store's hints, whether the owner is still there. */
const LOOK_MS = 250;

export async function stopElsewhere(setup: DriveSetup, key: ThreadKey, options: InterruptOptions): Promise<Receipt> {
  readStop(options, 0);
  const { store, clock } = setup;
  const loaded = await loadThread(store, key);
  if (loaded === undefined) throw belayError("THREAD_UNKNOWN", { threadId: key.threadId });
  const state = newThread(key.threadId);
  fold(state, loaded.lines);
  const { id = clock.id() } = options;
  if (state.stops?.has(id)) return recordedReceipt(store, key, id);
  const runId = state.run?.id;
  const segment = state.run?.segment;
  const nothing = notAccepted(runId, segment);
  // Paused, and somebody has it: an answered call runs.
  const runs = loaded.row.lease !== undefined && (state.state === "running" || state.state === "paused");
  if (!runs || runId === undefined || segment === undefined) return nothing;
  if ((options.runId ?? runId) !== runId || (options.segment ?? segment) !== segment) return nothing;
  const mail: StopMail = { runId, segment, options };
  const command: Command = { key: stopKey(id), kind: "stop", body: JSON.stringify(mail), at: clock.now() };
  // Sent before: for this stretch, or for one whose owner died before it could heed it.
  if (!(await store.send(key, command)) && !isFor(mail, key, loaded.commands, id)) return nothing;
  return waitForReceipt(setup, key, state.head, nothing);
}

/** What a stop did that is on record under this id. */
export async function recordedReceipt(store: Store, key: ThreadKey, id: string): Promise<Receipt> {
  const facts = await readFacts(store, key, 0);
  const end = facts.find((fact): fact is StateEvent => fact.type === "state" && (fact.stops?.includes(id) ?? false));
  if (end === undefined) return notAccepted(undefined, undefined);
  const { runId, segment, seq } = end;
  const stretch = facts.filter((fact) => fact.runId === runId && fact.segment === segment && fact.seq <= seq);
  return receipt(stretch, notAccepted(runId, segment));
}

function isFor(mail: StopMail, key: ThreadKey, commands: readonly Command[], id: string): boolean {
  const waiting = commands.find((command) => command.key === stopKey(id));
  // Neither waiting nor on record when we looked: it has been sent since, and was for what runs now.
  if (waiting === undefined) return true;
  const { runId, segment } = read<StopMail>(key, waiting);
  return runId === mail.runId && segment === mail.segment;
}

async function waitForReceipt(setup: DriveSetup, key: ThreadKey, head: number, nothing: Receipt): Promise<Receipt> {
  const { store, clock } = setup;
  let wake: () => void = () => {};
  const unwatch = store.watch(key, () => wake());
  try {
    for (;;) {
      const told = new Promise<void>((resolve) => (wake = resolve));
      // The lease first: the append that ends the run gives it back.
      const lease = (await loadThread(store, key, Number.MAX_SAFE_INTEGER))?.row.lease;
      const facts = await readFacts(store, key, head);
      const over = facts.findIndex((fact) => fact.type === "state");
      // Running again means that the owner died, and that somebody has taken over since.
      if (over !== -1) return receipt(facts.slice(0, over + 1), nothing);
      // The owner is gone: there is nothing left to stop.
      if (lease === undefined) return nothing;
      const timer = clock.setTimeout(() => wake(), LOOK_MS);
      await told;
      clock.clearTimeout(timer);
    }
  } finally {
    unwatch();
  }
}

function receipt(facts: readonly Fact[], nothing: Receipt): Receipt {
  const { segment } = nothing;
  const action = facts.findLast((fact) => fact.type === "action");
  if (action?.type !== "action" || action.segment !== segment) return nothing;
  const cut = facts.findLast((fact) => fact.type === "message" && fact.message.interrupted !== undefined);
  const partialText = cut?.type === "message" ? messageText(cut.message) : "";
  return { ...nothing, accepted: true, partialText, ...action.action.interrupted?.calls };
}

function notAccepted(runId: string | undefined, segment: number | undefined): Receipt {
  return { accepted: false, runId, segment, partialText: "", stopped: [], finished: [], notStarted: [], late: [] };
}
