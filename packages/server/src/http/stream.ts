// Server-sent events. A stream ends with its reader, and nothing else ends with it. Invariants:
// 1. Only facts carry an `id:` line, so the cursor of a reader that connects again is always a fact.
// 2. A slow reader waits alone: a feed is read only while the stream has room, and the runner bounds what it keeps for it.
// 3. A draining server says `bye` to every stream before it ends them.
// 4. A login can hold a part of the streams only. A stream ends soon after its login does.
// 5. Blocks keep the order in which the feed wrote them. Text that waits is written before the block that follows it.

import { ServerError } from "../problem.ts";
import { block } from "./block.ts";
import { type Delta, JoinedText } from "./joined-text.ts";
import type { Outlet, StreamSources } from "./route.ts";

const PING_MS = 15_000;
/** How often the login of an open stream is asked for again. */
const LOGIN_MS = 60_000;
const BUFFER_BYTES = 64 * 1024;
/** Blocks that follow each other faster than this are written together: each write costs more than a block. */
const GATHER_MS = 4;

const headers = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
  "content-encoding": "identity",
};

/** The reader of a stream. */
export interface StreamReader {
  /** The same for all streams of one login. */
  readonly user: string;
  /** The cookie that the login was read from. */
  readonly session: string | undefined;
  /** Resolves to false once the login no longer counts. */
  isWelcome(): Promise<boolean>;
  /** Returns the block for a failure. */
  onError(error: unknown): string;
  /** Called once, when the stream has ended. */
  onEnd(): void;
}

export interface StreamLimits {
  readonly most: number;
  /** The most streams of one login. */
  readonly mostOfUser: number;
}

/** The open streams of a server. */
export class Streams {
  readonly #limits: StreamLimits;
  /** The readers, each with a function that says `bye` and ends its stream. */
  readonly #open = new Map<StreamReader, () => void>();

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /** Says `bye` on every stream and ends it; with `session`, on those that were opened with that cookie. */
  drain(session?: string): void {
    for (const [reader, bye] of [...this.#open]) if (session === undefined || reader.session === session) bye();
  }

  #checkLimits(user: string): void {
    const { most, mostOfUser } = this.#limits;
    if (this.#open.size >= most) {
      throw new ServerError("TOO_MANY_STREAMS", `The server has ${most} open streams, which is its limit.`);
    }
    let own = 0;
    for (const reader of this.#open.keys()) if (reader.user === user) own++;
    if (own >= mostOfUser) {
      throw new ServerError("TOO_MANY_STREAMS", `This login has ${mostOfUser} open streams, which is its limit.`);
    }
  }

  open(request: Request, { feeds, headers: more }: StreamSources, reader: StreamReader): Response {
    this.#checkLimits(reader.user);
    const encoder = new TextEncoder();
    const gone = new AbortController();
    const waiting: (() => void)[] = [];
    const free = () => {
      for (const resume of waiting.splice(0)) resume();
    };
    let ping: ReturnType<typeof setInterval> | undefined;
    let check: ReturnType<typeof setInterval> | undefined;
    let gathering: ReturnType<typeof setTimeout> | undefined;
    let ended = false;
    let bye = () => {};
    let left = () => {};
    const over = () => {
      ended = true;
      clearInterval(ping);
      clearInterval(check);
      clearTimeout(gathering);
      this.#open.delete(reader);
      request.signal.removeEventListener("abort", left);
      gone.abort();
      free();
      reader.onEnd();
    };

    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          // The first line waits for the first blocks of the feeds, and is written with them.
          let [gathered, flushedAt] = ["retry: 1000\n\n", performance.now()];
          let text: JoinedText | undefined;
          const settle = () => {
            if (text !== undefined) gathered += text.block();
            text = undefined;
          };
          const flush = () => {
            clearTimeout(gathering);
            gathering = undefined;
            settle();
            if (gathered === "" || ended) return;
            controller.enqueue(encoder.encode(gathered));
            [gathered, flushedAt] = ["", performance.now()];
          };
          const flushSoon = () => {
            if (gathered.length + (text?.length ?? 0) > BUFFER_BYTES) return flush();
            if (gathering !== undefined) return;
            const wait = flushedAt + GATHER_MS - performance.now();
            if (wait <= 0) flush();
            else gathering = setTimeout(flush, wait);
          };
          const room = () =>
            (controller.desiredSize ?? 1) > 0 ? undefined : new Promise<void>((resolve) => waiting.push(resolve));
          const write = (words: string) => {
            if (ended) return undefined;
            settle();
            gathered += words;
            flushSoon();
            return room();
          };
          const writeText = (delta: Delta) => {
            if (ended) return undefined;
            if (!text?.add(delta)) {
              settle();
              text = new JoinedText(delta);
            }
            flushSoon();
            return room();
          };
          const outlet: Outlet = { signal: gone.signal, write, writeText, flush };
          const end = (words: string) => {
            if (ended) return;
            settle();
            gathered += words;
            flush();
            over();
            controller.close();
          };
          bye = () => end(block("bye", {}));
          left = () => end("");
          this.#open.set(reader, bye);
          flushSoon();
          ping = setInterval(() => {
            if (room() === undefined) write(": ping\n\n");
          }, PING_MS);
          check = setInterval(() => {
            reader.isWelcome().then(
              (stays) => stays || bye(),
              () => bye(),
            );
          }, LOGIN_MS);
          // The first feed that ends or fails ends the stream.
          for (const feed of feeds) {
            feed(outlet).then(
              () => bye(),
              (error) => end(reader.onError(error)),
            );
          }
        },
        pull: free,
        cancel: over,
      },
      new ByteLengthQueuingStrategy({ highWaterMark: BUFFER_BYTES }),
    );
    if (request.signal.aborted) left();
    else request.signal.addEventListener("abort", left);
    return new Response(body, { headers: { ...headers, ...more } });
  }
}
