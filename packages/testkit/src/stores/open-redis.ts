// A client of ioredis. For tests and the processes they start; the library itself is handed one.

import type { RedisClient } from "@belay/core/redis";

export interface OpenRedis extends RedisClient {
  quit(): Promise<unknown>;
  scan(cursor: string, ...args: (string | number)[]): Promise<[next: string, keys: string[]]>;
  unlink(...keys: string[]): Promise<number>;
  on(event: "error", listener: () => void): unknown;
}

export async function openRedis(url: string): Promise<OpenRedis> {
  // Loaded only by a process that has Redis.
  const { default: ioredis } = await import("ioredis");
  const client = new ioredis.Redis(url) as unknown as OpenRedis;
  // A failing command reports its error; a broken connection is no failure.
  client.on("error", () => {});
  return client;
}
