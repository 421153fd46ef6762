// The heap of an idle session. 50 runs of a question and an answer of 200 characters each, with their data in the memory store; the
// floor is the 100 messages in an array.

import { setImmediate as macrotask } from "node:timers/promises";
import { memoryStore } from "@belay/core";
import { runnerOn } from "./fakes.mjs";
import { answer, progress } from "./measure.mjs";

const sessions = 200;
const runs = 50;
const size = 200;

let written = 0;

/** Another text each time, flat in memory like text from a network. */
function text() {
  return Buffer.from(`${written++} `.padEnd(size, "words of someone who talks a lot "), "latin1").toString("latin1");
}

const model = {
  id: "fake/native",
  async *stream() {
    yield { type: "text", text: text() };
    yield { type: "finish", finish: "stop", usage: { inputTokens: 10, outputTokens: 5 } };
  },
};

async function heapUsed() {
  for (let i = 0; i < 5; i++) {
    globalThis.gc();
    await macrotask();
  }
  return process.memoryUsage().heapUsed;
}

/** Kilobytes of heap that `make` leaves for each one that it makes. */
async function weigh(make) {
  // Code that is compiled on the way is no session's.
  for (let i = 0; i < 40; i++) await make();
  const before = await heapUsed();
  const held = [];
  for (let i = 0; i < sessions; i++) {
    held.push(await make());
    if (i % 10 === 0) progress(`${i}/${sessions}`);
  }
  const weight = (await heapUsed()) - before;
  return { each: weight / 1024 / held.length, held };
}

const floor = await weigh(async () =>
  Array.from({ length: 2 * runs }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    parts: [{ type: "text", text: text() }],
  })),
);

const store = memoryStore();
const runner = runnerOn(model, { store });
const belay = await weigh(async () => {
  const session = await runner.open();
  for (let i = 0; i < runs; i++) {
    const { status } = await session.run(text()).result;
    if (status !== "completed") throw new Error(`The run ended ${status}.`);
  }
  return session;
});
const { length } = belay.held[0].messages;
if (length !== 2 * runs) throw new Error(`The session has ${length} messages.`);

answer({
  name: `idle session of ${2 * runs} messages of ${size} characters, mean of ${sessions}`,
  unit: "KB",
  measured: belay.each,
  floor: floor.each,
  target: 40,
});
