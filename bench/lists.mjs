// What does a page of 50 threads cost, of 100,000 in one SQLite file, by each filter? The floor is a query by an index for as
// many rows with the same values, each in a column, of one table in the same file, without a checksum. A search finds 200
// threads by two words and sorts them; its floor reads as many by an index of words, and looks into their titles for the other
// word. And what does it take to open a file of 10,000 threads that has no lists yet?

import { join } from "node:path";
import { sqliteStore } from "@belay/core/sqlite";
import { nativeTextModel, runnerOn } from "./fakes.mjs";
import { answer, inTurns, least, median, progress } from "./measure.mjs";
import { DatabaseSync, inFolder, sizeOf } from "./sqlite.mjs";

const THREADS = 100_000;
const OLD = 10_000;
const PAGE = 50;
const STATES = ["completed", "paused", "error"];

async function fill(store, count) {
  for (let i = 0; i < count; i++) {
    const state = STATES[i % 3];
    await store.append(
      { tenant: "default", threadId: `thread-${i}` },
      {
        appendId: `a${i}`,
        expect: 0,
        count: 1,
        at: 1_700_000_000_000 + i,
        body: "[]",
        writer: { take: "bench", ttlMs: 1 },
        release: true,
        agent: `agent-${i % 7}`,
        state,
        listed: { runId: `run-${i}`, ...(state === "paused" && { pauseType: "manual" }) },
        named: { title: `Deploy part ${i} of release r${i % 500}`, labels: { env: i % 4 === 0 ? "prod" : "test" } },
      },
    );
    if (i % 1_000 === 0) progress(`${i}/${count} threads`);
  }
}

const filters = {
  "no filter": {},
  state: { state: "completed" },
  pauseType: { pauseType: "manual" },
  agent: { agent: "agent-3" },
  label: { label: { env: "prod" } },
  "search, 200 found": { search: "deploy r77" },
};

await inFolder(async (folder) => {
  const path = join(folder, "threads.db");
  const db = new DatabaseSync(path);
  const store = sqliteStore(db);
  // Only while the file is filled: how long that takes is not the question.
  db.exec("PRAGMA synchronous = OFF");
  await fill(store, THREADS);
  db.exec(`CREATE TABLE raw AS SELECT l.tenant, l.at, l.id, l.agent, l.state, t.head, t.created_at, t.queued, t.answers, l.pause,
      l.run, l.title, l.labels, 0 AS open, l.thread FROM listing l JOIN thread t ON t.num = l.thread ORDER BY l.thread;
    CREATE INDEX raw_at ON raw (tenant, at); CREATE UNIQUE INDEX raw_thread ON raw (thread);
    CREATE TABLE raw_word (tenant, word, thread, PRIMARY KEY (tenant, word, thread)) WITHOUT ROWID;
    INSERT INTO raw_word SELECT tenant, substr(title, instr(title, 'release ') + 8), thread FROM raw; ANALYZE`);
  sizeOf(db, path);
  const runner = runnerOn(nativeTextModel(1), { store });
  const raw = db.prepare("SELECT * FROM raw WHERE tenant = ? AND at < ? ORDER BY at DESC LIMIT ?");
  const rawSearch = db.prepare(`SELECT raw.* FROM raw_word AS w JOIN raw USING (thread)
    WHERE w.tenant = ? AND w.word >= ? AND w.word < ? AND raw.title LIKE ? ORDER BY raw.at DESC LIMIT ?`);
  const shown = (rows) => {
    if (rows.length !== PAGE) throw new Error(`The floor found ${rows.length} threads.`);
    return rows.map((row) => ({ ...row, labels: JSON.parse(row.labels) }));
  };
  const timed = async (work) => {
    const started = performance.now();
    for (let i = 0; i < 10; i++) await work();
    return (performance.now() - started) / 10;
  };
  const cases = {
    floor: () => timed(async () => shown(raw.all("default", 1_700_000_010_000, PAGE))),
    "floor of a search": () => timed(async () => shown(rawSearch.all("default", "r77", "r77\uffff", "%deploy%", PAGE))),
  };
  for (const [name, filter] of Object.entries(filters))
    cases[name] = () =>
      timed(async () => {
        const { items } = await runner.threads({ ...filter, limit: PAGE });
        if (items.length !== PAGE) throw new Error(`${name}: ${items.length} threads.`);
      });
  const samples = await inTurns(cases, { rounds: 30 });
  for (const name of Object.keys(filters))
    answer({
      name: `a page of ${PAGE} of ${THREADS} threads, ${name} (median ${median(samples[name]).toFixed(2)} ms)`,
      unit: "ms",
      measured: least(samples[name]),
      floor: least(samples[name.startsWith("search") ? "floor of a search" : "floor"]),
      target: 3,
      judged: "ratio",
    });
  db.close();

  const before = new DatabaseSync(join(folder, "old.db"));
  before.exec("PRAGMA synchronous = OFF");
  await fill(sqliteStore(before), OLD);
  // As the release without lists left it.
  before.exec(`DROP TABLE listing; DROP TABLE label; DROP TABLE word; DROP INDEX request_decided; DROP INDEX thread_due;
    DROP INDEX request_open_again; CREATE INDEX request_open_name ON request (tenant, name) WHERE closed IS NULL;
    ALTER TABLE thread DROP COLUMN due; CREATE INDEX thread_tenant ON thread (tenant);
    ALTER TABLE request DROP COLUMN decided_at; PRAGMA user_version = 4`);
  const started = performance.now();
  const listed = await sqliteStore(before).page("default", { limit: 1 });
  if (listed.length !== 1) throw new Error("Nothing is listed.");
  answer({
    name: `open a file of ${OLD} threads without lists`,
    unit: "ms",
    measured: performance.now() - started,
    target: 10_000,
  });
  before.close();
});
