// The options that every list takes.

import { anything, type Checks, optional } from "../given/check.ts";

export interface PageOptions {
  /** How many items at most; 100 by default, and never more than 1,000. */
  readonly limit?: number | undefined;
  /** `next` of the page before, with the same filter. */
  readonly cursor?: string | undefined;
}

export const PAGE: Checks<PageOptions> = {
  limit: optional(
    "a whole number from 1 to 1000",
    (limit) => Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= 1_000,
  ),
  cursor: anything,
};

export const LIMIT = 100;
