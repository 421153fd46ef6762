import type { EngineKit } from "@belay/testkit/engines";
import { Redis } from "ioredis";

/** BullMQ as the tests of this package use it, and the bounds that its README states. */
export const kit: EngineKit = {
  engine: "bullmq",
  latenessMs: 1_000,
  takeoverMs: 4_000,
  order: "fifo",
  stored: async (settings) => {
    const redis = new Redis((settings as { url: string }).url);
    const words: string[] = [];
    for (const key of await redis.keys("*")) {
      if ((await redis.type(key)) === "hash") words.push(JSON.stringify(await redis.hgetall(key)));
      if ((await redis.type(key)) === "stream") words.push(JSON.stringify(await redis.xrange(key, "-", "+")));
    }
    redis.disconnect();
    return words.join("\n");
  },
};
