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
  throw belayError("OPTION_INVALID", {
    option: "limit",
    value: shown(limit),
    needed: `a whole number from 1 to ${MOST}`,
  });
}
