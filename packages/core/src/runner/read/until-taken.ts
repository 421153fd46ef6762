// How a process waits for another one: for the owner of a thread to take a command that was sent to it. A stop, which may also
// find that the thread has moved on, waits by the same `watched`.

import { decode, type Line } from "../../journal/codec.ts";
import type { ThreadKey } from "../../store/store.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread } from "./read-facts.ts";

/** How often to look, besides the store's hints, whether the owner is still there. The first look is sooner: the owner may have been quicker than the sender. */
const LOOK_MS = 250;
const FIRST_LOOK_MS = 25;

/** Waits until the command with this key is on record after `head`, or no process has the thread. */
export async function untilTaken(setup: Setup, key: ThreadKey, command: string, head: number): Promise<void> {
  const news = watched(setup, key);
  try {
    for (;;) {
      // One load: its row and its lines are of one moment.
      const loaded = await loadThread(setup.store, key, head);
      if (loaded?.row.lease === undefined || isTaken(key, loaded.lines, command)) return;
      await news.come();
    }
  } finally {
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
