// How long does a stop take that comes from another process? One process runs a thread in a SQLite file, another has only
// the file: from runner.interrupt() there to its receipt. The owner's model streams until it is told to stop.

import { fork } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sqliteStore } from "@belay/core/sqlite";
import { runnerOn } from "./fakes.mjs";
import { answer, progress, quantile } from "./measure.mjs";
import { DatabaseSync, inFolder } from "./sqlite.mjs";

const stops = 200;
const self = fileURLToPath(import.meta.url);

/** Says a word every 5 milliseconds. */
const talker = {
  id: "fake/native",
  async *stream(_request, { signal }) {
    while (!signal.aborted) {
      yield { type: "text", text: "word " };
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  },
};

/** The owner: starts a run for each "go", and says when its first word is out. */
async function owner(path) {
  const db = new DatabaseSync(path);
  const session = await runnerOn(talker, { store: sqliteStore(db) }).open("thread");
  process.on("message", async (message) => {
    if (message === "end") process.exit(0);
    const run = session.state === "paused" ? session.resume({ input: "More." }) : session.run("Talk.");
    for await (const event of run) if (event.type === "text-delta" && event.offset === 0) process.send("talks");
    process.send((await run.result).status);
  });
  process.send("ready");
}

async function stopper(path) {
  const child = fork(self, ["owner", path]);
  const heard = [];
  let wake = () => {};
  child.on("message", (message) => {
    heard.push(message);
    wake();
  });
  const hear = async (word) => {
    while (heard.length === 0) await new Promise((resolve) => (wake = resolve));
    const found = heard.shift();
    if (found !== word) throw new Error(`The owner said ${found}, not ${word}.`);
  };
  await hear("ready");
  const db = new DatabaseSync(path);
  const runner = runnerOn(talker, { store: sqliteStore(db) });
  const took = [];
  for (let i = -10; i < stops; i++) {
    child.send("go");
    await hear("talks");
    // Anywhere between two words, and between two looks at the file.
    await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 25));
    const started = performance.now();
    const receipt = await runner.interrupt("thread");
    if (i >= 0) took.push(performance.now() - started);
    if (!receipt.accepted) throw new Error("A stop was not accepted.");
    await hear("interrupted");
    progress(`${Math.max(0, i)}/${stops}`);
  }
  child.send("end");
  db.close();
  return took;
}

if (process.argv[2] === "owner") {
  await owner(process.argv[3]);
} else {
  await inFolder(async (folder) => {
    const took = await stopper(join(folder, "threads.db"));
    const p50 = quantile(took, 0.5).toFixed(1);
    const name = `another process stops a run: to the receipt, p99 of ${stops} (median ${p50} ms)`;
    answer({ name, unit: "ms", measured: quantile(took, 0.99), target: 50 });
  });
}
