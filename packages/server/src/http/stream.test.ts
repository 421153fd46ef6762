// One stream: what its feeds write, and the bytes that its reader gets.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { block } from "./block.ts";
import type { Delta } from "./joined-text.ts";
import type { Outlet } from "./route.ts";
import { type StreamReader, Streams } from "./stream.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const place = { at: 5, threadId: "t", runId: "r", segment: 1, agentName: "a", runPath: "a", seq: 3 };

function delta(messageId: string, offset: number, text: string, more: Partial<Delta> = {}): Delta {
  return { ...place, type: "text-delta", attempt: 1, messageId, offset, text, ...more };
}

interface Read {
  readonly type: string;
  readonly data: { readonly messageId?: string; readonly offset?: number; readonly text?: string };
}

/** A stream, the end that a feed writes to, and what has arrived at its reader so far. */
function opened(streams = new Streams({ most: 300, mostOfUser: 300 }), reader: Partial<StreamReader> = {}) {
  let outlet!: Outlet;
  const feed = (given: Outlet) => {
    outlet = given;
    return new Promise<void>(() => {});
  };
  const response = streams.open(
    new Request("http://localhost/"),
    { feeds: [feed] },
    {
      user: "anna",
      session: undefined,
      isWelcome: async () => true,
      onError: () => "",
      onEnd: () => {},
      ...reader,
    },
  );
  const body = response.body!.getReader();
  const arrived: Read[] = [];
  const decoder = new TextDecoder();
  const reading = async () => {
    for (let rest = ""; ; ) {
      const { done, value } = await body.read();
      if (done) return;
      const blocks = (rest + decoder.decode(value)).split("\n\n");
      rest = blocks.pop()!;
      for (const each of blocks) {
        const [, type, data] = /event: (\S+)\ndata: (.*)$/s.exec(each) ?? [];
        if (type !== undefined) arrived.push({ type, data: JSON.parse(data!) });
      }
    }
  };
  void reading();
  return { outlet, arrived, leave: () => body.cancel() };
}

/** Lets everything happen that waits for no timer. */
const settle = async () => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

const short = ({ type, data }: Read) => (data.text === undefined ? type : [data.messageId, data.offset, data.text]);

test("pieces of one text that come close together arrive as one event, and facts keep their place between them", async () => {
  const { outlet, arrived } = opened();
  outlet.flush();
  outlet.writeText(delta("m1", 0, "A "));
  outlet.writeText(delta("m1", 2, "rope "));
  outlet.write(block("tool-start", {}, 4));
  outlet.writeText(delta("m1", 7, "holds"));
  outlet.writeText(delta("m1", 12, "."));
  outlet.write(block("message", {}, 5));
  await vi.advanceTimersByTimeAsync(10);
  expect(arrived.map(short)).toEqual([["m1", 0, "A rope "], "tool-start", ["m1", 7, "holds."], "message"]);
});

test("pieces are not joined with another message, another attempt, another kind of text, or over a lost piece", async () => {
  const { outlet, arrived } = opened();
  outlet.flush();
  const pieces = [
    delta("m1", 0, "a"),
    delta("m2", 1, "b"),
    delta("m2", 2, "c", { attempt: 2 }),
    delta("m2", 3, "d", { attempt: 2, type: "reasoning-delta" }),
    delta("m2", 9, "e", { attempt: 2, type: "reasoning-delta" }),
    delta("m2", 0, "f", { attempt: 2, type: "reasoning-delta" }),
  ];
  for (const piece of pieces) outlet.writeText(piece);
  await vi.advanceTimersByTimeAsync(10);
  expect(arrived.map(({ data }) => data)).toEqual(pieces);
});

test("text after a pause arrives at once, and the rest of its burst a moment later", async () => {
  const { outlet, arrived } = opened();
  await vi.advanceTimersByTimeAsync(100);
  outlet.writeText(delta("m1", 0, "At "));
  await settle();
  expect(arrived.map(short)).toEqual([["m1", 0, "At "]]);
  outlet.writeText(delta("m1", 3, "o"));
  outlet.writeText(delta("m1", 4, "nce."));
  await settle();
  expect(arrived).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(4);
  expect(arrived.slice(1).map(short)).toEqual([["m1", 3, "once."]]);
});

test("blocks that are flushed wait for no timer, also right after the stream was opened", async () => {
  const { outlet, arrived } = opened();
  outlet.write(block("message", {}, 1));
  outlet.write(block("live", {}));
  outlet.flush();
  await settle();
  expect(arrived.map(short)).toEqual(["message", "live"]);
});

test("text that waits is sent before the stream ends", async () => {
  const streams = new Streams({ most: 10, mostOfUser: 10 });
  const { outlet, arrived } = opened(streams);
  outlet.flush();
  outlet.writeText(delta("m1", 0, "The "));
  outlet.writeText(delta("m1", 4, "end."));
  streams.drain();
  await settle();
  expect(arrived.map(short)).toEqual([["m1", 0, "The end."], "bye"]);
});

test("pieces that many readers got together are written out once", async () => {
  const streams = new Streams({ most: 300, mostOfUser: 300 });
  const readers = Array.from({ length: 200 }, () => opened(streams));
  for (const { outlet } of readers) outlet.flush();
  const pieces = Array.from({ length: 50 }, (_, i) => delta("m1", i, "x"));
  const written = vi.spyOn(JSON, "stringify");
  for (const piece of pieces) for (const { outlet } of readers) outlet.writeText(piece);
  await vi.advanceTimersByTimeAsync(10);
  // Other code of this process may write something meanwhile.
  expect(written.mock.calls.filter(([value]) => value?.messageId === "m1")).toHaveLength(1);
  for (const { arrived } of readers) expect(arrived.map(short)).toEqual([["m1", 0, "x".repeat(50)]]);
});

test("a login can hold a part of the streams only, and gets room when one of them ends", async () => {
  const streams = new Streams({ most: 5, mostOfUser: 2 });
  const ended = vi.fn();
  const first = opened(streams, { onEnd: ended });
  opened(streams);
  expect(() => opened(streams)).toThrow("This login has 2 open streams");
  opened(streams, { user: "ben" });
  expect(ended).not.toHaveBeenCalled();
  await first.leave();
  expect(ended).toHaveBeenCalledTimes(1);
  opened(streams);
  opened(streams, { user: "cleo" });
  opened(streams, { user: "dora" });
  expect(() => opened(streams, { user: "emil" })).toThrow("The server has 5 open streams");
});

test("a stream ends within a minute after its login, also if that can no longer be read", async () => {
  const streams = new Streams({ most: 5, mostOfUser: 5 });
  let welcome = () => Promise.resolve(true);
  const one = opened(streams, { isWelcome: () => welcome() });
  const two = opened(streams, { isWelcome: async () => true });
  await vi.advanceTimersByTimeAsync(150_000);
  expect(one.arrived).toEqual([]);
  welcome = () => Promise.resolve(false);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(one.arrived.map(short)).toEqual(["bye"]);
  expect(two.arrived).toEqual([]);
  const three = opened(streams, { isWelcome: () => Promise.reject(new Error("away")) });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(three.arrived.map(short)).toEqual(["bye"]);
});

test("the streams of one session end together", async () => {
  const streams = new Streams({ most: 5, mostOfUser: 5 });
  const [one, two, three] = ["s1", "s2", undefined].map((session) => opened(streams, { session }));
  streams.drain("s1");
  await settle();
  expect([one, two, three].map((each) => each!.arrived.map(short))).toEqual([["bye"], [], []]);
});
