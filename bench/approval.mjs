// The cost of asking a person. A call that needs approval, on SQLite at full durability: the run pauses, a new runner on a
// connection of its own approves, the call runs, the run ends. The floor is a program written by hand: the same data saved in the
// same order, in as many transactions, and read back by another connection.
// Then: the cost of an answer in a thread with a long past, and of the inbox.

import { join } from "node:path";
import { approve, jsonSchema, tool } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { runnerOn } from "./fakes.mjs";
import { answer, inTurns, least, median, progress } from "./measure.mjs";
import { DatabaseSync, inFolder, text } from "./sqlite.mjs";

const usage = { inputTokens: 10, outputTokens: 5 };

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: jsonSchema({ type: "object", properties: { amount: { type: "number" } }, required: ["amount"] }),
  needsApproval: true,
  execute: async ({ amount }) => `paid ${amount}`,
});

const model = {
  id: "fake/native",
  async *stream({ messages }) {
    const last = messages.at(-1);
    if (last.role === "user" && last.parts[0].text.startsWith("pay")) {
      yield { type: "call", id: `call_${messages.length}`, tool: "pay", args: '{"amount":7}' };
      yield { type: "finish", finish: "tool-calls", usage };
    } else {
      yield { type: "text", text: "Done." };
      yield { type: "finish", finish: "stop", usage };
    }
  },
};

function opened(path) {
  const db = new DatabaseSync(path);
  return { db, runner: runnerOn(model, { store: sqliteStore(db), tools: [pay] }) };
}

async function meanOf(count, once) {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += await once();
  return sum / count;
}

/**
 * By hand: one row for each fact, a version of the thread, so that one of two approvers wins, and a list of open requests, in which
 * an approver finds it. As many transactions as ours.
 */
function byHand(path) {
  const open = () => {
    const db = new DatabaseSync(path);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    return db;
  };
  const first = open();
  first.exec("CREATE TABLE thread (id TEXT PRIMARY KEY, version INTEGER)");
  first.exec("CREATE TABLE row (id INTEGER PRIMARY KEY, thread TEXT, kind TEXT, body TEXT)");
  first.exec("CREATE INDEX of ON row (thread)");
  first.exec("CREATE TABLE request (id TEXT PRIMARY KEY, thread TEXT, body TEXT, closed INTEGER)");
  first.exec("CREATE INDEX open ON request (thread) WHERE closed IS NULL");
  const saver = (db) => {
    const begin = db.prepare("BEGIN IMMEDIATE");
    const commit = db.prepare("COMMIT");
    const create = db.prepare("INSERT OR IGNORE INTO thread VALUES (?, 0)");
    const update = db.prepare("UPDATE thread SET version = version + 1 WHERE id = ? AND version = ?");
    const insert = db.prepare("INSERT INTO row (thread, kind, body) VALUES (?, ?, ?)");
    const ask = db.prepare("INSERT INTO request (id, thread, body) VALUES (?, ?, ?)");
    const close = db.prepare("UPDATE request SET closed = ? WHERE id = ? AND closed IS NULL");
    return (thread, version, ...rows) => {
      begin.run();
      if (version === 0) create.run(thread);
      if (Number(update.run(thread, version).changes) !== 1) throw new Error("Somebody was faster.");
      for (const [kind, body] of rows) {
        insert.run(thread, kind, JSON.stringify(body));
        if (kind === "request") ask.run(body.id, thread, JSON.stringify(body));
        else if (kind === "approved") close.run(version, body.id);
      }
      commit.run();
    };
  };
  const before = saver(first);
  const second = open();
  const after = saver(second);
  const version = second.prepare("SELECT version FROM thread WHERE id = ?");
  const asked = second.prepare("SELECT thread FROM request WHERE id = ?");
  const read = second.prepare("SELECT kind, body FROM row WHERE thread = ? ORDER BY id");
  let threads = 0;
  return {
    work() {
      threads += 1;
      const thread = `thread-${threads}`;
      const started = performance.now();
      before(thread, 0, ["input", "pay 7"]);
      before(
        thread,
        1,
        ["call", { id: "call_1", tool: "pay", args: { amount: 7 } }],
        ["request", { id: `r_${threads}`, tool: "pay" }],
      );
      if (asked.get(`r_${threads}`).thread !== thread) throw new Error("Somebody else asked.");
      const { version: at } = version.get(thread);
      const rows = read.all(thread).map(({ kind, body }) => ({ kind, body: JSON.parse(body) }));
      after(thread, at, ["approved", { id: rows.at(-1).body.id, by: "ann" }]);
      after(thread, at + 1, ["started", { id: rows[1].body.id }]);
      after(thread, at + 2, ["result", { id: rows[1].body.id, output: "paid 7" }]);
      after(thread, at + 3, ["answer", "Done."]);
      return performance.now() - started;
    },
    close() {
      first.close();
      second.close();
    },
  };
}

