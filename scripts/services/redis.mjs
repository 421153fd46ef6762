// A Redis for tests: the one that BELAY_TEST_REDIS names, else one on loopback that lets us in, else our own, which
// writes to its disk before it answers.
import { spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { Redis } from "ioredis";
import { freePort, keep, serverFolder } from "./keep.mjs";

/** @returns {Promise<{ url: string, stop: () => Promise<void> }>} */
export async function findRedis() {
  const named = process.env.BELAY_TEST_REDIS;
  if (named) {
    await ask(named);
    return { url: named, stop: async () => {} };
  }
  if ((await ping(6379).catch(() => "")).startsWith("+PONG"))
    return { url: "redis://127.0.0.1:6379", stop: async () => {} };
  return ownRedis();
}

/** A server of one test: `halt` and `again` restart it. */
export async function ownRedis(/** @type {string[]} */ settings = []) {
  const command = program();
  const folder = serverFolder("redis");
  const port = await freePort();
  const disk = ["--dir", folder, "--appendonly", "yes", "--appendfsync", "always", "--save", ""];
  const args = ["--port", String(port), "--bind", "127.0.0.1", ...disk, ...settings];
  const answers = async () => {
    const said = await ping(port);
    if (!said.startsWith("+PONG")) throw new Error(said);
  };
  const kept = await keep({ command, args, folder, signal: "SIGTERM" }, answers);
  return { url: `redis://127.0.0.1:${port}`, ...kept };
}

function program() {
  if (works("redis-server", ["--version"])) return "redis-server";
  if (process.getuid?.() === 0 && works("apt-get", ["--version"])) install();
  if (works("redis-server", ["--version"])) return "redis-server";
  const how = "Start one and set BELAY_TEST_REDIS=redis://host:port, or: sudo apt-get install -y redis-server";
  throw new Error(`There is no Redis that tests could use.\n${how}`);
}

/** Without starting it: Debian's packages start their servers, unless this file says no. */
function install() {
  const policy = "/usr/sbin/policy-rc.d";
  const ours = !existsSync(policy);
  if (ours) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  const apt = (/** @type {string[]} */ ...args) =>
    works("apt-get", ["-qq", ...args], { DEBIAN_FRONTEND: "noninteractive" });
  try {
    const wanted = ["install", "-y", "--no-install-recommends", "redis-server"];
    if (!apt(...wanted)) apt("update") && apt(...wanted);
  } finally {
    if (ours) rmSync(policy, { force: true });
  }
}

function works(/** @type {string} */ command, /** @type {string[]} */ args, env = {}) {
  return spawnSync(command, args, { stdio: "ignore", env: { ...process.env, ...env } }).status === 0;
}

async function ask(/** @type {string} */ url) {
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1, retryStrategy: () => null });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.ping();
  } catch (error) {
    throw new Error(`BELAY_TEST_REDIS names ${url}, which does not answer: ${error}`);
  } finally {
    client.disconnect();
  }
}

/** Returns the reply to PING on that port. @returns {Promise<string>} */
function ping(/** @type {number} */ port) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", timeout: 1_000 });
    const end = (/** @type {() => void} */ how) => {
      socket.destroy();
      how();
    };
    socket.on("connect", () => socket.write("PING\r\n"));
    socket.on("data", (data) => end(() => resolve(data.toString())));
    socket.on("error", (error) => end(() => reject(error)));
    socket.on("timeout", () => end(() => reject(new Error("no answer"))));
  });
}
