import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, test } from "vitest";
import { ownRedis } from "../../../../../scripts/services/redis.mjs";
import { storeSuite } from "../../testing/index.ts";
import { redisStore } from "./redis.ts";

/** Real time: with it the suite's leases are long enough for a busy machine. */
const advance = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms + 20));

describe("the store in a Redis cluster", () => {
  let server: Awaited<ReturnType<typeof ownRedis>>;

  beforeAll(async () => {
    server = await ownRedis(["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"]);
    const client = new Redis(server.url);
    await client.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
    while (!(await client.call("CLUSTER", "INFO"))?.toString().includes("cluster_state:ok"))
      await new Promise((resolve) => setTimeout(resolve, 50));
    await client.quit();
  });
  afterAll(() => server.stop());

  const make = () => {
    const { port } = new URL(server.url);
    const client = new Cluster([{ host: "127.0.0.1", port: Number(port) }]);
    client.on("error", () => {});
    return { store: redisStore(client), advance, close: () => client.disconnect() };
  };
  // Of one node: which keys may be touched together is held there as among many.
  for (const each of storeSuite(make)) test.skipIf(each.skip !== undefined)(each.name, each.run);
});
