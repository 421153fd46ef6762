// What does the same work cost with another build of the kernel? Both builds run in one process, in turns, on the same models.
// A feature that one of them lacks costs the other: judge a row by what it does.

import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { answer, inTurns, least, median } from "./measure.mjs";
import { DatabaseSync, inFolder } from "./sqlite.mjs";

const options = { base: { type: "string" }, rows: { type: "string", default: "" } };
const { base, rows: wanted } = parseArgs({ options }).values;
const root = fileURLToPath(new URL("..", import.meta.url));
const builds = { ours: await buildIn(root), theirs: await buildIn(resolve(root, base)) };

async function buildIn(dir) {
  const door = (name) => import(pathToFileURL(join(dir, "packages/core/dist", name)).href);
  return { ...(await door("index.js")), ...(await door("sqlite.js")) };
}

const usage = { inputTokens: 10, outputTokens: 5 };
const never = new Promise(() => {});

/** Calls `tool` once a turn for `turns` turns after the last words of the user, then says a word. */
const caller = (turns, tool, args) => () => ({
  id: "fake/native",
  async *stream({ messages }) {
    const turn = messages.length - 1 - messages.findLastIndex(({ role }) => role === "user");
    if (turn / 2 < turns) {
      yield { type: "call", id: `call_${messages.length}`, tool, args };
      yield { type: "finish", finish: "tool-calls", usage };
    } else {
      yield { type: "text", text: "Done." };
      yield { type: "finish", finish: "stop", usage };
    }
  },
});
const adder = (turns) => caller(turns, "add", '{"a":1,"b":1}');

/** Says a word, and never ends. */
const talker = () => ({
  id: "fake/native",
  async *stream() {
    yield { type: "text", text: "word " };
    await never;
  },
});

/** Says `count` pieces of text. */
const speaker = (count) => () => ({
  id: "fake/native",
  async *stream() {
    for (let i = 0; i < count; i++) yield { type: "text", text: "word " };
    yield { type: "finish", finish: "stop", usage };
  },
});

/** A runner of a build, with an agent that has the tools of all rows. */
function runnerOf({ agent, createRunner, jsonSchema, memoryStore, tool }, makeModel, store = memoryStore()) {
  const number = { type: "number" };
  const schema = { type: "object", properties: { a: number, b: number }, required: ["a", "b"] };
  const add = tool({
    name: "add",
    description: "Adds.",
    input: jsonSchema(schema),
    execute: async ({ a, b }) => a + b,
  });
  const amount = { type: "object", properties: { amount: number }, required: ["amount"] };
  const pay = tool({
    name: "pay",
    description: "Pays.",
    input: jsonSchema(amount),
    needsApproval: true,
    execute: async (args) => `paid ${args.amount}`,
  });
  const bench = agent({ name: "bench", model: makeModel(), tools: [add, pay], maxTurns: 10_000 });
  return createRunner({ agent: bench, store });
}

const payer = caller(1, "pay", '{"amount":7}');

function must(result, status) {
  if (result.status !== status) throw new Error(`The run ended ${result.status}.`, { cause: result.error });
  return result;
}

const sessionsOf = (runner, count) => Promise.all(Array.from({ length: count }, () => runner.open()));

/** Microseconds of `work` for each of `items`, one after the other; `before` is not counted. */
async function timedEach(items, work, before = async (item) => item) {
  let sum = 0;
  for (const item of items) {
    const ready = await before(item);
    const started = performance.now();
    await work(ready);
    sum += performance.now() - started;
  }
  return (sum * 1000) / items.length;
}

async function finished(session) {
  must(await session.run("Hello.").result, "completed");
}

/** Begins a run, and returns it with its session when its first words are there. */
async function speaking(session) {
  const run = session.run("Speak.");
  for await (const event of run) if (event.type === "text-delta") break;
  return { session, run };
}

async function asked(session) {
  const { interrupts } = must(await session.run("Pay.").result, "interrupted");
  return { session, request: interrupts[0].id };
}

/** A store with threads of 100 messages, each stopped in its last answer. */
async function stopped(build, store, count) {
  const [runner, last] = [runnerOf(build, speaker(1), store), runnerOf(build, talker, store)];
  const ids = Array.from({ length: count }, (_, i) => `thread-${i}`);
  for (const id of ids) {
    const session = await runner.open(id);
    for (let i = 0; i < 49; i++) await finished(session);
    await session.close();
    const { session: cut, run } = await speaking(await last.open(id));
    await cut.interrupt();
    must(await run.result, "interrupted");
    await cut.close();
  }
  return ids;
}

async function resumed(runner, id) {
  const session = await runner.open(id);
  must(await session.resume().result, "completed");
}

let files = 0;

