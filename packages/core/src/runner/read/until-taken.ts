// How a process waits for another one: for the owner of a thread to take a command that was sent to it.

import type { Fact } from "../../event.ts";
import { decode } from "../../journal/codec.ts";
import type { Loaded, ThreadKey } from "../../store/store.ts";
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

interface Wait extends Patience {
  /** True for a fact that ends the wait as the command does. */
  readonly isOver?: (fact: Fact) => boolean;
  /**
   * True while this process has the thread. The store may show no lease then: the append that returns it may be committed before
   * its reply is here.
   */
  readonly isHeldHere?: () => boolean;
}

/**
 * Waits until the command with this key is on record after `head`, until a fact after it `isOver`, or until no process has the
 * thread. Resolves to the facts after `head`; to undefined if that took too long.
 */
export async function untilTaken(
  setup: Setup,
  key: ThreadKey,
  command: string,
  head: number,
  { isOver = () => false, isHeldHere, ...patience }: Wait,
): Promise<readonly Fact[] | undefined> {
  let facts: readonly Fact[] = [];
  const isTakenIn = ({ lines }: Loaded) => {
    facts = lines.flatMap((line) => decode(key.threadId, line, () => null));
    return facts.some((fact) => isTaken(fact, command) || isOver(fact));
  };
  const isDone = await until(setup, key, head, patience, isTakenIn, isHeldHere);
  return isDone ? facts : undefined;
}

/** Waits until no process has the thread. Resolves to false if that took too long. */
export function untilFree(setup: Setup, key: ThreadKey, patience: Patience): Promise<boolean> {
  return until(setup, key, Number.MAX_SAFE_INTEGER, patience, () => false);
}

/** Waits until no process runs the thread. One may have it for answered calls. */
export function untilRests(setup: Setup, key: ThreadKey): Promise<boolean> {
  return until(setup, key, Number.MAX_SAFE_INTEGER, {}, ({ row }) => row.state !== "running");
}

async function until(
  setup: Setup,
  key: ThreadKey,
  head: number,
  { waitMs = Number.POSITIVE_INFINITY, signal }: Patience,
  isOver: (loaded: Loaded) => boolean,
  isHeldHere = () => false,
): Promise<boolean> {
  const news = watched(setup, key);
  const { clock, store } = setup;
  const due = clock.now() + waitMs;
  signal?.addEventListener("abort", news.wake);
  try {
    for (;;) {
      // One load: its row and its lines are of one moment.
      const loaded = await loadThread(store, key, head);
      if (loaded === undefined || isOver(loaded)) return true;
      if (loaded.row.lease === undefined && !isHeldHere()) return true;
      if (signal?.aborted || clock.now() >= due) return false;
      await news.come(due - clock.now());
    }
  } finally {
    signal?.removeEventListener("abort", news.wake);
    news.end();
  }
}

/** An owner of the release before records it in the answer itself. */
function isTaken(fact: Fact, key: string): boolean {
  return (fact.type === "command" || fact.type === "request-answered") && fact.key === key;
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
