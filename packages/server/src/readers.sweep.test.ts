// Many readers of one thread: none loses a fact, memory stays flat, and one that does not read slows no other and no run.

import { get } from "node:http";
import { connect as connectSocket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { agent, createRunner, type Model } from "@belay/core";
import { expect, inject, test } from "vitest";
import { startServer, type TestServer } from "./testing.ts";

const { readers, readingSeconds } = inject("effort");
const EVENTS_A_SECOND = 50;

/** Reads a stream at little cost: keeps the seqs of facts in order, and the number of deltas. */
function reading({ url, headers }: TestServer) {
  const seen = { seqs: [] as number[], deltas: 0, stop: () => {} };
  const request = get(`${url}/v1/threads/t/events`, { headers, agent: false }, (response) => {
    let rest = "";
    response.setEncoding("latin1").on("data", (chunk: string) => {
      const blocks = (rest + chunk).split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) {
        if (block.startsWith("id: ")) seen.seqs.push(Number.parseInt(block.slice(4), 10));
        else if (block.startsWith("event: text-delta")) seen.deltas++;
      }
    });
    response.on("error", () => {});
  });
  request.on("error", () => {});
  seen.stop = () => request.destroy();
  return seen;
}

function neverReading({ url, headers }: TestServer) {
  const socket = connectSocket(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  socket.write(
    `GET /v1/threads/t/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: ${headers.authorization}\r\n\r\n`,
  );
  return socket;
}

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

function heap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

test("readers of a busy thread lose no fact, and memory stays flat; one that does not read slows neither", async () => {
  const pieces = Array.from({ length: EVENTS_A_SECOND / 2 }, (_, i) => `word ${i} of the rope `.repeat(4));
  // Half a second of text, and then the next turn of the thread: facts and drafts in turns. Nothing is kept of a request.
  const model: Model = {
    id: "speaker",
    async *stream() {
      for (const text of pieces) {
        yield { type: "text", text };
        await new Promise((resolve) => setTimeout(resolve, 1000 / EVENTS_A_SECOND - 1));
      }
      yield { type: "finish", finish: "stop" };
    },
  };
  const runner = createRunner({ agent: agent({ name: "guide", model }) });
  await using server = await startServer({ runner, rate: false });
  await (await runner.start("t", "Go.")).result;
  const all = Array.from({ length: readers }, () => reading(server));
  const deaf = neverReading(server);
  const first = readingSeconds / 3;
  const started = Date.now();
  const seconds = () => (Date.now() - started) / 1000;
  let [runs, early] = [0, 0];
  while (seconds() < readingSeconds) {
    await (await runner.start("t", "More.")).result;
    runs++;
    if (early === 0 && seconds() >= first) early = heap();
  }
  const late = heap();
  const took = seconds();
  const { head } = (await runner.look("t"))!;
  const whole = Array.from({ length: head }, (_, i) => i + 1);
  await expect.poll(() => all.filter(({ seqs }) => seqs.at(-1) === head).length, { timeout: 30_000 }).toBe(readers);
  for (const { seqs } of all) expect(seqs).toEqual(whole);
  const deltas = runs * pieces.length;
  const least = Math.min(...all.map((each) => each.deltas));
  const megabytes = [early, late].map((bytes) => (bytes / 2 ** 20).toFixed(1)).join(" → ");
  // Text is not on record, and a reader on a busy machine may miss some of it.
  console.log(
    `${readers} readers, ${Math.round(deltas / took)} deltas/s, at least ${least} of ${deltas}, ${megabytes} MB`,
  );
  // The thread itself grows: its facts are what a session keeps of it.
  expect(late).toBeLessThan(early * 1.2 + 8 * 2 ** 20);
  for (const { stop } of all) stop();
  deaf.destroy();
});
