// Streams that survive a lost line: read by fetch, continued from the last fact, never thrown for a network error.

import type { BelayEvent, SessionState } from "@belay/core";
import { given } from "./given.ts";
import { errorOf, type Line, on, RequestError, sleep } from "./request.ts";

/** The state of the line to the server. `closed` is final: the server refused. */
export interface ConnectionEvent {
  readonly type: "connection";
  readonly state: "connecting" | "open" | "lost" | "closed";
  /** Why the line is closed or lost, if the server said so: a thread that cannot be read, for example. */
  readonly error?: RequestError;
}

/** The replay is over: events from here on happen now. */
export interface LiveEvent {
  readonly type: "live";
  readonly head: number;
}

/** The thread was deleted, or made again: empty the view. */
export interface ResetEvent {
  readonly type: "reset";
  readonly head: number;
}

/** A hint that a thread has changed; `sync` means that hints may have been lost. */
export type Change =
  | { readonly type: "sync" }
  | {
      readonly type: "change";
      readonly threadId: string;
      readonly head: number;
      readonly state: SessionState;
      readonly open: number;
    };

/** Everything that a stream yields. `isThreadEvent` tells the events of the thread from those of the line. */
export type StreamEvent = BelayEvent | ConnectionEvent | LiveEvent | ResetEvent | Change;

/** The beginning of a stream, and its contents. */
export interface StreamOptions {
  /** The seq of the last fact that the reader has; all facts by default. */
  readonly after?: number | undefined;
  /** Begin with the last facts instead of all. */
  readonly tail?: number | undefined;
  /** False: facts only. */
  readonly drafts?: boolean | undefined;
  /** True: hints over all threads on the same line. */
  readonly changes?: boolean | undefined;
  /** True: a tab that is hidden for 30 s lets go of the line, and continues at its cursor when it is seen. */
  readonly restHidden?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** True for an event of the thread itself, as foldThread() takes it. */
export function isThreadEvent(event: StreamEvent): event is BelayEvent {
  return "seq" in event;
}

const FIRST_WAIT_MS = 1000;
const MOST_WAIT_MS = 30_000;
/** A line on which nothing arrives for so long is dead, also one that never answers. The server pings every 15 s. */
const SILENCE_MS = 50_000;
const HIDDEN_MS = 30_000;
/** The longest time of a timer. */
const UNTIL_WAKE_MS = 2 ** 31 - 1;

/** Follows a stream of the server, over lost lines, until the signal fires or the server refuses. */
export async function* follow(line: Line, path: string, options: StreamOptions): AsyncGenerator<StreamEvent> {
  const { signal, drafts, changes, restHidden } = options;
  let { after, tail } = options;
  for (let fails = 0; !signal?.aborted; ) {
    yield { type: "connection", state: "connecting" };
    const reading = new AbortController();
    const stop = () => reading.abort();
    const deaf = on(signal, "abort", stop);
    const unwatch = restHidden ? onHidden(stop) : undefined;
    let watch: ReturnType<typeof setTimeout> | undefined;
    let error: RequestError | undefined;
    const heard = () => {
      clearTimeout(watch);
      watch = setTimeout(stop, SILENCE_MS);
    };
    try {
      heard();
      const query = { after, tail: after === undefined ? tail : undefined, drafts, changes };
      const response = await line.fetch("GET", path, { query, signal: reading.signal });
      if (isFinal(response.status)) {
        yield { type: "connection", state: "closed", error: await errorOf(response) };
        return;
      }
      if (!response.ok || response.body === null) throw await errorOf(response);
      yield { type: "connection", state: "open" };
      for await (const { id, event, data } of blocksOf(response.body, heard)) {
        if (event === "error") throw new RequestError((data as { status: number }).status, data);
        if (event === "bye") break;
        fails = 0;
        if (id !== undefined) after = Number(id);
        if (event === "reset") after = undefined;
        yield (event === "live" || event === "reset" ? { type: event, ...data } : data) as StreamEvent;
      }
    } catch (reason) {
      // A lost line, a server that is away, or one that says why it ends the line.
      if (reason instanceof RequestError) error = reason;
    } finally {
      clearTimeout(watch);
      unwatch?.();
      deaf();
      reading.abort();
    }
    if (signal?.aborted) return;
    yield { type: "connection", state: "lost", ...given({ error }) };
    const wait = Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 2 ** fails++) * (0.8 + Math.random() * 0.4);
    await sleep(restHidden && page.document?.hidden ? UNTIL_WAKE_MS : wait, signal, onWake);
  }
}

/** A refusal that the same request would meet again. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

const page = globalThis as Partial<EventTarget> & { readonly document?: EventTarget & { readonly hidden: boolean } };

/** Calls back when the browser is online again, or the tab is seen again. */
function onWake(resume: () => void): () => void {
  const offline = on(page, "online", resume);
  const unseen = on(page.document, "visibilitychange", () => page.document?.hidden || resume());
  return () => {
    offline();
    unseen();
  };
}

/** Calls back when the tab has been hidden for a while. */
function onHidden(letGo: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = () => {
    clearTimeout(timer);
    if (page.document?.hidden) timer = setTimeout(letGo, HIDDEN_MS);
  };
  const deaf = on(page.document, "visibilitychange", changed);
  changed();
  return () => {
    clearTimeout(timer);
    deaf();
  };
}

interface Block {
  readonly id?: string;
  readonly event: string;
  readonly data: object;
}

async function* blocksOf(body: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<Block> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      heard();
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) {
        const fields: Record<string, string> = {};
        for (const row of block.split("\n")) {
          const at = row.indexOf(": ");
          if (at > 0) fields[row.slice(0, at)] = row.slice(at + 2);
        }
        const { id, event, data } = fields;
        if (event !== undefined && data !== undefined) yield { ...(id && { id }), event, data: JSON.parse(data) };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
