// The program behind `npm run console`: serves the tour on loopback until it is told to end.

import { spawn } from "node:child_process";
import { createRunner } from "@belay/core";
import { createAdaptorServer } from "@hono/node-server";
import { demoAgents } from "./agents.ts";
import { startDemo } from "./demo-server.ts";
import { openStore } from "./open-store.ts";

const [verb, folder] = process.argv.slice(2);

if (verb === "--crash") {
  const { store } = await openStore(folder!);
  const runner = createRunner({ agents: demoAgents({ delayMs: 0, crashes: true }), store } as never) as unknown as {
    start(threadId: string, input: string, options: object): Promise<{ readonly result: Promise<unknown> }>;
  };
  const run = await runner.start("import", "Import customers.csv.", { agent: "etl" });
  await run.result;
  throw new Error("The import ended.");
}

const demo = await startDemo({ program: [process.argv[1]!] });
const http = createAdaptorServer({ fetch: demo.fetch, overrideGlobalObjects: false });
http.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EADDRINUSE") throw error;
  http.listen(0, "127.0.0.1");
});
http.on("listening", () => {
  const address = http.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 4180}/`;
  console.log(`console: ${url}  (Ctrl-C ends it; nothing is kept)`);
  if (process.argv.includes("--open")) open(url);
});
http.listen(Number(process.env.PORT ?? 4180), "127.0.0.1");

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    http.close();
    void demo.close().finally(() => process.exit(0));
  });
}

function open(url: string): void {
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["cmd", "/c", "start", url]
        : ["xdg-open", url];
  // A machine without a browser has the printed address.
  spawn(command!, args, { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
