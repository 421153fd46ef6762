// Many readers of one thread: none loses a fact, memory stays flat, and one that does not read slows no other and no run.

import { get } from "node:http";
import { connect as connectSocket } from "node:net";
import { connect } from "@belay/client";
import { startChild } from "@belay/testkit/processes";
import { expect, inject, onTestFinished, test } from "vitest";
import { bundledProgram } from "./testing/bundled-program.ts";

const { readers, readingSeconds } = inject("effort");
const EVENTS_A_SECOND = 50;
const token = "a-token-for-all-of-them";
const authorization = `Bearer ${token}`;

/** Reads a stream at little cost: keeps the seqs of facts in order, and the number of pieces of text. */
function reading(url: string) {
  const seen = { seqs: [] as number[], pieces: 0, stop: () => {} };
  const request = get(`${url}/v1/threads/t/events`, { headers: { authorization }, agent: false }, (response) => {
    let rest = "";
    response.setEncoding("latin1").on("data", (chunk: string) => {
      const blocks = (rest + chunk).split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) {
        if (block.startsWith("id: ")) seen.seqs.push(Number.parseInt(block.slice(4), 10));
        // Several pieces may arrive as one event. Each says "rope" four times.
        else if (block.startsWith("event: text-delta")) seen.pieces += (block.split("rope").length - 1) / 4;
      }
    });
    response.on("error", () => {});
  });
  request.on("error", () => {});
  seen.stop = () => request.destroy();
  return seen;
}

function neverReading(url: string) {
  const socket = connectSocket(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  socket.write(`GET /v1/threads/t/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: ${authorization}\r\n\r\n`);
  return socket;
}

test("readers of a busy thread lose no fact, and memory stays flat; one that does not read slows neither", async () => {
  const program = await bundledProgram("speaking");
  const child = startChild(program, "speak", { token, perSecond: EVENTS_A_SECOND }, 600_000);
  onTestFinished(async () => {
    child.signal("SIGKILL");
    await child.exited;
  });
  const url = `http://127.0.0.1:${(await child.said("serves")).split(" ")[1]}`;
  const thread = connect({ url, token }).open("t");
  const speak = async () => expect(await (await thread.run("More.")).result).toMatchObject({ status: "completed" });
  const heap = async (): Promise<number> => (await (await fetch(`${url}/heap`)).json()) as number;
  await speak();
  const all = Array.from({ length: readers }, () => reading(url));
  const deaf = neverReading(url);
  const started = Date.now();
  const seconds = () => (Date.now() - started) / 1000;
  let [runs, early] = [0, 0];
  while (seconds() < readingSeconds) {
    await speak();
    runs++;
    if (early === 0 && seconds() >= readingSeconds / 3) early = await heap();
  }
  const took = seconds();
  const { head } = await thread.look();
  const whole = Array.from({ length: head }, (_, i) => i + 1);
  await expect.poll(() => all.filter(({ seqs }) => seqs.at(-1) === head).length, { timeout: 30_000 }).toBe(readers);
  const late = await heap();
  for (const { seqs } of all) expect(seqs).toEqual(whole);
  const pieces = (runs * EVENTS_A_SECOND) / 2;
  const least = Math.min(...all.map((each) => each.pieces));
  const megabytes = [early, late].map((bytes) => (bytes / 2 ** 20).toFixed(1)).join(" → ");
  // Text is not on record, and a reader on a busy machine may miss some of it.
  console.log(
    `${readers} readers, ${Math.round(pieces / took)} pieces/s, at least ${least} of ${pieces}, ${megabytes} MB`,
  );
  expect(late).toBeLessThan(early * 1.2);
  for (const { stop } of all) stop();
  deaf.destroy();
});
