// A store that wakes threads: the only caller of `wake`. A wake follows its cause, and is named by it. If the engine does not
// confirm it, nothing is lost: the cause is on record, and the sweep of a worker finds it.

import { consoleLog, type Log } from "../log.ts";
import type { Append, Appended, Store, ThreadKey } from "../store/store.ts";
import { wrapStore } from "../store/wrap-store.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { Troubles } from "./troubles.ts";

/**
 * Returns the store with wakes: for an input or an answer that is sent, for an append that releases a thread with a due time
 * or with commands left, and for a thread that is released in the middle. `createRunner({ dispatcher })` makes its store so.
 */
export function wakingStore(store: Store, dispatcher: Pick<Dispatcher, "wake">, log: Log = consoleLog): Store {
  const troubles = new Troubles(log);

  async function wake({ tenant, threadId }: ThreadKey, id: string, at?: number): Promise<void> {
    try {
      await dispatcher.wake({ tenant, threadId }, at === undefined ? { id } : { id, at });
      troubles.over();
    } catch (error) {
      troubles.tell(error, threadId);
    }
  }

  async function wakeAfter(key: ThreadKey, { release, state, rest, appendId }: Append, done: Appended): Promise<void> {
    if (!done.ok || !release) return;
    if (done.mail || state === "running") await wake(key, `append-${appendId}`);
    if (state === "paused" && rest?.dueAt !== undefined) await wake(key, `due-${appendId}`, rest.dueAt);
  }

  return wrapStore(store, {
    async send(key, command) {
      const sent = await store.send(key, command);
      // Also for one that was sent before: its sender may have died before it could wake.
      if (command.kind === "input" || command.kind === "answer") await wake(key, `command-${command.key}`);
      return sent;
    },
    async append(key, append) {
      const done = await store.append(key, append);
      await wakeAfter(key, append, done);
      return done;
    },
    async release(key, fence) {
      await store.release(key, fence);
      await wake(key, `release-${fence}`);
    },
  });
}
