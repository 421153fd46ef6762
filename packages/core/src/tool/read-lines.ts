// The lines of a stream as they come, beside other readers of it.

import type { Readable } from "node:stream";

/** Past this many lines unread, the stream waits for its reader. */
const MAX_WAITING = 1000;
const MAX_LINE = 1_000_000;

/** `before` is the text that the stream has given already. Ends with the stream; leaving the loop lets the stream run on. */
export function readLines(stream: Readable, before: Buffer): AsyncIterableIterator<string> {
  const waiting: string[] = [];
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let partial = "";
  let ended = false;
  let paused = false;
  const readers: (() => void)[] = [];
  const wake = () => {
    for (const reader of readers.splice(0)) reader();
  };

  const push = (line: string) => waiting.push(line.endsWith("\r") ? line.slice(0, -1) : line);
  const take = (text: string) => {
    const pieces = text.split("\n");
    partial += pieces[0];
    for (const piece of pieces.slice(1)) {
      push(partial);
      partial = piece;
    }
    if (partial.length <= MAX_LINE) return;
    push(partial);
    partial = "";
  };
  const onData = (chunk: Buffer | string) => {
    take(typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true }));
    if (waiting.length > MAX_WAITING) {
      paused = true;
      stream.pause();
    }
    wake();
  };
  const goOn = () => {
    if (paused) stream.resume();
    paused = false;
  };
  const end = () => {
    if (ended) return;
    ended = true;
    take(decoder.decode());
    if (partial !== "") push(partial);
    leave();
  };
  const leave = () => {
    stream.off("data", onData).off("end", end).off("close", end);
    goOn();
    wake();
  };

  take(decoder.decode(before, { stream: true }));
  stream.on("data", onData).on("end", end).on("close", end);
  if (stream.readableEnded || stream.destroyed) end();

  return {
    async next() {
      while (waiting.length === 0 && !ended) await new Promise<void>((resolve) => readers.push(resolve));
      const value = waiting.shift();
      if (value === undefined) return { done: true, value };
      if (waiting.length < MAX_WAITING / 2) goOn();
      return { done: false, value };
    },
    async return() {
      ended = true;
      waiting.length = 0;
      leave();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
