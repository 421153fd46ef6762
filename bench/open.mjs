// The cost of continuing a thread in another process, by the length of its history. A runner that has never
// seen the thread, on the memory store: to the open session, and from resume() to the model's request.

import { memoryStore } from "@belay/core";
import { add, runnerOn } from "./fakes.mjs";
import { answer, inTurns, least } from "./measure.mjs";

const words = "words of someone who talks a lot ".padEnd(200, "and says ");
const usage = { inputTokens: 10, outputTokens: 5 };
const key = { tenant: "default", threadId: "thread" };

/** Answers by `next` of the number of messages: a call, an answer, or half an answer and then nothing. */
function model(next, asked = () => {}) {
  return {
    id: "fake/native",
    async *stream({ messages }) {
      asked();
      const what = next(messages.length);
      if (what === "call") yield { type: "call", id: `call_${messages.length}`, tool: "add", args: '{"a":1,"b":2}' };
      else yield { type: "text", text: words };
      if (what === "stall") await new Promise(() => {});
      yield { type: "finish", finish: what === "call" ? "tool-calls" : "stop", usage };
    },
  };
}

/** Runs, then stops in the middle of the last answer: the lines of a paused thread with `length` messages. */
async function pausedThread(length, kind) {
  const store = memoryStore();
  const next = (sent) => (sent >= length - 1 ? "stall" : kind);
  const session = await runnerOn(model(next), { store, tools: [add] }).open(key.threadId);
  for (;;) {
    const run = session.run(words);
    let over = false;
    for await (const event of run) {
      if (event.type !== "text-delta" || session.messages.length < length - 1) continue;
      await session.interrupt();
      over = true;
      break;
    }
    await run.result;
    if (over) break;
  }
  if (session.messages.length !== length) throw new Error(`The thread has ${session.messages.length} messages.`);
  return (await store.load(key)).lines;
}

/** A store of its own with those lines, as if another process had written them. */
async function storeWith(lines) {
  const store = memoryStore();
  let expect = 0;
  for (const { count, at, body } of lines) {
    const writer = { take: "another", ttlMs: 1000 };
    const more = { writer, release: true, agent: "bench", state: "paused" };
    await store.append(key, { appendId: `${expect}`, expect, count, at, body, ...more });
    expect += count;
  }
  return store;
}

const kinds = { answer: "questions and answers", call: "one run of tool turns" };

for (const length of [100, 1000]) {
  for (const [kind, title] of Object.entries(kinds)) {
    const lines = await pausedThread(length, kind);
    const { both } = await inTurns(
      {
        async both() {
          let askedAt = 0;
          const talker = model(
            () => "answer",
            () => (askedAt = performance.now()),
          );
          const runner = runnerOn(talker, { store: await storeWith(lines), tools: [add] });
          const started = performance.now();
          const session = await runner.open(key.threadId);
          const opened = performance.now();
          const { status } = await session.resume().result;
          if (status !== "completed") throw new Error(`The run ended ${status}.`);
          return { open: (opened - started) * 1000, resume: (askedAt - opened) * 1000 };
        },
      },
      { rounds: length >= 1000 ? 60 : 200, warmup: 20 },
    );
    for (const [what, name] of [
      ["open", "open()"],
      ["resume", "resume() to the request"],
    ]) {
      const measured = least(both.map((sample) => sample[what]));
      answer({ name: `${name}, ${length} messages, ${title}`, unit: "µs", measured });
    }
  }
}
