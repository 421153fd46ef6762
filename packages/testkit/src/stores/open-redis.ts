// A client of ioredis. For tests and the processes they start; the library itself is handed one.

import type { RedisClient } from "@belay/core/redis";

export interface OpenRedis extends RedisClient {
  quit(): Promise<unknown>;
  scan(cursor: string, ...args: (string | number)[]): Promise<[next: string, keys: string[]]>;
  unlink(...keys: string[]): Promise<number>;
  on(event: "error", listener: () => void): unknown;
}

export async function openRedis(url: string): Promise<OpenRedis> {
  // By a name that is not read when the library is built: it has no dependency.
  const driver = "ioredis";
  const { Redis } = (await import(/* @vite-ignore */ driver)) as { readonly Redis: new (url: string) => OpenRedis };
  const client = new Redis(url);
  // A failing command reports its error; a broken connection is no failure.
  client.on("error", () => {});
  return client;
}
