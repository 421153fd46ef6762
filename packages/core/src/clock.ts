// Time and ids come from here and nowhere else, so that a test can hold them still.

/** The source of time and ids. `fakeClock()` in `@belay/core/testing` is one that a test moves. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  setTimeout(run: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  /** A new id: unique, URL-safe, in the order of time where the clock is. */
  id(): string;
}

/** Node fires a longer timer at once. */
const LONGEST_MS = 2 ** 31 - 1;

const LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz";

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (run, ms) => setTimeout(run, Math.min(ms, LONGEST_MS)),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
  id: () => timedId(Date.now()),
};

/** Random bytes, fetched for many ids at once: asking for them is most of what an id costs. */
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
