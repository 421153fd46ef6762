// Renews the leases of all tenures by one timer; no timer while there is no tenure. A lease that an append has made last a moment
// ago is left alone: a renewal costs the store as much as an append. The timers of all runners of a process fire together, so that
// a store can renew their leases by one statement.

import { type Clock, systemClock } from "../../clock.ts";
import type { Tenure } from "../thread/tenure.ts";

/** Processes ask the store at different moments. With a clock of their own, they are as that clock is. */
const PHASE = Math.random();
const phaseOf = (clock: Clock) => (clock === systemClock ? PHASE : 0);

export class Leases {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #running = new Set<Tenure>();
  #timer: unknown;

  constructor(clock: Clock, leaseTtlMs: number) {
    this.#clock = clock;
    this.#everyMs = Math.max(1, Math.floor(leaseTtlMs / 3));
  }

  add(tenure: Tenure): void {
    this.#running.add(tenure);
    if (this.#timer === undefined) this.#wait();
  }

  remove(tenure: Tenure): void {
    this.#running.delete(tenure);
    if (this.#running.size > 0) return;
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  get running(): readonly Tenure[] {
    return [...this.#running];
  }

  #wait(): void {
    this.#timer = this.#clock.setTimeout(() => {
      this.#wait();
      for (const tenure of this.#running) if (!this.#isFresh(tenure)) void tenure.renew();
    }, this.#untilNext());
  }

  /** To the next of the moments at which this process looks; to the one after it if that one is now. */
  #untilNext(): number {
    const every = this.#everyMs;
    const at = (this.#clock.now() + Math.floor(phaseOf(this.#clock) * every)) % every;
    const left = every - (at < 0 ? at + every : at);
    return left < every / 10 ? left + every : left;
  }

  /** An append made its lease last long enough for the next look of this timer. A clock that was set back proves nothing. */
  #isFresh({ appendedAt }: Tenure): boolean {
    const age = appendedAt === undefined ? -1 : this.#clock.now() - appendedAt;
    return age >= 0 && age < this.#everyMs;
  }
}
