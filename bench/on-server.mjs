// The questions to a store on a server: the cost of a step beside the server's own plain write, the rate of steps, the time of a stop
// from another process, the time until a new process continues, and the cost of many paused threads.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { add, nativeTextModel, runnerOn } from "./fakes.mjs";
import { completed, echo, echoModel, size } from "./kilobytes.mjs";
import { answer, least, median, most, progress, quantile } from "./measure.mjs";
import { text } from "./sqlite.mjs";
import { answerStops, talkWhenTold } from "./stop-elsewhere.mjs";

/**
 * Asks all of them, or the one that the command line names. `kit` is the server: `start()` it; `connect(url, { connections,
 * synced })` to it, for a `store` and a `plainWrite` by name, to say that it is `filled`, and to `end`; and the names of its
 * `plainWrites`. `file` is the program that calls this, which is started again in other roles.
 */
export async function askServer(file, kit) {
  const [, , role, ...given] = process.argv;
  if (role === "owner") return talkWhenTold(kit.connect(...given).store("stops"));
  if (role === "restart") return restart(kit, ...given);
  const parts = { durable, steps, stops, resume, paused };
  const server = await kit.start();
  const asked = { ...kit, url: server.url, self: fileURLToPath(file) };
  try {
    for (const [name, part] of Object.entries(parts)) if (role === undefined || role === name) await part(asked);
  } finally {
    await server.stop();
  }
}

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

/** 200 runs, each beside as many plain writes as it has appends, in turns. */
async function durable({ connect, url, plainWrites }) {
  const runs = 200;
  const rounds = [];
  for (let round = 0; round < 5; round++) {
    const server = connect(url);
    const { store, count } = counted(server.store(`durable_${round}`));
    const session = await runnerOn(echoModel, { store, tools: [echo] }).open("thread");
    await completed(session.run("warm"));
    const write = await server.plainWrite(`plain_${round}`);
    const times = { belay: 0, floor: 0 };
    count.appends = 0;
    for (let i = 0; i < runs; i++) {
      const before = count.appends;
      let started = performance.now();
      await completed(session.run(text(size, `q${i}`)));
      times.belay += performance.now() - started;
      const commits = count.appends - before;
      started = performance.now();
      for (let row = 0; row < commits; row++) await write(text(size, `${i}.${row}`));
      times.floor += performance.now() - started;
    }
    if (round > 0) rounds.push({ ...times, commits: count.appends / runs });
    await session.close();
    await server.end();
    progress(`durable ${round}/4`);
  }
  const ratios = rounds.map(({ belay, floor }) => belay / floor);
  const middle = rounds.toSorted((a, b) => a.belay / a.floor - b.belay / b.floor)[rounds.length >> 1];
  answer({
    name: `${runs} runs of question, call, result and answer, 1 KB each, against ${middle.commits} ${plainWrites} of 1 KB for each (ratios ${least(ratios).toFixed(2)}–${most(ratios).toFixed(2)})`,
    unit: "ms",
    measured: middle.belay,
    floor: middle.floor,
    target: 1.5,
    judged: "ratio",
  });
}

/** 16 threads at once, in one process. */
async function steps({ connect, url }) {
  const threads = 16;
  const found = [];
  for (let round = 0; round < 4; round++) {
    const server = connect(url, { connections: threads + 2 });
    const { store, count } = counted(server.store(`steps_${round}`));
    const runner = runnerOn(echoModel, { store, tools: [echo] });
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
    await server.end();
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

/** The time to a receipt, from a process that has only the server. */
async function stops({ connect, url, self }) {
  const server = connect(url);
  await answerStops(server.store("stops"), { owner: [self, "owner", url], warmup: 20, target: 30 });
  await server.end();
}

/** Says 200 characters; from the `length`-th message on it begins to, and says no more. */
const stalling = (length) => ({
  id: "fake/native",
  async *stream({ messages }) {
    yield { type: "text", text: text(200, messages.length) };
    if (messages.length >= length - 1) await new Promise(() => {});
    yield { type: "finish", finish: "stop", usage: { inputTokens: 10, outputTokens: 5 } };
  },
});

async function stoppedIn(session, words) {
  for await (const event of session.run(words)) if (event.type === "text-delta") await session.interrupt();
}

/** From a new store and a new runner to the model's request. */
async function resume({ connect, url }) {
  const length = 1000;
  const server = connect(url, { synced: false });
  const runner = runnerOn(stalling(length), { store: server.store("resume"), tools: [add] });
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
    const store = server.store("resume");
    const started = performance.now();
    const again = await runnerOn(model, { store, tools: [add] }).open("thread");
    for await (const event of again.resume()) if (event.type === "text-delta") await again.interrupt();
    if (i >= 20) found.push(asked - started);
    await again.close();
  }
  await server.end();
  answer({
    name: `a new runner to the model's request, ${length} messages (median ${median(found).toFixed(1)} ms)`,
    unit: "ms",
    measured: least(found),
    target: 15,
  });
}

/** A new process resumes one thread to its end. */
async function restart({ connect }, url, thread) {
  const server = connect(url);
  const runner = runnerOn(nativeTextModel(1), { store: server.store("paused") });
  await completed((await runner.open(thread)).resume());
  await runner.close();
  await server.end();
}

async function paused({ connect, url, self }) {
  const threads = 10_000;
  const server = connect(url, { connections: 16, synced: false });
  const runner = runnerOn(stalling(2), { store: server.store("paused") });
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
  await server.filled();
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
    for (let next, first = true; first || next !== undefined; first = false)
      ({ next } = await runner.threads({ limit: 1_000, cursor: next }));
    listed.push(performance.now() - started);
  }
  answer({ name: `threads(): pages of all ${threads}`, unit: "ms", measured: least(listed) });
  await runner.close();
  await server.end();
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
