// How a process waits for another one: for the owner of a thread to take a command that was sent to it. A stop, which may also
// find that the thread has moved on, waits by the same `watched`.

import { decode, type Line } from "../../journal/codec.ts";
import type { ThreadKey } from "../../store/store.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread } from "./read-facts.ts";

/** How often to look, besides the store's hints, whether the owner is still there. The first look is sooner: the owner may have been quicker than the sender. */
const LOOK_MS = 250;
const FIRST_LOOK_MS = 25;

/** How long a command waits for another process, if its caller does not say. */
export const WAIT_MS = 5_000;

export interface Patience {
  /** Without it, the wait has no bound. */
  readonly waitMs?: number | undefined;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Waits until the command with this key is on record after `head`, or no process has the thread. Resolves to false if that took
 * too long. While `isHeldHere()` is true, this process has the thread, also without a lease in the store: the append that ends
 * its lease may be committed before its reply is here.
 */
export function untilTaken(
  setup: Setup,
  key: ThreadKey,
  command: string,
  head: number,
  patience: Patience = {},
  isHeldHere: () => boolean = () => false,
): Promise<boolean> {
  return until(setup, key, head, patience, (lines) => isTaken(key, lines, command), isHeldHere);
}

/** Waits until no process has the thread. Resolves to false if that took too long. */
export function untilFree(setup: Setup, key: ThreadKey, patience: Patience): Promise<boolean> {
  return until(setup, key, Number.MAX_SAFE_INTEGER, patience, () => false);
}

async function until(
  setup: Setup,
  key: ThreadKey,
  head: number,
  { waitMs = Number.POSITIVE_INFINITY, signal }: Patience,
  isOver: (lines: readonly Line[]) => boolean,
  isHeldHere: () => boolean = () => false,
): Promise<boolean> {
  const news = watched(setup, key);
  const { clock, store } = setup;
  const due = clock.now() + waitMs;
  signal?.addEventListener("abort", news.wake);
  try {
    for (;;) {
      // One load: its row and its lines are of one moment.
      const loaded = await loadThread(store, key, head);
      const isFree = loaded === undefined || (loaded.row.lease === undefined && !isHeldHere());
      if (isFree || isOver(loaded.lines)) return true;
      if (signal?.aborted || clock.now() >= due) return false;
      await news.come(due - clock.now());
    }
  } finally {
    signal?.removeEventListener("abort", news.wake);
    news.end();
  }
}

/** An owner of the release before records it in the answer itself. */
function isTaken({ threadId }: ThreadKey, lines: readonly Line[], command: string): boolean {
  const facts = lines.flatMap((line) => decode(threadId, line, () => null));
  return facts.some((fact) => (fact.type === "command" || fact.type === "request-answered") && fact.key === command);
}

/** `come` resolves when something was written since it was last asked, or when it is time to look again. */
export function watched({ store, clock }: Setup, key: ThreadKey) {
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
  const come = async (atMost = patience) => {
    if (!came) {
      const told = new Promise<void>((resolve) => (wake = resolve));
      const timer = clock.setTimeout(wake, Math.min(patience, atMost));
      await told;
      clock.clearTimeout(timer);
    }
    came = false;
    patience = LOOK_MS;
  };
  return { come, end, wake: () => wake() };
}
