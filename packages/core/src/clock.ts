// The only source of time and ids, so that a test can hold them still.

/** The source of time and ids. `fakeClock()` in `@belay/core/testing` makes one that a test moves. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  setTimeout(run: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  /** Returns a new id: unique, URL-safe, and ordered by time if the clock is. */
  id(): string;
}

/** Sets a timer that keeps no process alive. */
export function backgroundTimer(clock: Clock, run: () => void, ms: number): unknown {
  const timer = clock.setTimeout(run, ms);
  (timer as { unref?(): void } | undefined)?.unref?.();
  return timer;
}

/** Node fires a timer with a longer delay at once. */
const LONGEST_MS = 2 ** 31 - 1;

const LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz";

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (run, ms) => setTimeout(run, Math.min(ms, LONGEST_MS)),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
  id: () => timedId(Date.now()),
};

/** Random bytes for many ids: fetching them is most of the cost of an id. */
const random = new Uint8Array(1000);
let taken = random.length;

function timedId(now: number): string {
  if (taken === random.length) {
    crypto.getRandomValues(random);
    taken = 0;
  }
  let letters = "";
  for (const end = taken + 10; taken < end; taken++) letters += LETTERS[random[taken]! % 36];
  return now.toString(36) + letters;
}
