// A dispatcher that serves in this process, and everything that it delivered.
import type { Dispatcher, Moved, ThreadRef } from "@belay/core/dispatch";

export interface Delivery extends ThreadRef {
  readonly at: number;
}

export interface Served {
  readonly deliveries: readonly Delivery[];
  /** The most deliveries at once. */
  readonly most: number;
  readonly running: number;
  /** The threads that were delivered, in order. */
  readonly ids: readonly string[];
  /** Decides the results of the next calls. */
  onMove: (thread: ThreadRef, times: number) => Promise<Moved> | Moved;
  /** Resolves when there have been so many deliveries. */
  reaches(count: number): Promise<void>;
  /** Fires the signal, and resolves when `serve` has. */
  end(): Promise<void>;
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves when `is` holds; a test that waits in vain ends by its own time limit. */
export async function until(is: () => boolean): Promise<void> {
  while (!is()) await sleep(5);
}

export function serve(dispatcher: Dispatcher, concurrency = 3): Served {
  const deliveries: Delivery[] = [];
  const ending = new AbortController();
  let running = 0;
  let most = 0;
  const served = dispatcher.serve(
    async (thread) => {
      deliveries.push({ ...thread, at: Date.now() });
      running += 1;
      most = Math.max(most, running);
      try {
        return await self.onMove(thread, deliveries.filter(({ threadId }) => threadId === thread.threadId).length);
      } finally {
        running -= 1;
      }
    },
    { concurrency, signal: ending.signal },
  );
  served.catch(() => {});
  const self: Served = {
    deliveries,
    onMove: () => ({}),
    get most() {
      return most;
    },
    get running() {
      return running;
    },
    get ids() {
      return deliveries.map(({ threadId }) => threadId);
    },
    reaches: (count) => until(() => deliveries.length >= count),
    end: async () => {
      ending.abort();
      await served;
    },
  };
  return self;
}
