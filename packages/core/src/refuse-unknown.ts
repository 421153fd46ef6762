// Refuses options that do not exist (V9). An option under a wrong name has no effect, which may be dangerous: `tool({
// requireApproval: true })` would run without asking a person.

import { belayError, shown } from "./error.ts";

/** The names of the options in `T`, as a table that the compiler keeps complete. */
export type KnownOptions<T> = Readonly<Record<keyof T, true>>;

/**
 * Throws `OPTION_UNKNOWN` for the first key of `options` that is not in `known`. An undefined option counts as absent.
 * `where` names the function or the object as the caller writes it: "tool()", "settings.retry of agent()".
 */
export function refuseUnknown(where: string, options: unknown, known: object): void {
  if (typeof options !== "object" || options === null) {
    throw belayError("OPTION_INVALID", {
      option: "options",
      value: shown(options),
      needed: `an object of options for ${where}`,
    });
  }
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined || Object.hasOwn(known, option)) continue;
    const names = Object.keys(known);
    throw belayError("OPTION_UNKNOWN", { option, where, nearest: nearest(option, names), known: names.join(", ") });
  }
}

/** The largest share of a name that may differ from the suggested one. */
const MOST_DIFFERENT = 0.6;

function nearest(option: string, names: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = MOST_DIFFERENT;
  for (const name of names) {
    const different = distance(option.toLowerCase(), name.toLowerCase()) / Math.max(option.length, name.length);
    if (different < least) [best, least] = [name, different];
  }
  return best;
}

/** Returns how many letters must be replaced, removed or added to turn `a` into `b`. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
