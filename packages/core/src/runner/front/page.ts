// The options that every list takes.

import { belayError, shown } from "../../error.ts";

export interface PageOptions {
  /** How many items at most; 100 by default, and never more than 1,000. */
  readonly limit?: number | undefined;
  /** `next` of the page before, with the same filter. */
  readonly cursor?: string | undefined;
}

const LIMIT = 100;
const MOST = 1_000;

export function readLimit(limit: unknown): number {
  if (limit === undefined) return LIMIT;
  if (Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= MOST) return limit as number;
  throw belayError("OPTION_INVALID", { option: "limit", value: shown(limit), needed: `a whole number from 1 to ${MOST}` });
}

/** Refuses any key that is not known: a filter that is not heard would list too much. */
export function refuseOther(option: string, given: unknown, known: Readonly<Record<string, true>>): void {
  const needed = Object.keys(known).join(", ");
  if (typeof given !== "object" || given === null)
    throw belayError("OPTION_INVALID", { option, value: shown(given), needed });
  for (const [key, value] of Object.entries(given))
    if (value !== undefined && !Object.hasOwn(known, key))
      throw belayError("OPTION_INVALID", { option: `${option}.${key}`, value: "given", needed });
}
