// The cost of continuing a thread in a SQLite file. From opening the file with a new store and a new runner to the model's request,
// by the length of the thread's history. Everything is read again, but the pages are in the system's memory. The floor opens the
// same file, reads and parses the same texts and writes one, and does not check, fold or call a model.

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { sqliteStore } from "@belay/core/sqlite";
import { add, runnerOn } from "./fakes.mjs";
import { answer, inTurns, least, median } from "./measure.mjs";
import { DatabaseSync, inFolder, sizeOf, text } from "./sqlite.mjs";

const usage = { inputTokens: 10, outputTokens: 5 };

/** Says 200 characters; from the `length`-th message on it begins to, and says no more. */
const talker = (length) => ({
  id: "fake/native",
  async *stream({ messages }) {
    yield { type: "text", text: text(200, messages.length) };
    if (messages.length >= length - 1) await new Promise(() => {});
    yield { type: "finish", finish: "stop", usage };
  },
});

/** A file with a thread that was stopped in its last answer; returns the handle of that pause. */
async function paused(path, length) {
  const db = new DatabaseSync(path);
  const session = await runnerOn(talker(length), { store: sqliteStore(db), tools: [add] }).open("thread");
  for (let i = 0; i < length / 2 - 1; i++) await session.run(text(200, `q${i}`)).result;
  const run = session.run(text(200, "last"));
  for await (const event of run) if (event.type === "text-delta") await session.interrupt();
  const { handle } = await run.result;
  if (session.messages.length !== length) throw new Error(`The thread has ${session.messages.length} messages.`);
  sizeOf(db, path);
  db.close();
  return handle;
}

await inFolder(async (folder) => {
  for (const length of [100, 1000]) {
    const path = join(folder, `${length}.db`);
    const handle = await paused(path, length);
    let copies = 0;
    const fresh = () => {
      const copy = join(folder, `${length}-${copies++}.db`);
      copyFileSync(path, copy);
      return copy;
    };
    /** `goOn` gets a new runner and returns the run, and the time when it had the session. */
    const reopened = async (goOn) => {
      const copy = fresh();
      let asked = 0;
      const model = {
        id: "fake/native",
        async *stream() {
          asked = performance.now();
          yield { type: "text", text: "Done." };
          yield { type: "finish", finish: "stop", usage };
        },
      };
      const started = performance.now();
      const db = new DatabaseSync(copy);
      const { run, opened } = await goOn(runnerOn(model, { store: sqliteStore(db), tools: [add] }));
      const { status } = await run.result;
      if (status !== "completed") throw new Error(`The run ended ${status}.`);
      db.close();
      return { open: opened - started, all: asked - started };
    };
    const { session, byHandle, floor } = await inTurns(
      {
        session: () =>
          reopened(async (runner) => {
            const session = await runner.open("thread");
            const opened = performance.now();
            return { run: session.resume(), opened };
          }),
        byHandle: () => reopened(async (runner) => ({ run: await runner.resume(handle), opened: 0 })),
        floor() {
          const copy = fresh();
          const started = performance.now();
          const db = new DatabaseSync(copy);
          db.exec("PRAGMA synchronous = FULL");
          const messages = [];
          for (const { body } of db.prepare("SELECT body FROM entry ORDER BY id").all())
            messages.push(JSON.parse(body));
          db.prepare("UPDATE thread SET state = ?").run("running");
          const ready = performance.now() - started;
          db.close();
          if (messages.length < length) throw new Error(`${messages.length} lines were read.`);
          return ready;
        },
      },
      // Long enough for the code that reads to be compiled: a new process has a question of its own (`postgres`, `redis`).
      { rounds: 40, warmup: 120 },
    );
    const of = (samples, what) => samples.map((sample) => sample[what]);
    const note =
      "The request of a resumed thread comes after the append that resumes it: one write to the disk is in that time.";
    const ways = { "runner.open(), session.resume()": session, "runner.resume(handle)": byHandle };
    answer({ name: `file to session, ${length} messages`, unit: "ms", measured: least(of(session, "open")) });
    for (const [way, samples] of Object.entries(ways)) {
      const all = of(samples, "all");
      const name = `file to the model's request, ${length} messages, by ${way} (median ${median(all).toFixed(1)} ms)`;
      answer({ name, unit: "ms", measured: least(all), floor: least(floor), target: 5, note });
    }
  }
});
