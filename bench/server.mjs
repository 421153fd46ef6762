// What does the way over HTTP cost? A server on loopback and a store in memory: the replay of a long thread as server-sent
// events, of its last 200 facts, and a stop, from the request to its receipt.

import { once } from "node:events";
import { agent, createRunner } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { belayServer } from "@belay/server";
import { createAdaptorServer } from "@hono/node-server";
import { answer, inTurns, median, quantile } from "./measure.mjs";

const FACTS = 10_000;
const STOPS = 60;

let stalls = false;
const model = scriptedModel(() => (stalls ? [{ text: "A" }, { stall: true }] : "A rope."));
const runner = createRunner({ agent: agent({ name: "guide", model }) });
const server = belayServer({ runner, rate: false });
const http = createAdaptorServer({ fetch: server.fetch });
http.listen(0, "127.0.0.1");
await once(http, "listening");
const base = `http://127.0.0.1:${http.address().port}/v1/threads/t`;
const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
const post = async (path, body) =>
  (await fetch(`${base}${path}`, { method: "POST", headers, body: JSON.stringify(body) })).json();

for (let head = 0; head < FACTS; ) {
  await (await runner.start("t", "What is a belay?")).result;
  ({ head } = await runner.look("t"));
}

/** Milliseconds to the end of the replay. */
const replay = (query) => async () => {
  const started = performance.now();
  const gone = new AbortController();
  const response = await fetch(`${base}/events?drafts=0${query}`, { headers, signal: gone.signal });
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
answer({ name: "the last 200 of them", unit: "ms", measured: median(found.tail), target: 100 });

stalls = true;
const stops = [];
for (let i = 0; i < STOPS; i++) {
  await post("/runs", { input: "Go." });
  await new Promise((resolve) => setTimeout(resolve, 5));
  const started = performance.now();
  const { accepted } = await post("/interrupt", {});
  if (accepted) stops.push(performance.now() - started);
}
const all = `median ${median(stops).toFixed(1)} ms`;
answer({
  name: `a stop over HTTP to its receipt, p95 of ${stops.length} (${all})`,
  unit: "ms",
  measured: quantile(stops, 0.95),
  target: 50,
});
await server.close({ timeoutMs: 1000 });
http.close();
http.closeAllConnections();
