// The feeds of the streams: the events of a thread from a cursor on, and hints over all threads.

import type { BelayEvent } from "@belay/core";
import { block } from "../http/block.ts";
import type { Delta } from "../http/joined-text.ts";
import type { Call, Outlet } from "../http/route.ts";
import { may } from "../login/login.ts";
import { isBelayError } from "../problem.ts";
import { headOf } from "./head-of.ts";
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

function isText(event: BelayEvent): event is Delta {
  return event.type === "text-delta" || event.type === "reasoning-delta";
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

export async function threadFeed(
  { runner, site, login }: Call,
  { threadId, after, head, reset, drafts }: FeedOptions,
  outlet: Outlet,
): Promise<void> {
  const pieces = !site.redacts || may(login, "admin");
  let live = false;
  const replayed = () => {
    live = true;
    const full = outlet.write(block("live", { head }));
    // The reader has waited for all that is on record: it need not wait for what comes next.
    outlet.flush();
    return full;
  };
  if (reset) outlet.write(block("reset", { head }));
  if (after >= head) replayed();
  for await (const event of runner.events(threadId, { after, signal: outlet.signal })) {
    const full = write(event);
    // The events end by themselves once the reader is gone.
    if (full !== undefined) await full;
    if (!live && event.seq >= head && isFact(event)) await replayed();
    // A reader sees at once that a run begins, waits or ends.
    else if (live && event.type === "state") outlet.flush();
  }
  const left = outlet.signal.aborted ? undefined : await headLeft();
  if (left !== undefined) outlet.write(block("reset", { head: left }));

  /** The events end when the thread is deleted, or the runner is closed: then there is no head. */
  async function headLeft(): Promise<number | undefined> {
    try {
      return await headOf({ runner }, threadId);
    } catch (error) {
      return isBelayError(error) && error.code === "THREAD_UNKNOWN" ? 0 : undefined;
    }
  }

  function write(event: BelayEvent): Promise<void> | undefined {
    if (isText(event) && !site.redacts) return drafts ? outlet.writeText(event) : undefined;
    const fact = isFact(event);
    if (!fact && (!drafts || (!pieces && PIECES.includes(event.type)))) return undefined;
    const id = fact ? event.seq : undefined;
    if (!site.redacts) return outlet.write(sharedBlock(event, threadId, id));
    const sent = site.redact(sentEvent(event, threadId), login);
    return sent === undefined ? undefined : outlet.write(block(event.type, sent, id));
  }
}

export async function changeFeed({ runner }: Call, outlet: Outlet): Promise<void> {
  for await (const change of runner.changes({ signal: outlet.signal })) {
    await outlet.write(block(change.type, change));
  }
}
