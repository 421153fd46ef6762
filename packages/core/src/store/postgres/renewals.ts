// Renewals of leases. Those that are asked for at the same moment are one statement, whatever tenants and runners they are
// from: a process that runs a thousand threads renews them by one call.
//
// The statement renews a row only if the row is undamaged and has the fence. A row that it leaves alone is renewed by a call of
// its own, which reports the reason.

import type { Calls } from "./calls.ts";

/** A thread's name, its tenant and its id, as a statement takes them; its fence, and how long the lease is to last. */
export type Renewal = readonly [name: unknown, tenant: unknown, id: unknown, fence: number, ttlMs: number];

interface Waiting {
  readonly renewal: Renewal;
  readonly done: (kept: boolean | Promise<boolean>) => void;
  readonly failed: (error: unknown) => void;
}

/** More rows would be locked for longer than an append should wait. */
const MOST = 500;

export class Renewals {
  readonly #calls: Calls;
  #waiting: Waiting[] = [];
  #isSending = false;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  renew(renewal: Renewal): Promise<boolean> {
    return new Promise((done, failed) => {
      this.#waiting.push({ renewal, done, failed });
      if (this.#isSending) return;
      this.#isSending = true;
      // Timers that are due at the same time have all had their turn by then.
      setImmediate(() => void this.#send());
    });
  }

  /** One statement at a time: two that lock the same rows in another order would wait for each other. */
  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const some = this.#waiting.splice(0, MOST);
      await (some.length === 1 ? this.#one(some[0]!) : this.#all(some));
    }
    this.#isSending = false;
  }

  async #one({ renewal, done, failed }: Waiting): Promise<void> {
    await this.#alone(renewal).then(done, failed);
  }

  async #alone(renewal: Renewal): Promise<boolean> {
    const [row] = await this.#calls.call("renew", [...renewal]);
    return row.done;
  }

  async #all(some: readonly Waiting[]): Promise<void> {
    const columns = [0, 1, 2, 3, 4].map((column) => some.map(({ renewal }) => renewal[column]));
    try {
      const rows = await this.#calls.call("renewAll", columns);
      const renewed = new Set(rows.map(({ nth }) => Number(nth)));
      for (const [i, { renewal, done }] of some.entries()) done(renewed.has(i + 1) || this.#alone(renewal));
    } catch (error) {
      for (const { failed } of some) failed(error);
    }
  }
}
