// Keeps the leases of running executions alive: one timer for all of them, none when nothing runs.

import type { Clock } from "../../clock.ts";
import type { Execution } from "../thread/execution.ts";

export class Leases {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #running = new Set<Execution>();
  #timer: unknown;

  constructor(clock: Clock, leaseTtlMs: number) {
    this.#clock = clock;
    this.#everyMs = Math.max(1, Math.floor(leaseTtlMs / 3));
  }

  add(execution: Execution): void {
    this.#running.add(execution);
    if (this.#timer === undefined) this.#wait();
  }

  remove(execution: Execution): void {
    this.#running.delete(execution);
    if (this.#running.size > 0) return;
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  get running(): readonly Execution[] {
    return [...this.#running];
  }

  #wait(): void {
    this.#timer = this.#clock.setTimeout(() => {
      this.#wait();
      for (const execution of this.#running) void execution.renew();
    }, this.#everyMs);
  }
}
