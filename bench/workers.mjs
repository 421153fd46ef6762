// How much do workers get done together? PostgreSQL on loopback, workers as processes of their own, short runs: an input that
// waits, a model that answers at once. By the loop with 1, 4 and 8 workers, and by each engine with 4. Then: what a look at
// 100,000 paused and 10,000 runnable threads costs beside an indexed query of 16 rows; what workers cost that have nothing to do;
// and, by the loop and by each engine, how soon a stop of a front reaches a worker, and a thread of a killed worker has another.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { agent, createRunner } from "@belay/core";
import { createWorker, pollingDispatcher, wakingStore } from "@belay/core/dispatch";
import { postgresStore } from "@belay/core/postgres";
import pg from "pg";
import { startEngine } from "../scripts/services/engines.mjs";
import { ownPostgres } from "../scripts/services/postgres.mjs";
import { nativeTextModel, runnerOn } from "./fakes.mjs";
import { answer, inTurns, least, median, most, progress, quantile } from "./measure.mjs";

const self = fileURLToPath(import.meta.url);
const RUNS = Number(process.env.BELAY_BENCH_RUNS ?? 1_000);
const ENGINES = ["bullmq", "dbos", "restate"];
const CONCURRENCY = 8;
const IDLE_MS = 10_000;
const STOPS = 100;
const TAKEOVERS = 5;
const LEASE_MS = 2_000;

const connect = (url, connections = 10) => new pg.Pool({ connectionString: url, max: connections });