await inFolder(async (folder) => {
  const asking = opened(join(folder, "belay.db"));
  const answering = opened(join(folder, "belay.db"));
  const floor = byHand(join(folder, "hand.db"));
  let thread = 0;
  const cases = {
    async belay() {
      thread += 1;
      const started = performance.now();
      const session = await asking.runner.open(`thread-${thread}`);
      const paused = await session.run("pay 7").result;
      const answers = { [paused.interrupts[0].id]: approve({ by: "ann" }) };
      const run = await answering.runner.resume(paused.handle, { answers });
      const { status } = await run.result;
      const took = performance.now() - started;
      if (status !== "completed") throw new Error(`The run ended ${status}.`);
      await session.close();
      return took;
    },
    floor: async () => floor.work(),
  };
  // Ten of a kind in a row: a program that asks people does so repeatedly, with warm caches of the processor.
  const tens = Object.fromEntries(Object.entries(cases).map(([name, once]) => [name, () => meanOf(10, once)]));
  const cold = await inTurns(tens, { rounds: 15, warmup: 3 });
  const times = await inTurns(tens, { rounds: 45, warmup: 100 });
  floor.close();
  const total = (of) => of.reduce((sum, ms) => sum + ms, 0) / of.length;
  answer({
    name: `pause, new runner, approve, finish, against as many transactions by hand: median of 45 tens (means ${total(times.belay).toFixed(2)} and ${total(times.floor).toFixed(2)} ms)`,
    unit: "ms",
    measured: median(times.belay),
    floor: median(times.floor),
    target: 2,
    judged: "ratio",
  });
  answer({
    name: "the same, of the first 180 in a process, while its code is still being compiled",
    unit: "ms",
    measured: total(cold.belay),
    floor: total(cold.floor),
  });

  progress("answering in long threads");
  const long = opened(join(folder, "long.db"));
  const answeringTimes = {};
  for (const messages of [10, 1000]) {
    long.db.exec("PRAGMA synchronous = OFF");
    const ids = [];
    for (let i = 0; i < 40; i++) {
      const session = await long.runner.open(`long-${messages}-${i}`);
      for (let said = 0; said < messages / 2 - 1; said++) await session.run(text(100, `q${said}`)).result;
      const paused = await session.run("pay 7").result;
      ids.push(paused.interrupts[0].id);
      await session.close();
      progress(`${messages} messages, ${i}/40`);
    }
    long.db.exec("PRAGMA synchronous = FULL");
    const times = [];
    for (const id of ids) {
      const other = opened(join(folder, "long.db"));
      const started = performance.now();
      await other.runner.answer(id, approve());
      times.push(performance.now() - started);
      await other.runner.close();
      other.db.close();
    }
    answeringTimes[messages] = times;
  }
  answer({
    name: "runner.answer() in a new runner, 1,000 messages of history (floor: the same with 10)",
    unit: "ms",
    measured: median(answeringTimes[1000]),
    floor: median(answeringTimes[10]),
    target: 1.3,
    judged: "ratio",
  });

  progress("inbox");
  const full = opened(join(folder, "inbox.db"));
  full.db.exec("PRAGMA synchronous = OFF");
  for (let i = 0; i < 1000; i++) {
    const session = await full.runner.open(`inbox-${i}`);
    await session.run("pay 7").result;
    await session.close();
  }
  const listed = [];
  for (let i = 0; i < 30; i++) {
    const started = performance.now();
    const { length } = (await full.runner.inbox({ limit: 1_000 })).items;
    listed.push(performance.now() - started);
    if (length !== 1000) throw new Error(`There are ${length} requests.`);
  }
  answer({
    name: `inbox() of 1,000 open requests (median ${median(listed).toFixed(1)} ms)`,
    unit: "ms",
    measured: least(listed),
    target: 10,
  });
});
