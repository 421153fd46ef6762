// The feeds of the streams: the events of a thread from a cursor on, and hints over all threads.

import type { BelayEvent } from "@belay/core";
import type { Call } from "../http/route.ts";
import { block } from "../http/stream.ts";
import { may } from "../login/login.ts";
import { sentEvent } from "./sent-value.ts";

export interface FeedOptions {
  readonly threadId: string;
  /** The seq of the last fact that the reader has. */
  readonly after: number;
  /** The thread's head when the stream was opened: with that fact the replay is over. */
  readonly head: number;
  /** The reader's cursor is beyond the head: the thread was made again. */
  readonly reset: boolean;
  readonly drafts: boolean;
}

const FACTS: Readonly<Record<string, true>> = {
  "run-start": true,
  message: true,
  "tool-start": true,
  "tool-end": true,
  "tool-late": true,
  action: true,
  "request-answered": true,
  "input-queued": true,
  "input-consumed": true,
  step: true,
  command: true,
  breakpoint: true,
  "rule-removed": true,
  label: true,
  drift: true,
  state: true,
  "run-end": true,
};

function isFact({ type }: Pick<BelayEvent, "type">): boolean {
  return Object.hasOwn(FACTS, type);
}

const blocks = new WeakMap<BelayEvent, string>();

/** All readers of a thread get the same event: it is written out once. */
function sharedBlock(event: BelayEvent, threadId: string, id: number | undefined): string {
  const known = blocks.get(event);
  if (known !== undefined) return known;
  const made = block(event.type, sentEvent(event, threadId), id);
  blocks.set(event, made);
  return made;
}

/** Text as it streams. It comes in pieces: words that `redact` would cut are not to be seen in any one of them. */
const PIECES: readonly string[] = ["text-delta", "reasoning-delta", "tool-input-delta"] satisfies BelayEvent["type"][];

export async function* threadFeed(
  { runner, site, login }: Call,
  { threadId, after, head, reset, drafts }: FeedOptions,
  signal: AbortSignal,
): AsyncIterable<string> {
  const pieces = !site.redacts || may(login, "admin");
  if (reset) yield block("reset", { head });
  let live = after >= head;
  if (live) yield block("live", { head });
  for await (const event of runner.events(threadId, { after, signal })) {
    const fact = isFact(event);
    if (!fact && (!drafts || (!pieces && PIECES.includes(event.type)))) continue;
    const id = fact ? event.seq : undefined;
    if (site.redacts) {
      const sent = site.redact(sentEvent(event, threadId), login);
      if (sent !== undefined) yield block(event.type, sent, id);
    } else yield sharedBlock(event, threadId, id);
    if (live || !fact || event.seq < head) continue;
    live = true;
    yield block("live", { head });
  }
}

export async function* changeFeed({ runner }: Call, signal: AbortSignal): AsyncIterable<string> {
  for await (const change of runner.changes({ signal })) yield block(change.type, change);
}
