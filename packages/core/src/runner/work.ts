// A worker: finds threads that can move by themselves and moves them. What must not be lost is in the store; this only
// has to look often enough.

import type { ThreadRow } from "../store/store.ts";

export interface WorkOptions {
  /** How many threads at once; 4 by default. */
  readonly concurrency?: number;
  readonly signal?: AbortSignal;
  /** How long to wait before looking again when there was nothing to do. */
  readonly pollMs?: number;
}

/** What the runner does for its worker. */
export interface WorkHost {
  /** Threads that crashed, or have an input waiting while they are idle. */
  find(): Promise<readonly ThreadRow[]>;
  /** Moves one to its next end or pause. Never rejects. */
  move(row: ThreadRow): Promise<void>;
  wait(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

/** Works until `signal` fires, and then until what it has begun has ended. */
export async function workOn(host: WorkHost, options: WorkOptions): Promise<void> {
  const { concurrency = 4, signal, pollMs = 200 } = options;
  const busy = new Map<string, Promise<void>>();
  while (!signal?.aborted) {
    const rows = busy.size < concurrency ? await host.find().catch(() => []) : [];
    for (const row of rows) {
      if (busy.size >= concurrency || busy.has(row.threadId) || signal?.aborted) continue;
      const moved = host.move(row).finally(() => busy.delete(row.threadId));
      busy.set(row.threadId, moved);
    }
    const idle = host.wait(pollMs, signal);
    await (busy.size >= concurrency ? Promise.race(busy.values()) : idle);
  }
  await Promise.all(busy.values());
}
