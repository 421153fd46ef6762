// Starts a server in a folder of its own, behind a keeper that ends it when this process is gone.
import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const MOST_MS = 30_000;

/**
 * Returns a free port. It is below those that systems give out by themselves: while its server is not up yet, or is down, no
 * other program takes it by chance.
 * @returns {Promise<number>}
 */
export async function freePort() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    if (await isFree(port)) return port;
  }
}

/** @returns {Promise<boolean>} */
function isFree(/** @type {number} */ port) {
  return new Promise((resolve) => {
    const server = createServer().on("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** Returns the user for a server: servers refuse to run as root. Undefined if we are not root. */
export function unprivileged() {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    try {
      const id = (/** @type {string} */ flag) => Number(execFileSync("id", [flag, name], { stdio: "pipe" }));
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // There is no such user here.
    }
  }
  throw new Error("PostgreSQL does not run as root, and there is neither a user `postgres` nor `nobody`.");
}

/** A folder that the server owns. @param {string} name @param {{ uid: number, gid: number }} [user] */
export function serverFolder(name, user) {
  const folder = mkdtempSync(join(tmpdir(), `belay-${name}-`));
  if (user) chownSync(folder, user.uid, user.gid);
  return folder;
}

/**
 * @typedef {object} Kept
 * @property {(signal: NodeJS.Signals) => Promise<void>} halt ends the server; `again` starts it anew
 * @property {() => Promise<void>} again
 * @property {() => Promise<void>} stop ends the server for good, and removes its folder
 */

/**
 * @param {{ command: string, args: string[], folder: string, signal: NodeJS.Signals, user?: { uid: number, gid: number } }} server
 * @param {() => Promise<unknown>} answers resolves once the server answers, rejects while it does not
 * @returns {Promise<Kept>}
 */
export async function keep(server, answers) {
  const program = fileURLToPath(new URL("keeper.mjs", import.meta.url));
  const keeper = spawn(process.execPath, [program, JSON.stringify(server)], {
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = new Promise((resolve) => keeper.on("exit", resolve));
  const said = createInterface({ input: keeper.stdout });
  const heard = (/** @type {string} */ what) =>
    new Promise((resolve) => said.on("line", (line) => line === what && resolve(undefined)));
  const tell = async (/** @type {string} */ line, /** @type {string} */ answer) => {
    const done = heard(answer);
    hold(true);
    keeper.stdin.write(`${line}\n`);
    await Promise.race([done, exited]);
    hold(false);
  };
  // It keeps no process alive but one that waits for it: it ends with it.
  const hold = (/** @type {boolean} */ held) => {
    for (const each of [keeper, keeper.stdin, keeper.stdout]) /** @type {any} */ (each)[held ? "ref" : "unref"]();
  };
  const again = async () => {
    await tell("start", "started");
    await until(answers, server.folder);
  };
  const stop = async () => {
    hold(true);
    keeper.stdin.end();
    await exited;
  };
  try {
    await again();
  } catch (error) {
    await stop();
    throw error;
  }
  return { halt: (signal) => tell(`stop ${signal}`, "stopped"), again, stop };
}

async function until(/** @type {() => Promise<unknown>} */ answers, /** @type {string} */ folder) {
  const giveUp = Date.now() + MOST_MS;
  for (;;) {
    try {
      await answers();
      return;
    } catch (error) {
      if (Date.now() < giveUp) {
        await new Promise((resolve) => setTimeout(resolve, 25));
        continue;
      }
      const log = join(folder, "log");
      const words = existsSync(log) ? readFileSync(log, "utf8").split("\n").slice(-15).join("\n") : "";
      throw new Error(`A server in ${folder} does not answer: ${error}\n${words}`);
    }
  }
}

/** @param {string} folder */
export function dropFolder(folder) {
  rmSync(folder, { recursive: true, force: true });
}
