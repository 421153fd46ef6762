// A process that serves as the suite plans it, and prints each call: for engines whose promises only a kill can show.

import type { Dispatcher, Moved, ThreadRef } from "../../dispatch/dispatcher.ts";

/** The plan of a process for the threads that it gets. */
export interface ServePlan {
  readonly concurrency: number;
  /**
   * By thread id: `hang` never ends, a number asks for another look after so many milliseconds, at once if it is negative.
   * Others end at once.
   */
  readonly moves: Readonly<Record<string, "hang" | "reject" | number>>;
}

/** For a dispatcher whose engine is the store: the causes of wakes, on record there. */
export interface WakeRecord {
  /** Records the cause of a wake, now or at a time. */
  wake(thread: ThreadRef, at?: number): Promise<void>;
  /** Takes a thread. Returns the function that lets go of it, or when to look again if another process has it. */
  moving(thread: ThreadRef): Promise<((moved: Moved | undefined) => Promise<void>) | Moved>;
}

/** Wraps `move` so that a thread is taken while it is moved, and its causes are consumed. */
export function serveRecorded(
  move: (thread: ThreadRef) => Promise<Moved>,
  record: WakeRecord | undefined,
): (thread: ThreadRef) => Promise<Moved> {
  if (record === undefined) return move;
  return async (thread) => {
    const letGo = await record.moving(thread);
    if (typeof letGo !== "function") return letGo;
    let moved: Moved | undefined;
    try {
      moved = await move(thread);
      return moved;
    } finally {
      await letGo(moved);
    }
  };
}

/**
 * Serves by a plan until the process is killed or gets SIGTERM, and prints `move <thread id>` and `moved <thread id>`. For the
 * program that a `start` of `dispatcherSuite()` runs.
 */
export async function serveAsPlanned(
  dispatcher: Dispatcher,
  { concurrency, moves }: ServePlan,
  record?: WakeRecord,
): Promise<void> {
  const ending = new AbortController();
  process.once("SIGTERM", () => ending.abort());
  const move = async ({ threadId }: ThreadRef): Promise<Moved> => {
    console.log(`move ${threadId}`);
    const what = moves[threadId];
    if (what === "hang") await new Promise(() => {});
    if (what === "reject") throw new Error("planned");
    const moved = typeof what === "number" ? { again: Date.now() + what, id: "planned" } : {};
    console.log(`moved ${threadId}`);
    return moved;
  };
  await dispatcher.serve(serveRecorded(move, record), { concurrency, signal: ending.signal });
  await dispatcher.close();
}
