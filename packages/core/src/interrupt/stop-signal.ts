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
  /** Nobody means what people are asked for: that stays open. */
  readonly keepsRequests?: true;
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
    ...(now.keepsRequests && later.keepsRequests && { keepsRequests: true as const }),
  };
}

/** A stop that means the questions, too, has met one that does not: they are withdrawn, whichever came first. */
export function withdrawing({ keepsRequests: _, ...stop }: Stop): Stop {
  return stop;
}

/** Where a stop for later takes hold: once the model has ended, or once its calls have. */
export type Boundary = "after-model" | "after-tools";

/** Told when the stop comes, and again when it is forced. */
export interface StopListener {
  stopped(): void;
}

export class StopSignal {
  /** The stop in force; nothing starts any more. */
  stop: Stop | undefined;
  /** No grace is given any more. */
  forced = false;
  #boundaries: Set<Boundary> | undefined;
  /** Most of the time there is one who listens: the model call, or the only tool call. */
  #listener: StopListener | undefined;
  #others: StopListener[] | undefined;

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

  /** The stop in force takes questions back after all. */
  withdraw(): void {
    if (this.stop?.keepsRequests) this.stop = withdrawing(this.stop);
  }

  force(): void {
    if (this.forced) return;
    this.forced = true;
    this.#tell();
  }

  on(listener: StopListener): void {
    if (this.#listener === undefined) {
      this.#listener = listener;
      return;
    }
    this.#others ??= [];
    this.#others.push(listener);
  }

  off(listener: StopListener): void {
    if (this.#listener === listener) {
      this.#listener = this.#others?.shift();
      return;
    }
    const index = this.#others?.indexOf(listener) ?? -1;
    if (index !== -1) this.#others!.splice(index, 1);
  }

  /** What `work` gives, or undefined when a stop comes first: then nobody waits for it any more. */
  orStopped<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const listener = { stopped: () => resolve(undefined) };
      this.on(listener);
      work.then(resolve, reject).finally(() => this.off(listener));
      if (this.stop !== undefined) resolve(undefined);
    });
  }

  #tell(): void {
    const others = this.#others?.slice();
    this.#listener?.stopped();
    if (others !== undefined) for (const listener of others) listener.stopped();
  }
}
