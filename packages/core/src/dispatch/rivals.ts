// How many threads other workers take. A worker learns it from two looks: rows that it read and left, and that are no longer
// due, were taken by others.

import type { DueThread, ThreadKey } from "../store/store.ts";

/** Returns a name for a thread, for tables of this process. */
export function nameOf({ tenant, threadId }: ThreadKey): string {
  return `${tenant.length}:${tenant}${threadId}`;
}

export class Rivals {
  /** The rows that the last look left, by name, with the time since which they wait. */
  #left: ReadonlyMap<string, number> = new Map();
  #taken = 0;
  /** The threads that others take for each thread that this worker takes: a mean over its last looks. */
  perOwn = 0;

  /** A look found `due`, the longest waiting first. `isAll`: no more are due. */
  found(due: readonly DueThread[], isAll: boolean): void {
    // A look that took all it saw shows nothing about others.
    if (this.#taken === 0 || this.#left.size === 0) return;
    const last = due.at(-1)?.since ?? 0;
    const names = new Set(due.map(nameOf));
    // Rows behind the last one that was read may be due as before.
    const gone = [...this.#left].filter(([name, since]) => (isAll || since < last) && !names.has(name));
    this.perOwn = (this.perOwn + gone.length / this.#taken) / 2;
  }

  /** This worker takes some of the rows that it could take, and leaves the others. */
  took(taken: readonly DueThread[], free: readonly DueThread[]): void {
    this.#taken = taken.length;
    const left = new Map(free.map((row) => [nameOf(row), row.since]));
    for (const row of taken) left.delete(nameOf(row));
    this.#left = left;
  }
}
