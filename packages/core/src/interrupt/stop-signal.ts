// A stop from outside, as one tenure sees it. Invariants:
// 1. It is set synchronously, once. A listener wakes everything that waits (S1).
// 2. It never goes back: a stop for later may become a stop now, a stop now may become forced (S6).

export interface Stop {
  readonly at: number;
  readonly by: string;
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly rollbackPartial: boolean;
  readonly graceMs: number | undefined;
  /** Set if the stop leaves open requests as they are. */
  readonly keepsRequests?: true;
}

/**
 * Returns the stop to record when a stop for now follows one for later. It takes missing values from the earlier one.
 */
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

/** Returns the stop without `keepsRequests`. Of two stops, one that withdraws requests wins, whichever came first. */
export function withdrawing({ keepsRequests: _, ...stop }: Stop): Stop {
  return stop;
}

/** The boundary at which a stop for later takes effect: after the model, or after its calls. */
export type Boundary = "after-model" | "after-tools";

/** Called when the stop comes, and again when it is forced. */
export interface StopListener {
  stopped(): void;
}

export class StopSignal {
  /** The stop in force. Nothing starts any more. */
  stop: Stop | undefined;
  /** True if calls get no more grace time. */
  forced = false;
  #boundaries: Set<Boundary> | undefined;
  /** Usually there is one listener: the model call, or the only tool call. */
  #listener: StopListener | undefined;
  #others: StopListener[] | undefined;

  /** Returns whether work must not continue past this boundary. */
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

  /** Makes the stop in force withdraw requests. */
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

  /** Returns the result of `work`, or undefined if a stop comes first. The result is then ignored. */
  orStopped<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const listener = { stopped: () => resolve(undefined) };
      const off = () => this.off(listener);
      this.on(listener);
      work.then(resolve, reject);
      work.then(off, off);
      if (this.stop !== undefined) resolve(undefined);
    });
  }

  #tell(): void {
    const others = this.#others?.slice();
    this.#listener?.stopped();
    if (others !== undefined) for (const listener of others) listener.stopped();
  }
}
