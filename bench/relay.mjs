// What does it cost an owner that a reader in another process follows its thread, and how late does that reader get the text?
// One process speaks 10,000 chunks in a store, unfollowed and followed in turns; another has only the store: a SQLite file,
// PostgreSQL, Redis. They come as a quick provider sends them, 2,000 a second, and on SQLite once as fast as they can be made,
// for the cost of one. For the delay words are spoken with the time in them, by the clock that both processes share.

import { fork } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { agent, createRunner } from "@belay/core";
import { postgresStore } from "@belay/core/postgres";
import { redisStore } from "@belay/core/redis";
import { sqliteStore } from "@belay/core/sqlite";
import { Redis } from "ioredis";
import pg from "pg";
import { ownPostgres } from "../scripts/services/postgres.mjs";
import { ownRedis } from "../scripts/services/redis.mjs";
import { answer, answerCost, median, progress, quantile } from "./measure.mjs";
import { DatabaseSync, inFolder } from "./sqlite.mjs";

const CHUNKS = 10_000;
const ROUNDS = 12;
/** Of the slow ones, which take five seconds each; the first one does not count. */
const PACED_ROUNDS = { SQLite: 4, PostgreSQL: 2, Redis: 2 };
const AT_ONCE = 10;
const PAUSE_MS = 5;
const WORDS = 200;
const EVERY_MS = 50;
const FINISH = { type: "finish", finish: "stop", usage: { inputTokens: 1, outputTokens: 1 } };

const pause = (ms) => new Promise((over) => setTimeout(over, ms));
const now = () => performance.timeOrigin + performance.now();

const speeches = {
  async *fast() {
    for (let i = 0; i < CHUNKS; i++) {
      yield "some words ";
      // As chunks come from a socket: others have their turn between them.
      if (i % AT_ONCE === 0) await new Promise((over) => setImmediate(over));
    }
  },
  async *paced() {
    const started = performance.now();
    for (let i = 0; i < CHUNKS; i++) {
      yield "some words ";
      const due = started + (i / AT_ONCE) * PAUSE_MS;
      if (i % AT_ONCE === 0) await pause(Math.max(0, due - performance.now()));
    }
  },
  async *timed() {
    for (let i = 0; i < WORDS; i++) {
      yield `${now()} `;
      await pause(EVERY_MS);
    }
  },
};

/** Speaks as the last message asks it to. */
const model = {
  id: "speaker",
  async *stream({ messages }) {
    const asked = JSON.stringify(messages.at(-1));
    const [, speech] = Object.entries(speeches).find(([name]) => asked.includes(`speak ${name}`));
    for await (const text of speech()) yield { type: "text", text };
    yield FINISH;
  },
};

const places = {
  SQLite: {
    start: undefined,
    open: (path) => ({ store: sqliteStore(new DatabaseSync(path)), end: async () => {} }),
  },
  PostgreSQL: {
    start: ownPostgres,
    open(url) {
      const pool = new pg.Pool({ connectionString: url, max: 4 });
      return { store: postgresStore(pool, { schema: "relay" }), end: () => pool.end() };
    },
  },
  Redis: {
    start: ownRedis,
    open(url) {
      const client = new Redis(url);
      return { store: redisStore(client, { prefix: "relay" }), end: () => client.quit() };
    },
  },
};

const [, , role, ...given] = process.argv;
if (role === "reader") await follow(...given);
else
  for (const [place, { start }] of Object.entries(places)) {
    if (role !== undefined && role !== place) continue;
    const server = await start?.();
    try {
      if (server === undefined) await inFolder((folder) => measure(place, join(folder, "threads.db")));
      else await measure(place, server.url);
    } finally {
      await server?.stop();
    }
  }

async function follow(place, where) {
  const runner = createRunner({ store: places[place].open(where).store });
  process.on("message", ({ threadId, end }) => (end ? process.exit() : read(threadId)));
  process.send({ ready: true });
  async function read(threadId) {
    const delays = [];
    for await (const event of runner.events(threadId)) {
      if (event.type === "text-delta") {
        const heard = now();
        for (const said of event.text.trim().split(" ").map(Number)) if (said > 1e12) delays.push(heard - said);
      }
      if (event.type === "state" && event.state === "completed") break;
    }
    process.send({ over: threadId, delays });
  }
}

async function measure(place, where) {
  const { store, end } = places[place].open(where);
  const runner = createRunner({ agent: agent({ name: "speaker", model }), store });
  const child = fork(fileURLToPath(import.meta.url), ["reader", place, where], { execArgv: [] });
  const told = (is) =>
    new Promise((resolve) => {
      const hear = (message) => {
        if (!is(message)) return;
        child.off("message", hear);
        resolve(message);
      };
      child.on("message", hear);
    });
  await told(({ ready }) => ready);

  async function speak(threadId, isFollowed, speech) {
    const session = await runner.open(threadId);
    let over;
    if (isFollowed) {
      over = told((message) => message.over === threadId);
      child.send({ threadId });
      // It has called by now; the owner reads the call when it begins.
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    const started = performance.now();
    const { status } = await session.run(`speak ${speech}`).result;
    const ms = performance.now() - started;
    if (status !== "completed") throw new Error(`${threadId}: ${status}`);
    return { ms, delays: (await over)?.delays ?? [] };
  }

  async function inTurns(speech, rounds, warmup) {
    const samples = { alone: [], followed: [] };
    for (let round = -warmup; round < rounds; round++) {
      for (const name of round % 2 === 0 ? ["alone", "followed"] : ["followed", "alone"]) {
        const { ms } = await speak(`${speech} ${name} ${round}`, name === "followed", speech);
        if (round >= 0) samples[name].push(ms);
      }
      progress(`${place}: ${speech} ${round}/${rounds}`);
    }
    return samples;
  }

  const paced = await inTurns("paced", PACED_ROUNDS[place], 1);
  answer({
    name: `${CHUNKS} chunks, 2,000 a second, followed from another process (${place})`,
    unit: "ms",
    measured: median(paced.followed),
    floor: median(paced.alone),
    target: 1.05,
    judged: "ratio",
  });
  if (place === "SQLite") {
    const fast = await inTurns("fast", ROUNDS, 3);
    answerCost({
      name: "a chunk that is relayed, over one that is not",
      per: CHUNKS / 1_000,
      measured: fast.followed,
      floor: fast.alone,
    });
  }
  const { delays } = await speak("timed", true, "timed");
  if (delays.length < WORDS / 2) throw new Error(`Only ${delays.length} words came as they were spoken.`);
  for (const [name, q, target] of [
    ["p50", 0.5, 60],
    ["p99", 0.99, 200],
  ])
    answer({
      name: `a word to a reader in another process, ${name} (${place})`,
      unit: "ms",
      measured: quantile(delays, q),
      target,
    });
  child.send({ end: true });
  await runner.close();
  await end();
}
