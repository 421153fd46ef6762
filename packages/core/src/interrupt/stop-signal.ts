// A stop from outside, as one execution sees it. Invariants:
// 1. It is set synchronously, once; everything that waits hears of it at once, through a listener (S1).
// 2. It never goes back: a stop for later may become a stop now, a stop now may become forced (S6).

export interface Stop {
  readonly at: number;
  readonly by: string;
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly rollbackPartial: boolean;
  readonly graceMs: number | undefined;
}

/** A stop for now that comes after one for later: it is the one on record, and takes from the other what it leaves open. */
export function overriding(later: Stop, now: Stop): Stop {
  return {
    at: now.at,
    by: now.by === "user" ? later.by : now.by,
    reason: now.reason ?? later.reason,
    message: now.message ?? later.message,
    rollbackPartial: now.rollbackPartial || later.rollbackPartial,
    graceMs: now.graceMs ?? later.graceMs,
  };
}

/** Where a stop for later takes hold: once the model has ended, or once its calls have. */
export type Boundary = "after-model" | "after-tools";

export class StopSignal {
  /** The stop in force; nothing starts any more. */
  stop: Stop | undefined;
  /** No grace is given any more. */
  forced = false;
  #boundaries: Set<Boundary> | undefined;
  #listeners: Set<() => void> | undefined;

  /** True when work must not go on past this boundary. */
  halts(boundary: Boundary): boolean {
    return this.stop !== undefined || (this.#boundaries?.has(boundary) ?? false);
  }

  haltAt(boundary: Boundary): void {
    this.#boundaries ??= new Set();
    this.#boundaries.add(boundary);
  }

  raise(stop: Stop): void {
    if (this.stop !== undefined) return;
    this.stop = stop;
    this.#tell();
  }

  force(): void {
    if (this.forced) return;
    this.forced = true;
    this.#tell();
  }

  /** `listener` is called when the stop comes, and again when it is forced. Returns how to end that. */
  on(listener: () => void): () => void {
    this.#listeners ??= new Set();
    const listeners = this.#listeners;
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** What `work` gives, or undefined when a stop comes first: then nobody waits for it any more. */
  orStopped<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const unlisten = this.on(() => resolve(undefined));
      work.then(resolve, reject).finally(unlisten);
      if (this.stop !== undefined) resolve(undefined);
    });
  }

  #tell(): void {
    if (this.#listeners !== undefined) for (const listener of [...this.#listeners]) listener();
  }
}
