// Stops that come from another process: one owns the thread and talks, the other has only the store.

import { fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { runnerOn } from "./fakes.mjs";
import { answer, progress, quantile } from "./measure.mjs";

/** Says a word every 5 milliseconds. */
const talker = {
  id: "fake/native",
  async *stream(_request, { signal }) {
    while (!signal.aborted) {
      yield { type: "text", text: "word " };
      await sleep(5);
    }
  },
};

/** The owner: starts a run for each "go", and says when its first word is out. */
export async function talkWhenTold(store) {
  const session = await runnerOn(talker, { store }).open("thread");
  process.on("message", async (message) => {
    if (message === "end") process.exit(0);
    const run = session.state === "paused" ? session.resume({ input: "More." }) : session.run("Talk.");
    for await (const event of run) if (event.type === "text-delta" && event.offset === 0) process.send("talks");
    process.send((await run.result).status);
  });
  process.send("ready");
}

/** The other: `owner` is how the first is started, as a file and its arguments. */
export async function answerStops(store, { owner: [file, ...args], warmup, target }) {
  const times = 200;
  const child = fork(file, args);
  const hear = listenTo(child);
  await hear("ready");
  const runner = runnerOn(talker, { store });
  const took = [];
  for (let i = -warmup; i < times; i++) {
    child.send("go");
    await hear("talks");
    // Anywhere between two words, and between two looks at the store.
    await sleep(10 + Math.random() * 25);
    const started = performance.now();
    const receipt = await runner.interrupt("thread");
    if (i >= 0) took.push(performance.now() - started);
    if (!receipt.accepted) throw new Error("A stop was not accepted.");
    await hear("interrupted");
    progress(`stops ${Math.max(0, i)}/${times}`);
  }
  child.send("end");
  await runner.close();
  const p50 = quantile(took, 0.5).toFixed(1);
  const name = `another process stops a run: to the receipt, p99 of ${times} (median ${p50} ms)`;
  answer({ name, unit: "ms", measured: quantile(took, 0.99), target });
}

/** Waits for the next word that a process says, which has to be this one. */
function listenTo(child) {
  const heard = [];
  let wake = () => {};
  child.on("message", (message) => {
    heard.push(message);
    wake();
  });
  return async (word) => {
    while (heard.length === 0) await new Promise((resolve) => (wake = resolve));
    const found = heard.shift();
    if (found !== word) throw new Error(`The owner said ${found}, not ${word}.`);
  };
}
