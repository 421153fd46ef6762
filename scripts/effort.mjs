// How much a sweep does. A sweep is a test that could do its work at thousands of points, or for hours: a `*.sweep.test.ts`.
// `npm test` does a few of them, `npm run endure` a spread, `npm run endure -- --all` every one. This page has all the
// amounts; a sweep reads its own with inject("effort").

/**
 * @typedef {typeof amounts} Amounts
 * @typedef {(typeof engines)[number]} EngineName
 * @typedef {"test" | "endure" | "all"} Tier
 * @typedef {{ tier?: Tier, seed?: number, seconds?: number, runs?: number, drawn?: number, engine?: EngineName, tenants?: number }} Asked
 * @typedef {{ [name in keyof Amounts]: Amounts[name][Tier] } & { tier: Tier, seed: number, firstSeed: number, engine: EngineName, tenants: number }} Effort
 */

/** By which workers in chaos may be dispatched: the loop without an engine, and the engines of scripts/services/engines.mjs. */
export const engines = /** @type {const} */ (["loop", "bullmq", "dbos", "restate"]);

/** More than there are. A whole number: some sweeps check that. */
const every = Number.MAX_SAFE_INTEGER;

export const amounts = {
  /** Points at which a process is killed, its store in a file. */
  crashPoints: { test: 9, endure: 160, all: every },
  /** The same with its store on a server, which takes longer. */
  crashPointsOnServers: { test: 3, endure: 40, all: every },
  /** Points at which each fault strikes a scenario of interruptAnywhere. */
  strikes: { test: 2, endure: every, all: every },
  /** The same for a tree of agents of every kind, which has many points. */
  strikesInTree: { test: 2, endure: 24, all: every },
  /** The same for a tree made by chance. */
  strikesByChance: { test: 1, endure: 4, all: every },
  /** Random trees of agents, each on every store. */
  trees: { test: 1, endure: 6, all: 30 },
  /** Random lives of trees of agents: one case for each seed. */
  lives: { test: 20, endure: 300, all: 5_000 },
  /** Random lives of one thread. */
  interleavings: { test: 100, endure: 2_000, all: 20_000 },
  /** Random lives that are forked at each of their points, in memory; a fifth as many on SQLite. */
  forkedLives: { test: 15, endure: 120, all: 1_000 },
  /** Of all moments at which two things are done to a thread, each n-th. */
  eachMoment: { test: 241, endure: 31, all: 1 },
  /** Places at which a file is damaged. */
  damages: { test: 100, endure: 1_000, all: 10_000 },
  /** Cases of the table of verbs, on each server. */
  verbsOnServers: { test: 6, endure: every, all: every },
  /** How long workers are killed. */
  chaosSeconds: { test: 4, endure: 20, all: 120 },
  /** Wakes that wait in an engine for a process. */
  backlog: { test: 50, endure: 1_000, all: 10_000 },
  /** Processes that answer the same requests. */
  answeringProcesses: { test: 8, endure: 50, all: 50 },
  /** Sentences that are typed into a dialog of the terminal. */
  sentences: { test: 15, endure: 100, all: 100 },
  /** Requests drawn by chance from the table of routes. */
  fuzzedRequests: { test: 250, endure: 5_000, all: 50_000 },
  /** Requests that two people approve at the same moment, each in a browser. */
  racedApprovals: { test: 5, endure: 100, all: 1_000 },
  /** Pages and states of the console that are drawn, each in one look; `npm run console -- --check` draws all in four looks. */
  scenes: { test: 14, endure: every, all: every },
  /** Ways, languages and themes in which a newcomer goes through the demo of the console. */
  newcomers: { test: 1, endure: 6, all: 6 },
  /** How long a page of the console has no connection. */
  offlineSeconds: { test: 3, endure: 10, all: 60 },
  /** Readers of one stream of events, and how long they read. */
  readers: { test: 30, endure: 200, all: 200 },
  readingSeconds: { test: 3, endure: 30, all: 120 },
  /** Streams that a proxy cuts at a random byte. */
  cutStreams: { test: 12, endure: 300, all: 3_000 },
  /** Readers that join an answer, are cut off or connect again. */
  joins: { test: 100, endure: 1_000, all: 10_000 },
  /** Guards of the door that are taken out, one at a time. */
  guards: { test: 1, endure: 1, all: every },
  /** Threads in a store whose lists are read. */
  listedThreads: { test: 2_000, endure: 100_000, all: 100_000 },
  /** Threads in a store of an earlier version that is opened. */
  migratedThreads: { test: 1_000, endure: 10_000, all: 10_000 },
  /** Whether each way to break a wire, each server and each long case has its turn, or one example of them. */
  everyVariant: { test: false, endure: true, all: true },
};

/** Draws a seed. `npm test` does the same each time: only a change can make it fail. */
export const draw = (/** @type {Tier | undefined} */ tier) => (tier === "test" ? 1 : Date.now() % 1_000_000);

/** What `--runs` counts. */
const counted = new Set(["trees", "lives", "interleavings", "forkedLives", "damages"]);

/**
 * Returns the amounts of a tier. Sweeps take their random choices from `seed`, which was asked for or `drawn`. Cases that are
 * named by their seed count from `firstSeed`: their names stay the same unless a seed is asked for. Workers in chaos are
 * dispatched by `engine`, over so many `tenants`.
 * @param {Asked} asked
 * @returns {Effort}
 */
export function effortOf({ tier = "test", seed, seconds, runs, engine = "loop", tenants = 1, drawn = draw(tier) }) {
  const of = (/** @type {string} */ name, /** @type {Record<Tier, unknown>} */ amount) =>
    name === "chaosSeconds" ? (seconds ?? amount[tier]) : counted.has(name) ? (runs ?? amount[tier]) : amount[tier];
  const chosen = Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, of(name, amount)]));
  return /** @type {Effort} */ ({ ...chosen, tier, seed: seed ?? drawn, firstSeed: seed ?? 1, engine, tenants });
}

const numbers = /** @type {const} */ (["seed", "seconds", "runs", "tenants"]);

/**
 * Splits the arguments of a command into those for the sweeps and the rest, which is for vitest.
 * @param {"test" | "endure"} command
 * @param {readonly string[]} args
 * @returns {{ asked: Asked, rest: string[] }}
 */
export function readEffort(command, args) {
  /** @type {Asked} */
  const asked = { tier: command };
  const rest = [];
  for (let i = 0; i < args.length; i++) {
    const [flag = "", inline] = (args[i] ?? "").split("=");
    const number = numbers.find((name) => flag === `--${name}`);
    if (flag === "--all") {
      if (command !== "endure") refuse("--all is for npm run endure: npm test does a few points of each sweep.");
      asked.tier = "all";
    } else if (number !== undefined) {
      const given = inline ?? args[++i];
      const least = number === "seed" ? 0 : 1;
      if (given === undefined || !/^\d+$/.test(given) || Number(given) < least || Number(given) >= 2 ** 31)
        refuse(`${flag} needs a whole number from ${least} to ${2 ** 31 - 1}, not ${given ?? "nothing"}.`);
      asked[number] = Number(given);
    } else if (flag === "--engine") {
      const given = inline ?? args[++i];
      const engine = engines.find((name) => name === given);
      if (engine === undefined) refuse(`--engine needs one of ${engines.join(", ")}, not ${given ?? "nothing"}.`);
      asked.engine = engine;
    } else rest.push(/** @type {string} */ (args[i]));
  }
  return { asked, rest };
}

/** @returns {never} */
function refuse(/** @type {string} */ why) {
  console.error(why);
  process.exit(2);
}
