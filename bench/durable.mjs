// What does it cost to have every step on the disk? 200 runs of one thread, each a question, a tool call, its result and
// an answer of 1 KB each, in a SQLite file at full durability. The floor puts the same four texts of 1 KB into a table,
// each in a transaction of its own, in WAL mode with every write synced, as it is with us; the rest is as SQLite has it.
// A second floor has its log as short as ours, too: it has the same gain from that, and no cost but the insert.

import { join } from "node:path";
import { sqliteStore } from "@belay/core/sqlite";
import { runnerOn } from "./fakes.mjs";
import { completed, echo, echoModel, size } from "./kilobytes.mjs";
import { answer, least, median, most, progress } from "./measure.mjs";
import { DatabaseSync, inFolder, sizeOf, text } from "./sqlite.mjs";

const runs = 200;
const usage = { inputTokens: 10, outputTokens: 5 };

function inserter(path, pragma = "") {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${pragma}`);
  db.exec("CREATE TABLE row (id INTEGER PRIMARY KEY, body TEXT)");
  const insert = db.prepare("INSERT INTO row (body) VALUES (?)");
  const work = (i) => {
    for (let row = 0; row < 4; row++) insert.run(text(size, `${i}.${row}`));
  };
  return { db, path, work };
}

async function belayOn(path) {
  const db = new DatabaseSync(path);
  const session = await runnerOn(echoModel, { store: sqliteStore(db), tools: [echo] }).open("thread");
  const { wal_autocheckpoint: log } = db.prepare("PRAGMA wal_autocheckpoint").get();
  const work = (i) => completed(session.run(text(size, `q${i}`)));
  return { db, path, log, work };
}

/** Each on a file of its own, run by run in turns: what the disk does meanwhile, it does to all. */
async function inTurnsOn(path) {
  const belay = await belayOn(`${path}.db`);
  const floor = inserter(`${path}-plain.db`);
  const same = inserter(`${path}-same.db`, `PRAGMA wal_autocheckpoint = ${belay.log}`);
  const all = Object.entries({ belay, floor, same });
  const times = Object.fromEntries(all.map(([name]) => [name, []]));
  for (let i = 0; i < runs; i++) {
    for (const [name, { work }] of all) {
      const started = performance.now();
      await work(i);
      times[name].push(performance.now() - started);
    }
  }
  const bytes = Object.fromEntries(all.map(([name, { db, path: file }]) => [name, sizeOf(db, file)]));
  for (const [, { db }] of all) db.close();
  return { ...times, bytes };
}

const sum = (times) => times.reduce((total, ms) => total + ms, 0);

/** The round in the middle, by its ratio to one of the floors, and how far the rounds are apart. */
function typical(rounds, floor) {
  const ratio = (round) => sum(round.belay) / sum(round[floor]);
  const ratios = rounds.map(ratio);
  const middle = rounds.toSorted((a, b) => ratio(a) - ratio(b))[rounds.length >> 1];
  const spread = `${least(ratios).toFixed(2)}–${most(ratios).toFixed(2)}`;
  return { measured: sum(middle.belay), floor: sum(middle[floor]), spread };
}

await inFolder(async (folder) => {
  const rounds = [];
  for (let i = 0; i < 8; i++) {
    const found = await inTurnsOn(join(folder, `${i}`));
    if (i > 0) rounds.push(found);
    progress(`${i}/7`);
  }
  const { spread, ...plain } = typical(rounds, "floor");
  answer({
    name: `${runs} runs of question, call, result and answer, 1 KB each, against 4 inserts of 1 KB: median round (ratios ${spread})`,
    unit: "ms",
    ...plain,
    target: 1.5,
    judged: "ratio",
  });
  const { spread: spreadOfSame, ...same } = typical(rounds, "same");
  answer({
    name: `the same, against inserts with a log as short as ours (ratios ${spreadOfSame})`,
    unit: "ms",
    ...same,
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
