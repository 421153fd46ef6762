// The servers that tests need. vitest calls the default export before its workers start: it opens a desk on loopback, and
// a test that needs a server asks there (packages/testkit/src/stores/services.ts), so that nothing starts in a run
// that needs none. All of them end with the run, however it ends.
//
//   node scripts/services.mjs              starts missing servers, prints their addresses, keeps them until Ctrl-C
//   node scripts/services.mjs -- command   starts them for one command
//   node scripts/services.mjs --own        starts new ones in any case
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { ensureInstalled, run } from "./ensure.mjs";

/** @typedef {{ url: string, stop: () => Promise<void> }} Service */

/** @type {Record<string, () => Promise<Service>>} */
const finders = {
  // Loaded when they are asked for: they need installed packages.
  postgres: async () => (await import("./services/postgres.mjs")).findPostgres(),
  redis: async () => (await import("./services/redis.mjs")).findRedis(),
};

/** vitest's global setup: returns its teardown. */
export default async function setup() {
  /** @type {Map<string, Promise<Service>>} */
  const found = new Map();
  const desk = createServer(async ({ url = "/" }, response) => {
    const name = url.slice(1);
    const find = finders[name];
    if (find === undefined) return void response.writeHead(404).end();
    if (!found.has(name)) found.set(name, find());
    try {
      response.end((await found.get(name))?.url);
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await new Promise((resolve) => desk.listen(0, "127.0.0.1", () => resolve(undefined)));
  desk.unref();
  const { port } = /** @type {import("node:net").AddressInfo} */ (desk.address());
  process.env.BELAY_TEST_SERVICES = `http://127.0.0.1:${port}`;
  return async () => {
    desk.close();
    await Promise.allSettled([...found.values()].map(async (service) => (await service).stop()));
  };
}

const own = () => [
  import("./services/postgres.mjs").then(({ ownPostgres }) => ownPostgres()),
  import("./services/redis.mjs").then(({ ownRedis }) => ownRedis()),
];

async function main() {
  await ensureInstalled();
  const given = process.argv.slice(2);
  const [postgres, redis] = await Promise.all(given[0] === "--own" ? own() : [finders.postgres(), finders.redis()]);
  const env = { BELAY_TEST_POSTGRES: postgres.url, BELAY_TEST_REDIS: redis.url };
  const [dashes, command, ...args] = given;
  try {
    if (dashes === "--" && command !== undefined) {
      process.exitCode = await run(command, args, { cwd: process.cwd(), env: { ...process.env, ...env } });
      return;
    }
    for (const [name, url] of Object.entries(env)) console.log(`export ${name}=${url}`);
    const waiting = setInterval(() => {}, 1 << 30);
    await new Promise((resolve) => {
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, resolve);
    });
    clearInterval(waiting);
  } finally {
    await Promise.all([postgres.stop(), redis.stop()]);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await main();
