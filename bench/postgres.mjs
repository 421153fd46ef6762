// What does it cost to have every step in PostgreSQL? A server of its own, as it is configured by default, on this machine's
// disk and its loopback: what a network adds comes on top. Server and programs share the machine's cores.

import { fork, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { jsonSchema, tool } from "@belay/core";
import { postgresStore } from "@belay/core/postgres";
import pg from "pg";
import { ownPostgres } from "../scripts/services/postgres.mjs";
import { add, nativeTextModel, runnerOn } from "./fakes.mjs";
import { answer, least, median, most, progress, quantile } from "./measure.mjs";
import { text } from "./sqlite.mjs";

const self = fileURLToPath(import.meta.url);
const usage = { inputTokens: 10, outputTokens: 5 };
const size = 1024;

const poolAt = (url, max = 10) => new pg.Pool({ connectionString: url, max });

const echo = tool({
  name: "echo",
  description: "Says something else.",
  input: jsonSchema({ type: "object", properties: { text: { type: "string" } }, required: ["text"] }),
  execute: async (_args, { callId }) => text(size, callId),
});

/** One call, then an answer: a question is the last message, or a result is. */
const turns = {
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

/** The store, and how many appends it took. */
function counted(store) {
  const count = { appends: 0 };
  const append = store.append.bind(store);
  store.append = (key, what) => {
    count.appends += 1;
    return append(key, what);
  };
  return { store, count };
}

async function completed(run) {
  const { status } = await run.result;
  if (status !== "completed") throw new Error(`The run ended ${status}.`);
}

/** 200 runs, each beside as many inserts as it has commits, in turns. */
async function durable(url) {
  const runs = 200;
  const rounds = [];
  for (let round = 0; round < 5; round++) {
    const pool = poolAt(url);
    const { store, count } = counted(postgresStore(pool, { schema: `durable_${round}` }));
    const session = await runnerOn(turns, { store, tools: [echo] }).open("thread");
    await completed(session.run("warm"));
    await pool.query(`CREATE TABLE plain_${round} (id bigserial PRIMARY KEY, body text)`);
    const insert = { name: "insert", text: `INSERT INTO plain_${round} (body) VALUES ($1)` };
    const times = { belay: 0, floor: 0 };
    count.appends = 0;
    for (let i = 0; i < runs; i++) {
      const before = count.appends;
      let started = performance.now();
      await completed(session.run(text(size, `q${i}`)));
      times.belay += performance.now() - started;
      const commits = count.appends - before;
      started = performance.now();
      for (let row = 0; row < commits; row++) await pool.query({ ...insert, values: [text(size, `${i}.${row}`)] });
      times.floor += performance.now() - started;
    }
    if (round > 0) rounds.push({ ...times, commits: count.appends / runs });
    await session.close();
    await pool.end();
    progress(`durable ${round}/4`);
  }
  const ratios = rounds.map(({ belay, floor }) => belay / floor);
  const middle = rounds.toSorted((a, b) => a.belay / a.floor - b.belay / b.floor)[rounds.length >> 1];
  answer({
    name: `${runs} runs of question, call, result and answer, 1 KB each, against ${middle.commits} inserts of 1 KB for each (ratios ${least(ratios).toFixed(2)}–${most(ratios).toFixed(2)})`,
    unit: "ms",
    measured: middle.belay,
    floor: middle.floor,
    target: 1.5,
    judged: "ratio",
  });
}

/** 16 threads at once, in one process. */
async function steps(url) {
  const threads = 16;
  const found = [];
  for (let round = 0; round < 4; round++) {
    const pool = poolAt(url, threads + 2);
    const { store, count } = counted(postgresStore(pool, { schema: `steps_${round}` }));
    const runner = runnerOn(turns, { store, tools: [echo] });
    const sessions = await Promise.all(Array.from({ length: threads }, (_, i) => runner.open(`thread ${i}`)));
    const all = (runs) =>
      Promise.all(
        sessions.map(async (session) => {
          for (let i = 0; i < runs; i++) await completed(session.run(text(size, `q${i}`)));
        }),
      );
    await all(10);
    count.appends = 0;
    const started = performance.now();
    await all(100);
    found.push(((performance.now() - started) * 1000) / count.appends);
    await runner.close();
    await pool.end();
    progress(`steps ${round}/4`);
  }
  const persecond = Math.round(1e6 / least(found));
  answer({
    name: `a step of 16 threads at once: ${persecond} a second (median ${Math.round(1e6 / median(found))})`,
    unit: "µs",
    measured: least(found),
    target: 400,
  });
}

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
async function owner(url) {
  const session = await runnerOn(talker, { store: postgresStore(poolAt(url), { schema: "stops" }) }).open("thread");
  process.on("message", async (message) => {
    if (message === "end") process.exit(0);
    const run = session.state === "paused" ? session.resume({ input: "More." }) : session.run("Talk.");
    for await (const event of run) if (event.type === "text-delta" && event.offset === 0) process.send("talks");
    process.send((await run.result).status);
  });
  process.send("ready");
}

async function stops(url) {
  const times = 200;
  const child = fork(self, ["owner", url]);
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
  const pool = poolAt(url);
  const runner = runnerOn(talker, { store: postgresStore(pool, { schema: "stops" }) });
  const took = [];
  for (let i = -20; i < times; i++) {
    child.send("go");
    await hear("talks");
    await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 25));
    const started = performance.now();
    const receipt = await runner.interrupt("thread");
    if (i >= 0) took.push(performance.now() - started);
    if (!receipt.accepted) throw new Error("A stop was not accepted.");
    await hear("interrupted");
    progress(`stops ${Math.max(0, i)}/${times}`);
  }
  child.send("end");
  await runner.close();
  await pool.end();
  const p50 = quantile(took, 0.5).toFixed(1);
  const name = `another process stops a run: to the receipt, p99 of ${times} (median ${p50} ms)`;
  answer({ name, unit: "ms", measured: quantile(took, 0.99), target: 30 });
}

