// A clock that stands still until a test moves it.

import type { Clock } from "../clock.ts";

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /** Moves time on by `ms`, running what falls due on the way, in order. */
  advance(ms: number): Promise<void>;
  /** Timers that have not fallen due. */
  readonly pending: number;
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** Makes a clock that stands still at `start` until `advance()` moves it. */
export function fakeClock(start = Date.UTC(2026, 0, 1)): FakeClock {
  let now = start;
  let ids = 0;
  const timers = new Set<Timer>();
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    now: () => now,
    setTimeout(run, ms) {
      const timer: Timer = { at: now + ms, run };
      timers.add(timer);
      return timer;
    },
    clearTimeout(timer) {
      timers.delete(timer as Timer);
    },
    id() {
      ids += 1;
      return `id${ids}`;
    },
    get pending() {
      return timers.size;
    },
    async advance(ms) {
      const end = now + ms;
      await settle();
      for (;;) {
        let due: Timer | undefined;
        for (const timer of timers) if (timer.at <= end && (due === undefined || timer.at < due.at)) due = timer;
        if (due === undefined) break;
        timers.delete(due);
        now = Math.max(now, due.at);
        due.run();
        await settle();
      }
      now = end;
      await settle();
    },
  };
}
