// How a request ended, in one set of words, whichever route says it.

import type { Decided, DecidedAsk, Json } from "../wire/shapes.ts";

const words: Readonly<Record<string, Decided["how"]>> = {
  approve: "approved",
  approved: "approved",
  reject: "rejected",
  rejected: "rejected",
  respond: "responded",
  responded: "responded",
  answered: "responded",
  expire: "expired",
  expired: "expired",
  withdraw: "withdrawn",
  withdrawn: "withdrawn",
};

/** Undefined if the request is open, or if it ended in a way that this page does not know. */
export function decidedOf(given: object | undefined): Decided | undefined {
  const { how, by, at, note, reason, value, args, digest } = (given ?? {}) as Readonly<Record<string, unknown>>;
  const known = typeof how === "string" && Object.hasOwn(words, how) ? words[how] : undefined;
  if (known === undefined) return undefined;
  return {
    how: known,
    by: String(by ?? ""),
    at: Number(at ?? 0),
    ...(typeof note === "string" && { note }),
    // The reason of a request is its question; that of a rejection is its own.
    ...(known === "rejected" && typeof reason === "string" && { reason }),
    ...(known === "responded" && value !== undefined && { value: value as Json }),
    ...(known === "approved" && args !== undefined && { args: args as Json }),
    ...(typeof digest === "string" && { digest }),
  };
}

/** A row of the list of decided requests: the decision beside the request, or inside it. */
export function flatDecision(item: DecidedAsk): Decided | undefined {
  if (item.decided !== undefined) return decidedOf(item.decided);
  const { reason: _question, args: _asked, ...rest } = item;
  return decidedOf({
    ...rest,
    by: item.decidedBy ?? item.by,
    at: item.decidedAt ?? (item as { at?: number }).at ?? item.raisedAt,
  });
}
