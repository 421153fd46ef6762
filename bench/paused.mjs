// What do 10,000 paused threads in one SQLite file cost? To open one of them, the memory of having opened and closed
// all of them, and the time until a new process can work with the file.

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as macrotask } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { sqliteStore } from "@belay/core/sqlite";
import { runnerOn } from "./fakes.mjs";
import { answer, least, median, progress } from "./measure.mjs";
import { DatabaseSync, inFolder, sizeOf, text } from "./sqlite.mjs";

const threads = 10_000;

const stalled = {
  id: "fake/native",
  async *stream() {
    yield { type: "text", text: text(200, "half") };
    await new Promise(() => {});
  },
};

async function heapUsed() {
  for (let i = 0; i < 5; i++) {
    globalThis.gc?.();
    await macrotask();
  }
  return process.memoryUsage().heapUsed;
}

await inFolder(async (folder) => {
  const path = join(folder, "threads.db");
  {
    const db = new DatabaseSync(path);
    const store = sqliteStore(db);
    // Only while the file is filled: how long that takes is not the question.
    db.exec("PRAGMA synchronous = OFF");
    const runner = runnerOn(stalled, { store });
    for (let i = 0; i < threads; i++) {
      const session = await runner.open(`thread-${i}`);
      for await (const event of session.run(text(200, `q${i}`))) {
        if (event.type === "text-delta") await session.interrupt();
      }
      await session.close();
      if (i % 500 === 0) progress(`${i}/${threads} threads`);
    }
    sizeOf(db, path);
    db.close();
  }
  const db = new DatabaseSync(path);
  const runner = runnerOn(stalled, { store: sqliteStore(db) });
  const open = async (i) => {
    const started = performance.now();
    const session = await runner.open(`thread-${i}`);
    const took = performance.now() - started;
    if (session.state !== "paused") throw new Error(`The thread is ${session.state}.`);
    await session.close();
    return took;
  };
  const took = [];
  for (let i = 0; i < 200; i++) await open((i * 7919) % threads);
  const heaps = [await heapUsed()];
  for (let pass = 0; pass < 2; pass++) {
    for (let i = 0; i < threads; i++) took.push(await open((i * 7919 + 13) % threads));
    heaps.push(await heapUsed());
    progress(`pass ${pass + 1}`);
  }
  answer({
    name: `open() one of ${threads} paused threads (median ${median(took).toFixed(2)} ms)`,
    unit: "ms",
    measured: least(took),
    target: 5,
  });
  // Garbage of the first pass may be filled caches; garbage of the second would come with each.
  const added = heaps.slice(1).map((heap, i) => (heap - heaps[i]) / 1024);
  answer({ name: `heap more after all ${threads} were opened and closed`, unit: "KB", measured: added[0] });
  answer({ name: "heap more after all were, once again", unit: "KB", measured: added[1], target: 500 });
  const listed = [];
  for (let i = 0; i < 5; i++) {
    const started = performance.now();
    let count = 0;
    for (let page = { next: undefined }, first = true; first || page.next !== undefined; first = false) {
      page = await runner.threads({ limit: 1_000, cursor: page.next });
      count += page.items.length;
    }
    listed.push(performance.now() - started);
    if (count !== threads) throw new Error(`There are ${count} threads.`);
  }
  answer({ name: `threads(): pages of all ${threads}`, unit: "ms", measured: least(listed) });
  db.close();

  const program = join(folder, "restart.mjs");
  const fakes = fileURLToPath(new URL("fakes.mjs", import.meta.url));
  const sqlite = fileURLToPath(new URL("sqlite.mjs", import.meta.url));
  writeFileSync(
    program,
    `import { sqliteStore } from "@belay/core/sqlite";
     import { nativeTextModel, runnerOn } from ${JSON.stringify(fakes)};
     import { DatabaseSync } from ${JSON.stringify(sqlite)};
     const db = new DatabaseSync(process.argv[2]);
     const session = await runnerOn(nativeTextModel(1), { store: sqliteStore(db) }).open("thread-" + process.argv[3]);
     const { status } = await session.resume().result;
     if (status !== "completed") throw new Error(status);`,
  );
  const restarts = [];
  for (let i = 0; i < 10; i++) {
    const started = performance.now();
    const { status, stderr } = spawnSync(process.execPath, [program, path, String(i)], { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    restarts.push(performance.now() - started);
  }
  answer({
    name: `a new process opens the file, resumes one thread to its end, and exits (median ${median(restarts).toFixed(0)} ms)`,
    unit: "ms",
    measured: least(restarts),
    target: 1000,
  });
});
