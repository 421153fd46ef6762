// A stop for a thread that another process, or another runner, is running: a durable command to its owner, and a
// receipt read from what the owner records.

import { belayError } from "../error.ts";
import type { Fact } from "../event.ts";
import { fold } from "../journal/fold.ts";
import { newThread } from "../journal/state.ts";
import { messageText } from "../message.ts";
import type { ThreadKey } from "../store/store.ts";
import type { DriveSetup } from "./drive.ts";
import type { Receipt } from "./ending.ts";
import type { StopMail } from "./mailbox.ts";
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
  const runId = state.run?.id;
  const segment = state.run?.segment;
  const nothing: Receipt = {
    accepted: false,
    runId,
    segment,
    partialText: "",
    stopped: [],
    finished: [],
    notStarted: [],
    late: [],
  };
  const other = (options.runId ?? runId) !== runId || (options.segment ?? segment) !== segment;
  if (
    loaded.row.lease === undefined ||
    state.state !== "running" ||
    other ||
    runId === undefined ||
    segment === undefined
  ) {
    return nothing;
  }
  const mail: StopMail = { runId, segment, options };
  const command = { key: options.id ?? clock.id(), kind: "stop", body: JSON.stringify(mail), at: clock.now() } as const;
  await store.send(key, command);
  return waitForReceipt(setup, key, state.head, nothing);
}

async function waitForReceipt(setup: DriveSetup, key: ThreadKey, head: number, nothing: Receipt): Promise<Receipt> {
  const { store, clock } = setup;
  let wake: () => void = () => {};
  const unwatch = store.watch(key, () => wake());
  try {
    for (;;) {
      const told = new Promise<void>((resolve) => (wake = resolve));
      const facts = await readFacts(store, key, head);
      const end = facts.find((fact) => fact.type === "state" && fact.state !== "running");
      if (end !== undefined) return receipt(facts.slice(0, facts.indexOf(end) + 1), nothing);
      // The owner is gone: there is nothing left to stop.
      if ((await loadThread(store, key, Number.MAX_SAFE_INTEGER))?.row.lease === undefined) return nothing;
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
  const cut = facts.find((fact) => fact.type === "message" && fact.message.interrupted !== undefined);
  const partialText = cut?.type === "message" ? messageText(cut.message) : "";
  return { ...nothing, accepted: true, partialText, ...action.action.interrupted.calls };
}
