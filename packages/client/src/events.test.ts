// Streams over lines that a test holds in its hand.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { connect, type StreamOptions } from "./index.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A line that never answers, and ends with its signal, as fetch does. */
const silent = (signal: AbortSignal | null | undefined) =>
  new Promise<Response>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));

/** A line that has said something and stays open. */
function open(bytes: Uint8Array, signal: AbortSignal | null | undefined): Response {
  return new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(bytes);
        signal?.addEventListener("abort", () => controller.error(signal.reason));
      },
    }),
  );
}

/** Reads a stream in the background; returns its events so far, and the errors of its line. */
function read(fetching: typeof fetch, gone: AbortController, options: StreamOptions = {}) {
  const said: string[] = [];
  const errors: unknown[] = [];
  const thread = connect({ url: "http://127.0.0.1:1", fetch: fetching }).open("t");
  const reading = (async () => {
    for await (const event of thread.events({ ...options, signal: gone.signal })) {
      said.push(event.type === "connection" ? event.state : event.type);
      if (event.type === "connection" && event.error !== undefined) errors.push(event.error);
    }
  })();
  return { said, errors, reading };
}

test("a line that never answers is given up, and the stream connects again", async () => {
  let lines = 0;
  const block = new TextEncoder().encode('event: live\ndata: {"head":0}\n\n');
  const fetching: typeof fetch = async (_, init) => {
    if (lines++ === 0) return silent(init?.signal);
    return open(block, init?.signal);
  };
  const gone = new AbortController();
  const { said, reading } = read(fetching, gone);
  await vi.advanceTimersByTimeAsync(49_000);
  expect(said).toEqual(["connecting"]);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(said).toEqual(["connecting", "lost", "connecting", "open", "live"]);
  gone.abort();
  await reading;
});

test("a server that ends each line with an error is asked ever less often, and the reader gets the error", async () => {
  let lines = 0;
  const problem = { status: 500, code: "JOURNAL_CORRUPT", detail: "Thread t cannot be read." };
  const block = new TextEncoder().encode(`retry: 1000\n\nevent: error\ndata: ${JSON.stringify(problem)}\n\n`);
  const fetching: typeof fetch = async (_, init) => {
    lines++;
    return open(block, init?.signal);
  };
  const gone = new AbortController();
  const { said, errors, reading } = read(fetching, gone);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines).toBeLessThan(10);
  expect(said.slice(0, 4)).toEqual(["connecting", "open", "lost", "connecting"]);
  expect(errors[0]).toMatchObject({ status: 500, code: "JOURNAL_CORRUPT", message: "Thread t cannot be read." });
  expect(errors).toHaveLength(lines);
  gone.abort();
  await reading;
});

test("a tab that is hidden for half a minute lets go of its line, and continues at its cursor when it is seen", async () => {
  const document = Object.assign(new EventTarget(), { hidden: false });
  vi.stubGlobal("document", document);
  const show = (hidden: boolean) => {
    document.hidden = hidden;
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const asked: string[] = [];
  const block = new TextEncoder().encode('id: 7\nevent: label\ndata: {"type":"label","seq":7}\n\n');
  const fetching: typeof fetch = async (url, init) => {
    asked.push(new URL(String(url)).search);
    return open(block, init?.signal);
  };
  const gone = new AbortController();
  const { said, reading } = read(fetching, gone, { restHidden: true });
  await vi.advanceTimersByTimeAsync(1);
  show(true);
  await vi.advanceTimersByTimeAsync(20_000);
  // Seen in between: the half minute begins again.
  show(false);
  show(true);
  await vi.advanceTimersByTimeAsync(29_000);
  expect(said).toEqual(["connecting", "open", "label"]);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(said).toEqual(["connecting", "open", "label", "lost"]);
  show(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(said.slice(4)).toEqual(["connecting", "open", "label"]);
  expect(asked).toEqual(["", "?after=7"]);
  gone.abort();
  await reading;
});

test("without that wish a hidden tab keeps its line", async () => {
  const document = Object.assign(new EventTarget(), { hidden: true });
  vi.stubGlobal("document", document);
  const block = new TextEncoder().encode(": ping\n\n");
  const bodies: ReadableStreamDefaultController<Uint8Array>[] = [];
  const fetching: typeof fetch = async (_, init) =>
    new Response(
      new ReadableStream({
        start(controller) {
          bodies.push(controller);
          init?.signal?.addEventListener("abort", () => controller.error(init.signal?.reason));
        },
      }),
    );
  const gone = new AbortController();
  const { said, reading } = read(fetching, gone);
  for (let i = 0; i < 10; i++) {
    await vi.advanceTimersByTimeAsync(15_000);
    bodies[0]!.enqueue(block);
  }
  expect(said).toEqual(["connecting", "open"]);
  gone.abort();
  await reading;
});
