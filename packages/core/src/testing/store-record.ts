// The record of wakes for a dispatcher whose engine is the store: empty threads, which are due as real ones are.

import type { Moved, ThreadRef } from "../dispatch/dispatcher.ts";
import type { Append, Store } from "../store/store.ts";
import type { WakeRecord } from "./dispatch-cases/serve-plan.ts";

let counter = 0;

/** A thread is held for so long while it is moved; a process that dies lets go of it after that. */
const LEASE_MS = 1_500;

/** Returns a record in a store, for `dispatcherSuite()`. */
export function storeRecord(store: Store): WakeRecord {
  const loaded = (thread: ThreadRef) => store.load(thread, Number.MAX_SAFE_INTEGER);

  function append(expect: number, more: Partial<Append>): Append {
    counter += 1;
    const appendId = `${process.pid}-${Date.now().toString(36)}-${counter}`;
    const none = { count: 1, at: Date.now(), body: "{}", agent: "none", release: true, state: "completed" } as const;
    return { appendId, expect, writer: { take: `suite-${process.pid}`, ttlMs: LEASE_MS }, ...none, ...more };
  }

  return {
    async wake(thread, at) {
      if ((await loaded(thread)) === undefined) {
        const rest = at === undefined ? {} : ({ state: "paused", rest: { from: 1, dueAt: at } } as const);
        await store.append(thread, append(0, rest));
      }
      counter += 1;
      const key = `${process.pid}-${counter}`;
      if (at === undefined) await store.send(thread, { key, kind: "input", body: "{}", at: Date.now() });
    },

    async moving(thread) {
      const found = await loaded(thread);
      if (found === undefined) return {};
      const { head } = found.row;
      const taken = await store.append(thread, append(head, { state: "running", release: false }));
      if (!taken.ok) return taken.why === "busy" ? { again: taken.until, id: `lease-${taken.owner}` } : {};
      const consume = found.commands.map(({ key }) => key);
      return async (moved: Moved | undefined) => {
        const writer = { fence: taken.fence, ttlMs: LEASE_MS };
        // A move that rejects leaves its causes.
        if (moved === undefined) return void (await store.release(thread, taken.fence));
        const again = moved.again;
        const rest = again === undefined ? {} : ({ state: "paused", rest: { from: 1, dueAt: again } } as const);
        await store.append(thread, append(head + 1, { writer, consume, ...rest }));
      };
    },
  };
}