/** Each row: microseconds of one piece of work with a build. */
const rows = {
  "run of 0 tool turns, new thread": async (build) =>
    timedEach(await sessionsOf(runnerOf(build, speaker(1)), 20), finished),

  "open, run of 0 tool turns": async (build) => {
    const runner = runnerOf(build, speaker(1));
    return timedEach(Array(20).fill(), async () => finished(await runner.open()));
  },

  "run of 0 tool turns, in an old session": async (build) => {
    const session = await runnerOf(build, speaker(1)).open();
    for (let i = 0; i < 10; i++) await finished(session);
    return timedEach(Array(20).fill(session), finished);
  },

  "run of 5 tool turns": async (build) => timedEach(await sessionsOf(runnerOf(build, adder(5)), 10), finished),

  "run of 200 tool turns": async (build) => timedEach(await sessionsOf(runnerOf(build, adder(200)), 1), finished),

  "1,000 runs of 5 tool turns at once, for each": async (build) => {
    const sessions = await sessionsOf(runnerOf(build, adder(5)), 1000);
    return (await timedEach([sessions], (all) => Promise.all(all.map(finished)))) / sessions.length;
  },

  "run of 1,000 pieces of text, with a reader": async (build) => {
    const sessions = await sessionsOf(runnerOf(build, speaker(1000)), 1);
    return timedEach(sessions, async (session) => {
      let seen = 0;
      for await (const { type } of session.run("Speak.")) if (type === "text-delta") seen += 1;
      if (seen === 0) throw new Error("Nothing was read.");
    });
  },

  "stop of a streaming run, to receipt and result": async (build) =>
    timedEach(
      await sessionsOf(runnerOf(build, talker), 20),
      async ({ session, run }) => {
        const [{ accepted }, result] = await Promise.all([session.interrupt(), run.result]);
        must(result, "interrupted");
        if (!accepted) throw new Error("The stop was not accepted.");
      },
      speaking,
    ),

  "approval: to the pause": async (build) => timedEach(await sessionsOf(runnerOf(build, payer), 20), asked),

  "approval: answer": async (build) =>
    timedEach(
      await sessionsOf(runnerOf(build, payer), 20),
      ({ session, request }) => session.answer(request, build.approve({ by: "ann" })),
      asked,
    ),

  "approval: answer and resume, to the result": async (build) =>
    timedEach(
      await sessionsOf(runnerOf(build, payer), 20),
      async ({ session, request }) => {
        await session.answer(request, build.approve({ by: "ann" }));
        must(await session.resume().result, "completed");
      },
      asked,
    ),

  "approval: resume with the answer, to the result": async (build) =>
    timedEach(
      await sessionsOf(runnerOf(build, payer), 20),
      async ({ session, request }) => {
        const answers = { [request]: build.approve({ by: "ann" }) };
        must(await session.resume({ answers }).result, "completed");
      },
      asked,
    ),

  "resume with input after a stop, to the result": async (build) => {
    const store = build.memoryStore();
    const [talks, ends] = [runnerOf(build, talker, store), runnerOf(build, speaker(1), store)];
    return timedEach(
      await sessionsOf(talks, 20),
      async (session) => must(await session.resume({ input: "Go on." }).result, "completed"),
      async (session) => {
        const { run } = await speaking(session);
        await session.interrupt();
        await run.result;
        await session.close();
        return ends.open(session.threadId);
      },
    );
  },

  "steer of a streaming run": async (build) => {
    const { session, run } = await speaking(await runnerOf(build, talker).open());
    const took = await timedEach(Array(20).fill(session), (each) => each.steer("Faster."));
    await session.interrupt();
    await run.result;
    return took;
  },

  "observe, at rest": async (build) => {
    const session = await runnerOf(build, speaker(1)).open();
    await finished(session);
    return timedEach(Array(20).fill(session), (each) => each.observe("It rains."));
  },

  "open and resume a stopped thread of 100 messages": async (build) => {
    const store = build.memoryStore();
    const ids = await stopped(build, store, 5);
    const runner = runnerOf(build, speaker(1), store);
    return timedEach(ids, (id) => resumed(runner, id));
  },
};

/** Rows on a disk: each has a folder. */
const durable = {
  "SQLite: run of 1 tool turn, new thread": async (build, { store }) =>
    timedEach(await sessionsOf(runnerOf(build, adder(1), store()), 10), finished),

  "SQLite: approval, to the result": async (build, { store }) => {
    const runner = runnerOf(build, payer, store());
    return timedEach(await sessionsOf(runner, 10), async (session) => {
      const { request } = await asked(session);
      await session.answer(request, build.approve({ by: "ann" }));
      must(await session.resume().result, "completed");
    });
  },

  "SQLite: a new connection opens and resumes a stopped thread of 100 messages": async (build, { store }) => {
    const ids = await stopped(build, store(), 2);
    return timedEach(ids, (id) => resumed(runnerOf(build, speaker(1), store()), id));
  },
};

function onDisk(row, folder) {
  return async (build) => {
    const path = join(folder, `${files++}.db`);
    const open = [];
    const store = () => {
      const db = new DatabaseSync(path);
      open.push(db);
      return build.sqliteStore(db);
    };
    try {
      return await row(build, { store });
    } finally {
      for (const db of open) db.close();
    }
  };
}

async function compare(name, row, rounds) {
  const { ours, theirs } = await inTurns(
    { ours: () => row(builds.ours), theirs: () => row(builds.theirs) },
    { rounds, warmup: rounds },
  );
  const ofMedians = (median(ours) / median(theirs)).toFixed(2);
  answer({
    name: `${name} (of the medians ${ofMedians})`,
    unit: "µs",
    measured: least(ours),
    floor: least(theirs),
    target: 1.1,
    judged: "ratio",
    note: "In `against`, the floor is the other build.",
  });
}

const isWanted = ([name]) => name.includes(wanted);

for (const [name, row] of Object.entries(rows).filter(isWanted)) await compare(name, row, 100);
await inFolder(async (folder) => {
  for (const [name, row] of Object.entries(durable).filter(isWanted)) await compare(name, onDisk(row, folder), 30);
});
