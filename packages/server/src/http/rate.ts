// Requests per second of each user. A bucket holds a burst, and fills again with time.

import { ServerError } from "../problem.ts";

export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

const MOST_KEPT = 10_000;

export class Rates {
  readonly #limit: RateLimit | false;
  readonly #buckets = new Map<string, { left: number; at: number }>();

  constructor(limit: RateLimit | false) {
    this.#limit = limit;
  }

  /** Counts one request. Throws RATE_LIMITED. */
  take(user: string, now = Date.now()): void {
    if (this.#limit === false) return;
    const { perSecond, burst } = this.#limit;
    const bucket = this.#buckets.get(user) ?? { left: burst, at: now };
    const left = Math.min(burst, bucket.left + (Math.max(0, now - bucket.at) / 1000) * perSecond);
    if (left < 1) {
      const retryAfter = Math.max(1, Math.ceil((1 - left) / perSecond));
      throw new ServerError("RATE_LIMITED", `${user} sends more than ${perSecond} requests a second.`, { retryAfter });
    }
    this.#buckets.delete(user);
    this.#buckets.set(user, { left: left - 1, at: now });
    if (this.#buckets.size > MOST_KEPT) this.#buckets.delete(this.#buckets.keys().next().value!);
  }
}
