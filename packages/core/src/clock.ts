// Time and ids come from here and nowhere else, so that a test can hold them still.

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

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (run, ms) => setTimeout(run, Math.min(ms, LONGEST_MS)),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
  id: () => timedId(Date.now()),
};

function timedId(now: number): string {
  const random = crypto.getRandomValues(new Uint8Array(10));
  let id = now.toString(36);
  for (const byte of random) id += LETTERS[byte % 36];
  return id;
}
