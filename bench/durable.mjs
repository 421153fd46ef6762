// The cost of a durable step. Runs of one thread, each a question, a tool call, its result and an answer of 1 KB each, in a
// SQLite file. The floor puts the same four texts of 1 KB into a table, each in a transaction of its own, with the same sync. It is
// measured twice: in a file with SQLite's defaults, and in one with our settings and a log that is as long as ours at every moment,
// also once ours is made longer. It calls no model and no tool: the time of the runs without a file is printed beside it.

import { join } from "node:path";
import { memoryStore } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { runnerOn } from "./fakes.mjs";
import { completed, echo, echoModel, size } from "./kilobytes.mjs";
import { answer, least, median, most, progress } from "./measure.mjs";
import { DatabaseSync, inFolder, sizeOf, text } from "./sqlite.mjs";

const runs = 1_000;
const rounds = 5;
const usage = { inputTokens: 10, outputTokens: 5 };

/** Phases of a file's life: its log grows, is made longer and grows again, is overwritten. */
const stretches = [
  [0, 200],
  [200, 400],
  [400, runs],
];

const pragma = (db, name) => db.prepare(`PRAGMA ${name}`).get()[name];

/** `alike`: its log, too. */
function inserter(path, like, alike) {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA page_size = ${pragma(like, "page_size")}; PRAGMA journal_mode = ${pragma(like, "journal_mode")}`);
  db.exec(`PRAGMA synchronous = ${pragma(like, "synchronous")}`);
  db.exec("CREATE TABLE row (id INTEGER PRIMARY KEY, body TEXT)");
  const insert = db.prepare("INSERT INTO row (body) VALUES (?)");
  let log;
  /** Not measured. */
  const prepare = () => {
    if (!alike) return;
    const wanted = pragma(like, "wal_autocheckpoint");
    if (wanted !== log) db.exec(`PRAGMA wal_autocheckpoint = ${wanted}`);
    log = wanted;
  };
  const work = (i) => {
    for (let row = 0; row < 4; row++) insert.run(text(size, `${i}.${row}`));
  };
  return { db, path, prepare, work };
}

async function belayOn(store) {
  const session = await runnerOn(echoModel, { store, tools: [echo] }).open("thread");
  return { work: (i) => completed(session.run(text(size, `q${i}`))) };
}

/** Each on a file of its own, run by run in turns: other work of the disk affects all alike. */
async function inTurnsOn(path) {
  const db = new DatabaseSync(`${path}.db`);
  const belay = { db, path: `${path}.db`, ...(await belayOn(sqliteStore(db))) };
  const plain = inserter(`${path}-plain.db`, db, false);
  const alike = inserter(`${path}-alike.db`, db, true);
  const all = Object.entries({ belay, plain, alike, memory: await belayOn(memoryStore()) });
  const times = Object.fromEntries(all.map(([name]) => [name, []]));
  for (let i = 0; i < runs; i++) {
    for (const [name, { prepare, work }] of all) {
      prepare?.();
      const started = performance.now();
      await work(i);
      times[name].push(performance.now() - started);
    }
  }
  const bytes = { belay: sizeOf(db, belay.path), plain: sizeOf(plain.db, plain.path) };
  for (const each of [db, plain.db, alike.db]) each.close();
  return { ...times, bytes };
}

const sum = (times) => times.reduce((total, ms) => total + ms, 0);

/** Returns, for one phase, the median round by its ratio to the floor, and the spread of the rounds. */
function typical(found, floor, from, to) {
  const of = (name) => (round) => sum(round[name].slice(from, to));
  const ratio = (round) => of("belay")(round) / of(floor)(round);
  const ratios = found.map(ratio);
  const middle = found.toSorted((a, b) => ratio(a) - ratio(b))[found.length >> 1];
  const spread = `${least(ratios).toFixed(2)}–${most(ratios).toFixed(2)}`;
  return { measured: of("belay")(middle), floor: of(floor)(middle), memory: of("memory")(middle), spread };
}

await inFolder(async (folder) => {
  const found = [];
  for (let i = 0; i <= rounds; i++) {
    const round = await inTurnsOn(join(folder, `${i}`));
    if (i > 0) found.push(round);
    progress(`${i}/${rounds}`);
  }
  for (const [from, to] of stretches) {
    const which = `runs ${from + 1}–${to} of question, call, result and answer, 1 KB each, against 4 inserts of 1 KB`;
    const { memory: _, spread, ...plain } = typical(found, "plain", from, to);
    const name = `${which}: median round (ratios ${spread})`;
    answer({ name, unit: "ms", ...plain, target: 1.5, judged: "ratio" });
    const { memory, spread: apart, measured, floor } = typical(found, "alike", from, to);
    answer({ name: `the same, where their log is as long as ours (ratios ${apart})`, unit: "ms", measured, floor });
    answer({
      name: "and less what these runs take on the memory store",
      unit: "ms",
      measured: measured - memory,
      floor,
    });
  }
  // Those around it too, and of all rounds the best: one run alone is one disk's mood. The first ones are not asked: their
  // log grows.
  const around = (run) => least(found.map(({ belay }) => median(belay.slice(run - 50, run))));
  for (const run of [200, runs]) {
    const late = { measured: around(run), floor: around(100), target: 1.2, judged: "ratio" };
    answer({ name: `a run after ${run} of them, against one after 100 (medians of 50)`, unit: "ms", ...late });
  }
  answer({
    name: `bytes of the file after ${runs} runs and a checkpoint, against those of the inserts`,
    unit: "KB",
    measured: found[0].bytes.belay / 1024,
    floor: found[0].bytes.plain / 1024,
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
