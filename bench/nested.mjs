// The cost of an agent inside another one above its own work. Children and nodes that only hand on their input, against a loop over
// the same functions; a large graph, compiled, and resumed near its end by a new runner, on a SQLite file; and a thousand children
// at once, against the longest of them.

import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRunner, defineAgent, END, graph, loop, memoryStore, parallel, START, sequential } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { answer, answerCost, inTurns, least, median, progress, timed } from "./measure.mjs";
import { DatabaseSync, inFolder, sizeOf } from "./sqlite.mjs";

const count = 200;
const same = async (_ctx, input) => input;
const names = Array.from({ length: count }, (_, i) => `a${i}`);
const children = () => names.map((name) => defineAgent({ name, run: same }));

function chain(name, length, nodeAt) {
  let built = graph(name);
  for (let i = 0; i < length; i++) built = built.node(`n${i}`, nodeAt(i));
  built = built.edge(START, "n0");
  for (let i = 1; i < length; i++) built = built.edge(`n${i - 1}`, `n${i}`);
  return built.edge(`n${length - 1}`, END);
}

const kinds = {
  "a child of sequential()": sequential({ name: "root", agents: children() }),
  "an iteration of loop()": loop({ name: "root", agents: [children()[0]], maxIterations: count }),
  "a child of parallel()": parallel({ name: "root", agents: children() }),
  "a node of graph()": chain("root", count, () => async (input) => input).compile({ maxSteps: count }),
};
for (const [kind, agent] of Object.entries(kinds)) {
  const { belay, floor } = await inTurns(
    {
      async belay() {
        const runner = createRunner({ agent, store: memoryStore() });
        const session = await runner.open();
        return timed(async () => {
          const result = await session.run("in").result;
          if (result.status !== "completed")
            throw new Error(`The run ended ${result.status}.`, { cause: result.error });
        });
      },
      floor: () =>
        timed(async () => {
          let value = "in";
          for (let i = 0; i < count; i++) value = await same(undefined, value);
        }),
    },
    { rounds: 60, warmup: 30 },
  );
  answerCost({ name: `${kind}, ${count} of them`, per: count, measured: belay, floor, target: 20 });
}

const compiled = [];
for (let i = 0; i < 8; i++) compiled.push(await timed(() => large(() => {})));
answer({
  name: "a graph of 1,000 nodes, built and compiled",
  unit: "ms",
  measured: least(compiled) / 1000,
  target: 50,
});

function large(reached) {
  const node = async (input) => input;
  const watched = async (input) => {
    reached();
    return input;
  };
  return chain("large", 1000, (i) => (i === 900 ? watched : node)).compile({
    interruptBefore: ["n900"],
    maxSteps: 1000,
  });
}

await inFolder(async (folder) => {
  const path = join(folder, "paused.db");
  const db = new DatabaseSync(path);
  const paused = await (await createRunner({ agent: large(), store: sqliteStore(db) }).open("t")).run("in").result;
  if (paused.interruptType !== "node_interrupt") throw new Error(`It ended ${paused.status}.`, { cause: paused.error });
  sizeOf(db, path);
  db.close();
  const times = [];
  // Long enough for the code that reads to be compiled, as in `reopen`.
  const [warmup, rounds] = [60, 40];
  for (let round = -warmup; round < rounds; round++) {
    const copy = join(folder, `${round}.db`);
    copyFileSync(path, copy);
    let reached = 0;
    const agent = large(() => {
      reached = performance.now();
    });
    const copied = new DatabaseSync(copy);
    const started = performance.now();
    const session = await createRunner({ agent, store: sqliteStore(copied) }).open("t");
    const { status, error } = await session.resume().result;
    if (status !== "completed") throw new Error(`It ended ${status}.`, { cause: error });
    if (round >= 0) times.push(reached - started);
    copied.close();
    rmSync(copy);
    progress(`${Math.max(0, round + 1)}/${rounds}`);
  }
  const name = `a new runner resumes at node 900 of 1,000, on SQLite (median ${median(times).toFixed(1)} ms)`;
  answer({ name, unit: "ms", measured: least(times), target: 10 });
});

const work = 500;
const slow = (name) => defineAgent({ name, run: (_ctx, input) => sleep(work, input) });
const wide = parallel({ name: "wide", agents: Array.from({ length: 1000 }, (_, i) => slow(`s${i}`)) });
const { belay, floor } = await inTurns(
  {
    async belay() {
      const session = await createRunner({ agent: wide, store: memoryStore() }).open();
      return timed(async () => {
        const result = await session.run("in").result;
        if (result.status !== "completed") throw new Error(`The run ended ${result.status}.`, { cause: result.error });
      });
    },
    floor: () => timed(() => Promise.all(Array.from({ length: 1000 }, () => sleep(work, "in")))),
  },
  { rounds: 6, warmup: 2 },
);
answer({
  name: `1,000 children at once, ${work} ms each (90 % of the ideal is a ratio of 1.11)`,
  unit: "ms",
  measured: least(belay) / 1000,
  floor: least(floor) / 1000,
  target: 1.11,
  judged: "ratio",
});
