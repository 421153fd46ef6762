// Checks a handle: it is for one pause, and for no other (R5).

import { builtIn } from "../../built-in.ts";
import { belayError } from "../../error.ts";
import type { Handle } from "../../interrupt/interrupt.ts";
import type { Standing } from "../read/recall.ts";
import { hashToken } from "./ending.ts";

export function readHandle(handle: Handle): Handle {
  const given = handle as Partial<Handle> | null | undefined;
  if (typeof given !== "object" || given === null)
    throw belayError("HANDLE_INVALID", { problem: `it is ${String(given)}` });
  for (const field of ["threadId", "runId", "token"] as const) {
    if (typeof given[field] !== "string") throw belayError("HANDLE_INVALID", { problem: `it has no ${field}` });
  }
  if (!Number.isInteger(given.segment)) throw belayError("HANDLE_INVALID", { problem: "it has no segment" });
  return handle;
}

/** Returns the hash of the token, if it is for the present pause. Throws a `TOKEN_` refusal otherwise. */
export function checkHandle({ threadId, runId, segment, token }: Handle, standing: Standing, now: number): string {
  const { tokenHash, tokenUntil } = standing;
  if (standing.runId !== runId || standing.segment !== segment || tokenHash === undefined) {
    throw belayError("TOKEN_SPENT", { threadId, segment });
  }
  if (!isSameHash(tokenHash, hashToken(token))) throw belayError("TOKEN_UNKNOWN", { threadId });
  if (tokenUntil !== undefined && tokenUntil <= now) {
    throw belayError("TOKEN_EXPIRED", { threadId, until: new Date(tokenUntil).toISOString() });
  }
  return tokenHash;
}

function isSameHash(a: string, b: string): boolean {
  return a.length === b.length && builtIn("node:crypto").timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
