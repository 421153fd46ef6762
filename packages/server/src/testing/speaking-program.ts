// A server in a process of its own. Its agent says a given number of pieces a second, for half a second. `/heap` returns the
// bytes in use after a collection: of the server alone, because its readers are in another process.

import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { agent, createRunner, type Model } from "@belay/core";
import { createAdaptorServer } from "@hono/node-server";
import { belayServer } from "../server.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

function heap(): Response {
  collect();
  return Response.json(process.memoryUsage().heapUsed);
}

const { token, perSecond } = JSON.parse(process.argv[3]!) as { token: string; perSecond: number };
const pieces = Array.from({ length: perSecond / 2 }, (_, i) => `word ${i} of the rope `.repeat(4));

const model: Model = {
  id: "speaker",
  async *stream() {
    const started = performance.now();
    for (const [i, text] of pieces.entries()) {
      yield { type: "text", text };
      const due = started + ((i + 1) * 1000) / perSecond;
      await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
    }
    yield { type: "finish", finish: "stop" };
  },
};
const runner = createRunner({ agent: agent({ name: "guide", model }) });
const server = belayServer({ runner, token, rate: false });
const http = createAdaptorServer({
  fetch: (request, env) => (new URL(request.url).pathname === "/heap" ? heap() : server.fetch(request, env)),
});
http.listen(0, "127.0.0.1", () => console.log(`serves ${(http.address() as AddressInfo).port}`));
