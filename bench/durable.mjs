// What does it cost to have every step on the disk? 200 runs of one thread, each a question, a tool call, its result and
// an answer of 1 KB each, in a SQLite file at full durability. The floor puts the same four texts of 1 KB into a table,
// each in a transaction of its own, under the same settings.

import { join } from "node:path";
import { jsonSchema, tool } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { runnerOn } from "./fakes.mjs";
import { answer, least, median, most, progress } from "./measure.mjs";
import { DatabaseSync, inFolder, sizeOf, text } from "./sqlite.mjs";

const runs = 200;
const size = 1024;
const usage = { inputTokens: 10, outputTokens: 5 };

const echo = tool({
  name: "echo",
  description: "Says something else.",
  input: jsonSchema({ type: "object", properties: { text: { type: "string" } }, required: ["text"] }),
  execute: async (_args, { callId }) => text(size, callId),
});

/** One call, then an answer: a question is the last message, or a result is. */
const model = {
  id: "fake/native",
  async *stream({ messages }) {
    const seed = messages.length;
    if (messages.at(-1).role === "user") {
      yield { type: "call", id: `call_${seed}`, tool: "echo", args: JSON.stringify({ text: text(size - 11, seed) }) };
      yield { type: "finish", finish: "tool-calls", usage };
    } else {
      yield { type: "text", text: text(size, seed) };
      yield { type: "finish", finish: "stop", usage };
    }
  },
};

/** Both on files of their own, run by run in turns: what the disk does meanwhile, it does to both. */
async function inTurnsOn(belayPath, floorPath) {
  const db = new DatabaseSync(belayPath);
  const session = await runnerOn(model, { store: sqliteStore(db), tools: [echo] }).open("thread");
  const plain = new DatabaseSync(floorPath);
  plain.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  plain.exec("CREATE TABLE row (id INTEGER PRIMARY KEY, body TEXT)");
  const insert = plain.prepare("INSERT INTO row (body) VALUES (?)");
  const belay = [];
  const floor = [];
  for (let i = 0; i < runs; i++) {
    const started = performance.now();
    const { status } = await session.run(text(size, `q${i}`)).result;
    if (status !== "completed") throw new Error(`The run ended ${status}.`);
    const between = performance.now();
    for (let row = 0; row < 4; row++) insert.run(text(size, `${i}.${row}`));
    belay.push(between - started);
    floor.push(performance.now() - between);
  }
  const bytes = { belay: sizeOf(db, belayPath), floor: sizeOf(plain, floorPath) };
  db.close();
  plain.close();
  return { belay, floor, bytes };
}

await inFolder(async (folder) => {
  const rounds = [];
  for (let i = 0; i < 8; i++) {
    const found = await inTurnsOn(join(folder, `${i}.db`), join(folder, `${i}-plain.db`));
    if (i > 0) rounds.push(found);
    progress(`${i}/7`);
  }
  const sum = (times) => times.reduce((total, ms) => total + ms, 0);
  const ratios = rounds.map(({ belay, floor }) => sum(belay) / sum(floor));
  const typical = rounds.toSorted((a, b) => sum(a.belay) / sum(a.floor) - sum(b.belay) / sum(b.floor))[3];
  const spread = `${least(ratios).toFixed(2)}–${most(ratios).toFixed(2)}`;
  answer({
    name: `${runs} runs of question, call, result and answer, 1 KB each, against 4 inserts of 1 KB: median round (ratios ${spread})`,
    unit: "ms",
    measured: sum(typical.belay),
    floor: sum(typical.floor),
    target: 1.5,
    judged: "ratio",
  });
  // Those around it too: one run alone is one disk's mood.
  const around = (run) => median(rounds.map(({ belay }) => median(belay.slice(run - 10, run))));
  const late = { measured: around(runs), floor: around(20), target: 1.2, judged: "ratio" };
  answer({ name: `a run after ${runs} of them, against one after 20 (median of 10)`, unit: "ms", ...late });
  answer({
    name: "bytes of the file after a checkpoint, against those of the inserts",
    unit: "KB",
    measured: rounds[0].bytes.belay / 1024,
    floor: rounds[0].bytes.floor / 1024,
    target: 1.5,
    judged: "ratio",
  });
});

const turns = 1000;
await inFolder(async (folder) => {
  const path = join(folder, "turns.db");
  const db = new DatabaseSync(path);
  const talker = {
    id: "fake/native",
    async *stream({ messages }) {
      yield { type: "text", text: text(1000, messages.length) };
      yield { type: "finish", finish: "stop", usage };
    },
  };
  const session = await runnerOn(talker, { store: sqliteStore(db) }).open("thread");
  for (let i = 0; i < turns; i++) await session.run(text(1000, `q${i}`)).result;
  const bytes = sizeOf(db, path);
  db.close();
  answer({
    name: `bytes of the file after ${turns} turns of 2 kB, against the text`,
    unit: "KB",
    measured: bytes / 1024,
    floor: (turns * 2000) / 1024,
    target: 2,
    judged: "ratio",
  });
});
