// Streams over lines that a test holds in its hand.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { connect } from "./connect.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

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

/** Reads a stream in the background; returns what it said so far. */
function read(fetching: typeof fetch, gone: AbortController) {
  const said: string[] = [];
  const thread = connect({ url: "http://127.0.0.1:1", fetch: fetching }).open("t");
  const reading = (async () => {
    for await (const event of thread.events({ signal: gone.signal })) {
      said.push(event.type === "connection" ? event.state : event.type);
    }
  })();
  return { said, reading };
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