async function openDispatcher(settings, store) {
  switch (settings.engine) {
    case "bullmq":
      return (await import("@belay/bullmq")).bullmqDispatcher({ connection: { url: settings.url } });
    case "dbos":
      return (await import("@belay/dbos")).dbosDispatcher({ url: settings.url });
    case "restate": {
      const { ingress, admin, url, port } = settings;
      return (await import("@belay/restate")).restateDispatcher({ ingress, admin, url, listen: { port } });
    }
    default:
      return pollingDispatcher(store);
  }
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

/** A worker: says that it works, and when it is told, how much of a core it has used since. */
async function work({ url, schema, settings, talks = false }) {
  const pool = connect(url);
  const store = postgresStore(pool, { schema });
  const dispatcher = await openDispatcher(settings, store);
  const waking = settings.engine === "loop" ? store : wakingStore(store, dispatcher);
  const runner = talks
    ? createRunner({ agent: agent({ name: "bench", model: talker }), store: waking, leaseTtlMs: LEASE_MS })
    : runnerOn(nativeTextModel(1), { store: waking });
  const worker = createWorker({ store, runner, dispatcher, concurrency: CONCURRENCY });
  let used = process.cpuUsage();
  process.on("message", (message) => {
    if (message === "begin") used = process.cpuUsage();
    if (message !== "end") return;
    const { user, system } = process.cpuUsage(used);
    process.send({ cpuMs: (user + system) / 1_000 });
  });
  process.once("disconnect", () => process.exit());
  process.send("works");
  await worker.work();
}

function start(options) {
  const child = fork(self, ["worker", JSON.stringify(options)]);
  const next = () => new Promise((resolve) => child.once("message", resolve));
  return { child, works: next(), next };
}

const end = ({ child }) =>
  new Promise((resolve) => {
    child.once("exit", resolve);
    child.kill("SIGKILL");
  });

/** Runs a second. With an engine, its wakes are sent while the workers run: sending is part of the work. */
async function rate(url, settings, workers) {
  const schema = `w${Date.now().toString(36)}`;
  const pool = connect(url, 16);
  const store = postgresStore(pool, { schema });
  const isLoop = settings().engine === "loop";
  await fill(store);
  const dispatcher = await openDispatcher(settings(), store);
  const children = Array.from({ length: workers }, (_, place) => start({ url, schema, settings: settings(place) }));
  await Promise.all(children.map(({ works }) => works));
  if (!isLoop) await untilTaken(dispatcher);
  const front = createRunner({ store, start: "worker", ...(!isLoop && { dispatcher }) });
  const started = performance.now();
  let sent = 0;
  const some = async () => {
    while (sent < RUNS) await front.enqueue(`thread-${sent++}`, "Next.");
  };
  await Promise.all(Array.from({ length: 8 }, some));
  const left = `SELECT count(*) AS left FROM ${schema}.thread WHERE state <> 'completed' OR queued > 0`;
  for (;;) {
    const { rows } = await pool.query(left);
    if (Number(rows[0].left) === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  const seconds = (performance.now() - started) / 1_000;
  await Promise.all(children.map(end));
  await front.close();
  await dispatcher.close();
  await pool.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool.end();
  return RUNS / seconds;
}

/** Threads that have completed a run each. */
async function fill(store) {
  const runner = runnerOn(nativeTextModel(1), { store });
  let next = 0;
  const some = async () => {
    while (next < RUNS) {
      const session = await runner.open(`thread-${next++}`);
      await session.run("Hello.").result;
      await session.close();
    }
  };
  await Promise.all(Array.from({ length: 8 }, some));
  await runner.close();
}

/** An engine may refuse wakes until the workers have registered. */
async function untilTaken(dispatcher) {
  for (;;) {
    try {
      return await dispatcher.wake({ tenant: "default", threadId: "thread-0" });
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function rates(url) {
  const loop = () => ({ engine: "loop" });
  const found = {};
  for (const workers of [1, 4, 8]) {
    const rounds = [];
    for (let i = 0; i < 3; i++) {
      rounds.push(await rate(url, loop, workers));
      progress(`loop, ${workers} workers: ${Math.round(rounds.at(-1))} runs a second`);
    }
    found[workers] = median(rounds);
  }
  const said = Object.values(found).map(Math.round).join(" / ");
  // Judged as time for a run: 8 workers may take twice as long as 1.
  answer({
    name: `loop: ${said} runs a second with 1 / 4 / 8 workers; a run by 8 against by 1`,
    unit: "ms",
    measured: 1_000 / found[8],
    floor: 1_000 / found[1],
    judged: "ratio",
    target: 2,
  });
  for (const name of ENGINES) {
    const engine = await startEngine(name, 4);
    const rounds = [];
    try {
      for (let i = 0; i < 3; i++) {
        rounds.push(await rate(url, (place) => engine.settings(place), 4));
        progress(`${name}: ${Math.round(rounds.at(-1))} runs a second`);
        await engine.wipe();
      }
    } finally {
      await engine.stop();
    }
    answer({
      name: `${name}: ${Math.round(median(rounds))} runs a second with 4 workers; a run against by the loop's 4`,
      unit: "ms",
      measured: 1_000 / median(rounds),
      floor: 1_000 / found[4],
      judged: "ratio",
      target: 1.67,
    });
  }
}

async function look(url) {
  const pool = connect(url);
  const store = postgresStore(pool, { schema: "look" });
  await store.append(
    { tenant: "default", threadId: "first" },
    {
      appendId: "a",
      expect: 0,
      count: 1,
      at: 1,
      body: "[]",
      writer: { take: "bench", ttlMs: 1 },
      release: true,
      agent: "helper",
      state: "completed",
    },
  );
  const columns = `tenant_name, tenant, agent, head, fence, until, append_id, hash, base, root, open, answers, created_at, updated_at, sum`;
  const many = (count, state, queued, prefix) =>
    pool.query(`INSERT INTO look.thread (name, id, state, queued, due_at, ${columns})
      SELECT sha256(('${prefix}' || i)::bytea), '${prefix}' || i, '${state}', ${queued}, ${queued > 0 ? "i" : "NULL"}, ${columns}
      FROM look.thread, generate_series(1, ${count}) AS i WHERE id = 'first'`);
  await many(100_000, "paused", 0, "paused-");
  await many(10_000, "completed", 1, "runnable-");
  await pool.query("CREATE TABLE look.raw (id bigint PRIMARY KEY, body text)");
  await pool.query(`INSERT INTO look.raw SELECT i, repeat('x', 200) FROM generate_series(1, 110000) AS i`);
  await pool.query("ANALYZE");
  const raw = { name: "raw", text: "SELECT id, body FROM look.raw WHERE id > $1 ORDER BY id LIMIT 16" };
  const timed = async (work) => {
    const started = performance.now();
    for (let i = 0; i < 20; i++) await work(i);
    return (performance.now() - started) / 20;
  };
  const cases = {
    look: () =>
      timed(async () => {
        if ((await store.due(16)).length !== 16) throw new Error("There are more.");
      }),
    raw: () => timed((i) => pool.query({ ...raw, values: [i * 1_000] })),
  };
  const samples = await inTurns(cases, { rounds: 50 });
  answer({
    name: `a look for 16 of 10,000 runnable threads beside 100,000 paused ones, against an indexed query of 16 rows`,
    unit: "ms",
    measured: least(samples.look),
    floor: least(samples.raw),
    judged: "ratio",
    target: 3,
  });
  await pool.end();
}

async function idle(url) {
  const pool = connect(url);
  const store = postgresStore(pool, { schema: "idle" });
  await store.due(1);
  const children = Array.from({ length: 4 }, () => start({ url, schema: "idle", settings: { engine: "loop" } }));
  await Promise.all(children.map(({ works }) => works));
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  for (const { child } of children) child.send("begin");
  progress("idle");
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const used = await Promise.all(
    children.map(async ({ child, next }) => {
      const said = next();
      child.send("end");
      return (await said).cpuMs;
    }),
  );
  await Promise.all(children.map(end));
  await pool.end();
  const percent = (100 * used.reduce((a, b) => a + b, 0)) / IDLE_MS;
  answer({ name: "four workers of the loop with nothing to do, of one core", unit: "%", measured: percent, target: 2 });
}

/** Stops from a front, and threads that a killed worker had, by the loop and by each engine. */
async function front(url) {
  for (const name of ["loop", ...ENGINES]) {
    const engine = name === "loop" ? undefined : await startEngine(name, 4);
    try {
      await frontBy(name, url, (place) => engine?.settings(place) ?? { engine: "loop" });
    } finally {
      await engine?.stop();
    }
  }
}

async function frontBy(name, url, settings) {
  const schema = `f${Date.now().toString(36)}`;
  const pool = connect(url);
  const store = postgresStore(pool, { schema });
  await store.due(1);
  const dispatcher = await openDispatcher(settings(), store);
  const run = (place) => start({ url, schema, settings: settings(place), talks: true });
  const workers = Array.from({ length: 4 }, (_, place) => run(place));
  await Promise.all(workers.map(({ works }) => works));
  if (name !== "loop") await untilTaken(dispatcher);
  const front = createRunner({ store, start: "worker", ...(name !== "loop" && { dispatcher }) });
  const ownerOf = async (threadId) => Number((await front.look(threadId))?.owner?.name.split("/")[1]);
  const talks = async (threadId) => {
    await front.send(threadId, "Talk.", { agent: "bench" });
    for await (const event of front.events(threadId)) if (event.type === "text-delta") return;
  };
  const took = [];
  const owners = new Set();
  for (let i = -10; i < STOPS; i++) {
    await talks(`stop-${i}`);
    owners.add(await ownerOf(`stop-${i}`));
    const started = performance.now();
    const receipt = await front.interrupt(`stop-${i}`);
    if (i >= 0) took.push(performance.now() - started);
    if (!receipt.accepted || receipt.partialText === "") throw new Error("A stop was not accepted.");
    progress(`${name}: stops ${Math.max(0, i)}/${STOPS}`);
  }
  const p50 = quantile(took, 0.5).toFixed(1);
  answer({
    name: `${name}: a front stops a run of any of ${owners.size} workers: to the receipt, p99 of ${STOPS} (median ${p50} ms)`,
    unit: "ms",
    measured: quantile(took, 0.99),
    target: 50,
  });
  const takeovers = [];
  for (let i = 0; i < TAKEOVERS; i++) {
    const threadId = `taken-${i}`;
    await talks(threadId);
    const pid = await ownerOf(threadId);
    const place = workers.findIndex(({ child }) => child.pid === pid);
    workers[place].child.kill("SIGKILL");
    const killed = performance.now();
    for (let owner = pid; !(owner > 0 && owner !== pid); owner = await ownerOf(threadId))
      await new Promise((resolve) => setTimeout(resolve, 10));
    takeovers.push(performance.now() - killed);
    workers[place] = run(place);
    await Promise.all([workers[place].works, front.interrupt(threadId)]);
    progress(`${name}: takeovers ${i + 1}/${TAKEOVERS}`);
  }
  answer({
    name: `${name}: a killed worker's thread has another worker, lease ${LEASE_MS} ms, worst of ${TAKEOVERS} (least ${Math.round(least(takeovers))} ms)`,
    unit: "ms",
    measured: most(takeovers),
    target: LEASE_MS + 2_000,
  });
  await Promise.all(workers.map(end));
  await front.close();
  await dispatcher.close();
  await pool.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool.end();
}

const [, , role, given] = process.argv;
if (role === "worker") await work(JSON.parse(given));
else {
  const server = await ownPostgres();
  const parts = { rates, look, idle, front };
  try {
    for (const [name, part] of Object.entries(parts)) if (role === undefined || role === name) await part(server.url);
  } finally {
    await server.stop();
  }
}
