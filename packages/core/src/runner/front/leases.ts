// Renews the leases of all tenures by one timer; no timer while there is no tenure.

import type { Clock } from "../../clock.ts";
import type { Tenure } from "../thread/tenure.ts";

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
      for (const tenure of this.#running) void tenure.renew();
    }, this.#everyMs);
  }
}
