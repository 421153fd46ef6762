// node question.mjs <peer> <question> [file]: asks one peer one question in a process of its own, and prints JSON.
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { problemOf, prompts } from "./script.mjs";

const [peer, question, file] = process.argv.slice(2);
const { open, race } = await import(`./${peer}.mjs`);
const least = (values) => Math.min(...values);
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const timed = async (job) => {
  const started = performance.now();
  await job();
  return performance.now() - started;
};
const paid = () =>
  existsSync(process.env.PEERS_PAID) ? readFileSync(process.env.PEERS_PAID, "utf8").split("\n").length - 1 : 0;
const repeat = async (count, job) => {
  const found = [];
  for (let i = 0; i < count; i++) found.push(await job(i));
  return found;
};
function check(status) {
  if (status !== "completed") throw new Error(`the run ended as ${status}`);
}

/** Stops a talking model after a few words; returns the time, the words shown and the peer. */
async function stopped(i, shared) {
  const app = shared ?? open();
  const stop = new AbortController();
  let shown = "";
  let words = 0;
  let at;
  const status = await app.say(`s${i}`, "talk", {
    signal: stop.signal,
    onText: (text) => {
      if (at === undefined) shown += text;
      if (++words === 5) {
        at = performance.now();
        stop.abort();
      }
    },
  });
  if (at === undefined) throw new Error(`the run ended as ${status} before the stop`);
  return { ms: performance.now() - at, app, shown };
}

/** Returns the state of the next prompt after a stop: refused by providers, and the text of the cut answer in it. */
async function next(app, id) {
  let failure;
  await app.say(id, "hello").catch((error) => (failure = error.message.slice(0, 90)));
  const prompt = prompts.at(-1);
  const reached = prompt?.some(({ role, text }) => role === "user" && text === "hello");
  const text = prompt.filter(({ role }) => role === "assistant").map((row) => row.text).join(""); // biome-ignore format: one line
  return {
    failure: failure ?? (reached ? undefined : "the input did not reach the model"),
    problem: problemOf(prompt),
    text,
  };
}

const questions = {
  async loop() {
    const app = open();
    const times = await repeat(14, (i) => timed(async () => check(await app.say(`t${i}`, "tools 50"))));
    return (least(times.slice(4)) * 1000) / 51;
  },
  async chunk() {
    const app = open();
    const times = await repeat(8, (i) =>
      timed(async () => check(await app.say(`t${i}`, "chunks 5000", { onText() {} }))),
    );
    return (least(times.slice(2)) * 1000) / 5000;
  },
  async stop() {
    const app = open();
    return median((await repeat(60, (i) => stopped(i, app))).slice(10).map(({ ms }) => ms));
  },
  async durable() {
    const app = open({ file });
    return timed(() => repeat(200, async (i) => check(await app.say("t", "tools 1", { i }))));
  },
  /** After `durable`, in a new process: from the open file to the first prompt, which holds all 200 turns. */
  async resume() {
    const started = performance.now();
    const app = open({ file });
    const seen = prompts.length;
    const saying = app.say("t", "hello");
    while (prompts.length === seen) await Promise.race([saying, new Promise((resolve) => setImmediate(resolve))]);
    const ms = performance.now() - started;
    const rows = prompts.at(-1).length;
    await saying;
    if (rows < 600) throw new Error(`the prompt had ${rows} messages only`);
    return ms;
  },
  async heap() {
    const app = open();
    await repeat(20, (i) => app.say(`warm${i}`, "hello"));
    globalThis.gc();
    const before = process.memoryUsage().heapUsed;
    await repeat(100, (i) => repeat(10, () => app.say(`t${i}`, "hello")));
    globalThis.gc();
    await sleep(50);
    globalThis.gc();
    const used = process.memoryUsage().heapUsed - before;
    await app.history("t0");
    return used / 1024 / 100;
  },
  async runs() {
    const app = open();
    const all = (name) =>
      Promise.all(Array.from({ length: 1000 }, (_, i) => app.say(`${name}${i}`, "tools 5").then(check)));
    await repeat(30, (i) => app.say(`w${i}`, "tools 5"));
    return timed(() => all("t"));
  },
  async "mid-text"() {
    const { app, shown } = await stopped(0);
    const kept = (await app.history("s0")).filter(({ role }) => role === "assistant").map(({ text }) => text).join(""); // biome-ignore format: one line
    return { shown, kept, ...(await next(app, "s0")) };
  },
  async "deaf-tool"() {
    const app = open();
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 200);
    const started = performance.now();
    await app.say("d", "deaf", { signal: stop.signal });
    const ms = performance.now() - started - 200;
    const history = problemOf(await app.history("d"));
    return { ms, history, ...(await next(app, "d")) };
  },
  async race() {
    const outcomes = await race(file);
    return { outcomes, paid: paid() };
  },
  /** The process dies in the model call after the tool. */
  async crash() {
    await open({ file }).say("c", "pay");
    return { paid: paid(), survived: true };
  },
  async "after-crash"() {
    const app = open({ file });
    const how = app.resume ? await app.resume("c") : await app.say("c", "pay");
    return { how: app.resume ? how : `${how}, by the same input again`, paid: paid() };
  },
};

try {
  const value = await questions[question]();
  process.stdout.write(`\n@@${JSON.stringify({ value })}\n`, () => process.exit(0));
} catch (error) {
  process.stdout.write(`\n@@${JSON.stringify({ error: String(error?.message ?? error).slice(0, 200) })}\n`, () =>
    process.exit(0),
  );
}
