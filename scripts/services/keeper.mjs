// Keeps one server for its parent process: it takes the lines `start` and `stop <signal>`, and answers `started` and
// `stopped`. When its input ends, because the parent is done, was interrupted or was killed, the server ends and its
// folder is removed.
import { spawn } from "node:child_process";
import { closeSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const { command, args, folder, user, signal } = JSON.parse(process.argv[2]);
let server;
let ended = Promise.resolve();
/** Whether the server should run: false from `stop` to `start`. */
let wanted = false;
/** A server that ends so soon could not start: what a killed one has left, such as its shared memory, may not be gone yet. */
const SOON_MS = 5_000;
const AGAIN_MS = 250;

// The parent may be gone already.
process.stdout.on("error", () => {});
// Ctrl-C in a terminal reaches all processes: the server ends when its tests have.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => {});

function start() {
  wanted = true;
  const began = Date.now();
  const log = openSync(join(folder, "log"), "a");
  server = spawn(command, args, { cwd: folder, ...user, stdio: ["ignore", log, log] });
  closeSync(log);
  ended = new Promise((resolve) => {
    server.on("exit", resolve);
    server.on("error", resolve);
  });
  const mine = server;
  void ended.then(() => {
    if (server === mine) server = undefined;
    if (wanted && Date.now() - began < SOON_MS) setTimeout(() => wanted && server === undefined && start(), AGAIN_MS);
  });
}

async function stop(by) {
  wanted = false;
  server?.kill(by);
  const late = setTimeout(() => server?.kill("SIGKILL"), 10_000);
  await ended;
  clearTimeout(late);
}

for await (const line of createInterface({ input: process.stdin })) {
  const [what, by] = line.split(" ");
  if (what === "start") start();
  else await stop(by);
  process.stdout.write(what === "start" ? "started\n" : "stopped\n");
}
await stop(signal);
rmSync(folder, { recursive: true, force: true });
