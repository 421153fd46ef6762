// A bus for hints and drafts of a store that is elsewhere. One connection follows all channels; it is opened with the first.

import type { Bus } from "../bus.ts";
import { holdProcess, type RedisClient, type RedisSubscriber } from "./client.ts";

interface Listener {
  readonly heard: (text: string) => void;
  readonly joined: () => void;
}

/**
 * Returns a bus on Redis for `postgresStore(pool, { bus })`: past about ten processes, publishing by Redis costs less than NOTIFY. The
 * client is `ioredis`'s, and stays yours to close. Redis keeps nothing of it.
 *
 * @example
 * ```ts
 * const store = postgresStore(pool, { bus: redisBus(new Redis(url)) });
 * ```
 */
export function redisBus(client: Pick<RedisClient, "publish" | "duplicate" | "once">): Bus {
  const channels = new Map<string, Set<Listener>>();
  let subscriber: RedisSubscriber | undefined;

  function open(): RedisSubscriber {
    const made = client.duplicate();
    // The store's own calls go elsewhere; while Redis is away, watchers look at the rows.
    made.on("error", () => {});
    made.on("connect", () => holdProcess(made, false));
    made.on("message", (channel, text) => {
      for (const { heard } of channels.get(channel) ?? []) heard(text);
    });
    // ioredis itself subscribes again.
    made.on("ready", () => {
      for (const listeners of channels.values()) for (const { joined } of listeners) joined();
    });
    client.once("end", () => made.disconnect());
    return made;
  }

  return {
    async publish(channel, text) {
      await client.publish(channel, text);
    },
    subscribe(channel, heard, joined) {
      subscriber ??= open();
      const listener = { heard, joined };
      const listeners = channels.get(channel) ?? new Set();
      channels.set(channel, listeners.add(listener));
      const mine = subscriber;
      if (listeners.size === 1) mine.subscribe(channel).then(joined, () => {});
      else queueMicrotask(joined);
      return () => {
        if (!listeners.delete(listener) || listeners.size > 0) return;
        channels.delete(channel);
        mine.unsubscribe(channel).catch(() => {});
      };
    },
  };
}