/** Says 200 characters; from the `length`-th message on it begins to, and says no more. */
const stalling = (length) => ({
  id: "fake/native",
  async *stream({ messages }) {
    yield { type: "text", text: text(200, messages.length) };
    if (messages.length >= length - 1) await new Promise(() => {});
    yield { type: "finish", finish: "stop", usage };
  },
});

async function stoppedIn(session, words) {
  for await (const event of session.run(words)) if (event.type === "text-delta") await session.interrupt();
}

/** From a new store and a new runner to the model's request. */
async function resume(url) {
  const length = 1000;
  const pool = poolAt(`${url}?options=-c%20synchronous_commit%3Doff`);
  const runner = runnerOn(stalling(length), { store: postgresStore(pool, { schema: "resume" }), tools: [add] });
  const session = await runner.open("thread");
  for (let i = 0; i < length / 2 - 1; i++) await completed(session.run(text(200, `q${i}`)));
  await stoppedIn(session, text(200, "last"));
  await runner.close();
  const found = [];
  let asked = 0;
  const model = {
    id: "fake/native",
    async *stream(_request, { signal }) {
      asked = performance.now();
      yield { type: "text", text: "Well." };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  };
  for (let i = 0; i < 60; i++) {
    const store = postgresStore(pool, { schema: "resume" });
    const started = performance.now();
    const again = await runnerOn(model, { store, tools: [add] }).open("thread");
    for await (const event of again.resume()) if (event.type === "text-delta") await again.interrupt();
    if (i >= 20) found.push(asked - started);
    await again.close();
  }
  await pool.end();
  answer({
    name: `a new runner to the model's request, ${length} messages (median ${median(found).toFixed(1)} ms)`,
    unit: "ms",
    measured: least(found),
    target: 15,
  });
}

/** A new process resumes one thread to its end. */
async function restart(url, thread) {
  const pool = poolAt(url);
  const runner = runnerOn(nativeTextModel(1), { store: postgresStore(pool, { schema: "paused" }) });
  await completed((await runner.open(thread)).resume());
  await runner.close();
  await pool.end();
}

async function paused(url) {
  const threads = 10_000;
  const pool = poolAt(`${url}?options=-c%20synchronous_commit%3Doff`, 16);
  const runner = runnerOn(stalling(2), { store: postgresStore(pool, { schema: "paused" }) });
  let next = 0;
  const fill = async () => {
    while (next < threads) {
      const i = next++;
      const session = await runner.open(`thread-${i}`);
      await stoppedIn(session, text(200, `q${i}`));
      await session.close();
      if (i % 500 === 0) progress(`${i}/${threads} threads`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, fill));
  await pool.query("ANALYZE");
  const took = [];
  for (let i = 0; i < 1_000; i++) {
    const started = performance.now();
    const session = await runner.open(`thread-${(i * 7919) % threads}`);
    took.push(performance.now() - started);
    if (session.state !== "paused") throw new Error(`The thread is ${session.state}.`);
    await session.close();
  }
  answer({
    name: `open() one of ${threads} paused threads, p99 (median ${median(took).toFixed(2)} ms)`,
    unit: "ms",
    measured: quantile(took, 0.99),
    target: 10,
  });
  const listed = [];
  for (let i = 0; i < 5; i++) {
    const started = performance.now();
    await runner.threads();
    listed.push(performance.now() - started);
  }
  answer({ name: `threads(): a list of all ${threads}`, unit: "ms", measured: least(listed) });
  await runner.close();
  await pool.end();
  const restarts = [];
  for (let i = 0; i < 10; i++) {
    const started = performance.now();
    const given = [self, "restart", url, `thread-${i}`];
    const { status, stderr } = spawnSync(process.execPath, given, { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    restarts.push(performance.now() - started);
  }
  answer({
    name: `a new process resumes one of them to its end, and exits (median ${median(restarts).toFixed(0)} ms)`,
    unit: "ms",
    measured: median(restarts),
    target: 1000,
  });
}

const [, , role, ...given] = process.argv;
const parts = { durable, steps, stops, resume, paused };
if (role === "owner") await owner(...given);
else if (role === "restart") await restart(...given);
else {
  const server = await ownPostgres();
  try {
    for (const [name, part] of Object.entries(parts)) if (role === undefined || role === name) await part(server.url);
  } finally {
    await server.stop();
  }
}
