// The cost of a durable step in Redis. A server of its own that writes to this machine's disk before it answers
// (`appendonly yes`, `appendfsync always`), over its loopback: a network adds its own time. Server and programs share
// the machine's cores.

import { redisStore } from "@belay/core/redis";
import { Redis } from "ioredis";
import { ownRedis } from "../scripts/services/redis.mjs";
import { askServer } from "./on-server.mjs";

function connect(url) {
  const client = new Redis(url);
  return {
    store: (name) => redisStore(client, { prefix: name }),
    plainWrite: async (name) => (body) => client.rpush(name, body),
    filled: async () => {},
    end: () => client.quit(),
  };
}

await askServer(import.meta.url, { start: ownRedis, connect, plainWrites: "pushes" });
