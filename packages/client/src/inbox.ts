// Requests to people: a list once, or a list that stays true.

import type { Answer, DamagedRequest, InboxItem } from "@belay/core";
import type { Hints } from "./hints.ts";
import { type Line, on, RequestError } from "./request.ts";

/** The requests to list. Each property that is given must hold. */
export interface InboxFilter {
  readonly kind?: InboxItem["kind"] | undefined;
  readonly tool?: string | undefined;
  readonly threadId?: string | undefined;
  /** Only requests that this login may answer. */
  readonly mine?: boolean | undefined;
  readonly state?: "open" | "decided" | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** A page of requests. */
export interface InboxPage {
  readonly items: readonly InboxItem[];
  /** Requests that the store cannot read. */
  readonly damaged: readonly DamagedRequest[];
  readonly counts: { readonly open: number; readonly mine: number };
  readonly next?: string;
}

/** `await` it for the list; iterate `live()` for the list each time it changes. */
export interface InboxQuery extends PromiseLike<InboxPage> {
  live(options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<InboxPage>;
}

export function inbox(line: Line, hints: Hints, filter: InboxFilter): InboxQuery {
  const read = (signal?: AbortSignal) => line.get<InboxPage>("/inbox", filter, signal);
  return {
    // biome-ignore lint/suspicious/noThenProperty: the list is awaited as it stands
    then: (resolved, rejected) => read().then(resolved, rejected),
    async *live({ signal } = {}) {
      let stale = true;
      let wake = () => {};
      const changed = () => {
        stale = true;
        wake();
      };
      const unlisten = hints.listen(changed);
      const deaf = on(signal, "abort", changed);
      try {
        while (!signal?.aborted) {
          if (stale) {
            stale = false;
            // A server that is away is asked again with the next hint; a refusal is final.
            const page = await read(signal).catch((error) => {
              if (signal?.aborted || !(error instanceof RequestError) || error.status === 0) return undefined;
              throw error;
            });
            if (page !== undefined) yield page;
          } else await new Promise<void>((resolve) => (wake = resolve));
        }
      } finally {
        unlisten();
        deaf();
      }
    },
  };
}

type ApproveOptions = Omit<Extract<Answer, { type: "approve" }>, "type" | "by"> & { readonly digest?: string };

/** Approves a call, as it was asked for or with other arguments. */
export function approve(options: ApproveOptions = {}): Answer {
  return { ...options, type: "approve" };
}

/** Rejects a request; the model reads the reason. */
export function reject(reason: string): Answer {
  return { type: "reject", reason };
}

/** Answers a question, or gives the result of a call, which then does not run. */
export function respond(value: unknown): Answer {
  return { type: "respond", value: value as never };
}
