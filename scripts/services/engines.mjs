// The engines that threads are dispatched on, each started alone from npm or Debian packages, for tests and examples.
import { Redis } from "ioredis";
import pg from "pg";
import { balancer } from "./balancer.mjs";
import { freePort } from "./keep.mjs";

/**
 * An engine. `settings` has the data that a process needs to use it, as JSON; `place` is its number among the workers.
 * @typedef {object} Engine
 * @property {(place?: number) => object} settings
 * @property {(signal: NodeJS.Signals) => Promise<void>} halt ends the server; `again` starts it anew
 * @property {() => Promise<void>} again
 * @property {() => Promise<void>} wipe deletes all data of the engine
 * @property {() => Promise<void>} stop
 */

/** @type {Record<"bullmq" | "dbos" | "restate", (workers: number) => Promise<Engine>>} */
const starts = {
  async bullmq() {
    const { ownRedis } = await import("./redis.mjs");
    const { url, ...redis } = await ownRedis(["--maxmemory-policy", "noeviction"]);
    const wipe = async () => {
      const client = new Redis(url);
      await client.flushall();
      client.disconnect();
    };
    return { ...redis, wipe, settings: () => ({ engine: "bullmq", url }) };
  },
  async dbos() {
    const { ownPostgres } = await import("./postgres.mjs");
    const { url, ...postgres } = await ownPostgres();
    const wipe = async () => {
      const client = new pg.Client({ connectionString: url });
      try {
        await client.connect();
        await dropSchema(client, "dbos");
      } finally {
        await client.end();
      }
    };
    return { ...postgres, wipe, settings: () => ({ engine: "dbos", url }) };
  },
  async restate(workers) {
    const { ownRestate } = await import("./restate.mjs");
    const ports = await Promise.all(Array.from({ length: workers }, freePort));
    const before = await balancer(ports);
    const { ingress, admin, ...restate } = await ownRestate();
    const stop = async () => {
      await restate.stop();
      await before.stop();
    };
    const settings = (/** @type {number | undefined} */ place) => {
      const port = place === undefined ? undefined : ports[place % ports.length];
      return { engine: "restate", ingress, admin, url: before.url, ...(port !== undefined && { port }) };
    };
    return { ...restate, stop, settings };
  },
};

/**
 * Deletes a schema that other processes use. A transaction of theirs may wait for one of its tables and hold another: then
 * PostgreSQL refuses one of the two.
 */
async function dropSchema(/** @type {pg.Client} */ client, /** @type {string} */ schema) {
  for (;;) {
    try {
      return await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    } catch (error) {
      if (/** @type {{ code?: unknown }} */ (error).code !== "40P01") throw error;
    }
  }
}

export const engineNames = /** @type {(keyof typeof starts)[]} */ (Object.keys(starts));

/** Starts an engine for that many workers. @param {keyof typeof starts} name */
export function startEngine(name, workers = 1) {
  return starts[name](workers);
}
