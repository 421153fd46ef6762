// The cost of HTTP. A server on loopback and a store in memory: the replay of a long thread as server-sent
// events, of its last 200 facts, a stop, text as it streams, and an idle server.

import { once } from "node:events";
import { setImmediate as macrotask } from "node:timers/promises";
import { agent, createRunner } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { belayServer } from "@belay/server";
import { createAdaptorServer } from "@hono/node-server";
import { answer, inTurns, median } from "./measure.mjs";

const FACTS = 10_000;
const STOPS = 60;
const IDLE_MS = 5000;
const CHUNKS = 20_000;
const TEXT = Array.from({ length: CHUNKS }, (_, i) => `word ${i} `).join("");

let [stalls, speaks] = [false, false];
const scripted = scriptedModel(() => (stalls ? [{ text: "A" }, { stall: true }] : "A rope."));
const model = {
  id: "guide",
  async *stream(request, options) {
    if (!speaks) return yield* scripted.stream(request, options);
    // As from a socket: each chunk is a turn of the event loop.
    for (let i = 0; i < CHUNKS; i++) {
      await macrotask();
      yield { type: "text", text: `word ${i} ` };
    }
    yield { type: "finish", finish: "stop" };
  },
};
const runner = createRunner({ agent: agent({ name: "guide", model }) });
const server = belayServer({ runner, rate: false });
const http = createAdaptorServer({ fetch: server.fetch });
http.listen(0, "127.0.0.1");
await once(http, "listening");
const base = `http://127.0.0.1:${http.address().port}/v1/threads`;
const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
const post = async (path, body) =>
  (await fetch(`${base}/${path}`, { method: "POST", headers, body: JSON.stringify(body) })).json();

for (let head = 0; head < FACTS; ) {
  await (await runner.start("t", "What is a belay?")).result;
  ({ head } = await runner.look("t"));
}

/** Milliseconds to the end of the replay. */
const replay = (query) => async () => {
  const started = performance.now();
  const gone = new AbortController();
  const response = await fetch(`${base}/t/events?drafts=0${query}`, { headers, signal: gone.signal });
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    rest = (rest + chunk).slice(-200 - chunk.length);
    if (rest.includes("event: live")) break;
  }
  const took = performance.now() - started;
  gone.abort();
  return took;
};

/** The same facts, read without a server. */
const direct = async () => {
  const started = performance.now();
  const { head } = await runner.look("t");
  const gone = new AbortController();
  for await (const event of runner.events("t", { signal: gone.signal })) {
    JSON.stringify(event);
    if (event.seq === head) break;
  }
  return performance.now() - started;
};

const found = await inTurns({ whole: replay(""), tail: replay("&tail=200"), direct }, { rounds: 15 });
answer({
  name: `replay of ${FACTS.toLocaleString("en")} facts over HTTP, median of 15; the floor reads them from the runner`,
  unit: "ms",
  measured: median(found.whole),
  floor: median(found.direct),
  target: 1000,
});
answer({
  name: "the last 200 of them, as a part of the time of all",
  unit: "%",
  measured: (100 * median(found.tail)) / median(found.whole),
  target: 10,
});

/** Milliseconds from a stop to its receipt. */
let stopped = 0;
const stopping = (stop) => async () => {
  const threadId = `stop-${stopped++}`;
  await (await runner.start(threadId, "Go.")).started;
  await new Promise((resolve) => setTimeout(resolve, 5));
  const started = performance.now();
  const { accepted } = await stop(threadId);
  if (!accepted) throw new Error("The stop was not accepted.");
  return performance.now() - started;
};
stalls = true;
const stops = await inTurns(
  {
    kernel: stopping((threadId) => runner.interrupt(threadId)),
    http: stopping((threadId) => post(`${threadId}/interrupt`, {})),
  },
  { rounds: STOPS },
);
stalls = false;
answer({
  name: `a stop over HTTP to its receipt, median of ${STOPS}; the floor stops by the runner`,
  unit: "ms",
  measured: median(stops.http),
  floor: median(stops.kernel),
  judged: "over",
  target: 5,
});

/** Returns microseconds a chunk, from the start of a run to its end at a reader that had joined before. */
let streams = 0;
const streaming = (read) => async () => {
  const threadId = `stream-${streams++}`;
  await (await runner.start(threadId, "Hello.")).result;
  const { head } = await runner.look(threadId);
  const gone = new AbortController();
  const reading = (await read(threadId, head, gone.signal))();
  speaks = true;
  const started = performance.now();
  await runner.start(threadId, "Speak.");
  const text = await reading;
  const took = performance.now() - started;
  speaks = false;
  gone.abort();
  // Several chunks may arrive as one event: the text is what counts, and none of it may be missing.
  if (text !== TEXT) throw new Error(`A reader got ${text.length} of ${TEXT.length} characters.`);
  return (took * 1000) / CHUNKS;
};
const joined = (text, event) => {
  if (event.offset !== text.length) throw new Error(`${text.length} characters, then a piece at ${event.offset}.`);
  return text + event.text;
};
const inProcess = streaming(async (threadId, after, signal) => async () => {
  let text = "";
  for await (const event of runner.events(threadId, { after, signal })) {
    if (event.type === "text-delta") text = joined(text, event);
    if (event.type === "run-end") return text;
  }
});
const overHttp = streaming(async (threadId, after, signal) => {
  const response = await fetch(`${base}/${threadId}/events?after=${after}`, { headers, signal });
  return async () => {
    let [text, rest] = ["", ""];
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + piece).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        if (block.startsWith("event: text-delta")) {
          const event = JSON.parse(block.slice(block.indexOf("data: ") + 6));
          text = joined(text, event);
        } else if (block.includes("event: run-end")) return text;
      }
    }
  };
});
const rates = await inTurns({ inProcess, overHttp }, { rounds: 9 });
answer({
  name: `a chunk of text through the server, ${CHUNKS.toLocaleString("en")} a run, median of 9; the floor is runner.events in process`,
  unit: "µs",
  measured: median(rates.overHttp),
  floor: median(rates.inProcess),
  judged: "ratio",
  target: 1.25,
});

// Readers that wait cost next to nothing: ten streams, a worker, and nothing happens.
const idle = Array.from({ length: 10 }, () => new AbortController());
for (const { signal } of idle) fetch(`${base}/t/events?tail=1&changes=1`, { headers, signal }).catch(() => {});
await new Promise((resolve) => setTimeout(resolve, 1000));
const before = process.cpuUsage();
await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
const { user, system } = process.cpuUsage(before);
answer({
  name: "an idle server with ten readers, of one core",
  unit: "%",
  measured: (100 * (user + system)) / 1000 / IDLE_MS,
  target: 1,
});
for (const each of idle) each.abort();
await server.close({ timeoutMs: 1000 });
http.close();
http.closeAllConnections();
