import { randomUUID } from "node:crypto";
import { type BreakingWire, breakingWire, longCases, lossyCases, service, type WireFault } from "@belay/testkit";
import { redisServer } from "@belay/testkit/processes";
import { Redis, type RedisOptions } from "ioredis";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { storeSuite } from "../../testing/index.ts";
import { redisStore } from "./redis.ts";

// Each breaks some of the sent messages; a new connection sends some messages first.
const every = (n: number, what: WireFault) => (piece: number) => (piece % n === n - 1 ? what : "none");
const wires: Record<string, (piece: number) => WireFault> = {
  "breaks before a message arrives": every(43, "before"),
  "breaks when it has happened, before the answer arrives": every(43, "after"),
  "is late now and then": every(43, "late"),
};

/** `npm test` has the one wire that is worst: the answer is lost. */
const { everyVariant } = inject("effort");

const clients: Record<string, RedisOptions> = {
  "resends commands without an answer": {},
  "leaves it to the store to send again": { maxRetriesPerRequest: 0 },
};

for (const [how, fault] of Object.entries(wires)) {
  for (const [who, options] of Object.entries(clients)) {
    if (how.startsWith("is late") && who.startsWith("leaves")) continue;
    const worst = how.startsWith("breaks when") && who.startsWith("resends");
    if (!worst && !everyVariant) continue;
    describe(`P9: the store in Redis behind a wire that ${how}, by a client that ${who}`, () => {
      let wire: BreakingWire;
      let url: URL;

      beforeAll(async () => {
        url = new URL(await service("redis"));
        wire = await breakingWire({ host: url.hostname, port: Number(url.port || 6379) }, fault);
      });
      afterAll(async () => {
        if (!how.startsWith("is late")) expect(wire.broken).toBeGreaterThan(10);
        await wire.close();
      });

      const make = async () => {
        const through = new URL(url);
        through.port = String(wire.port);
        const client = new Redis(through.href, { ...options, retryStrategy: () => 1 });
        client.on("error", () => {});
        const prefix = `belay-test-${randomUUID()}`;
        const close = async () => {
          client.disconnect();
          const there = new URL(url);
          there.searchParams.set("prefix", prefix);
          await redisServer.remove(there.href);
        };
        return { store: redisStore(client, { prefix }), close };
      };
      for (const { name, run, skip } of storeSuite(make))
        if (((worst && everyVariant) || !longCases.includes(name)) && !lossyCases.includes(name))
          test.skipIf(skip)(name, run);
    });
  }
}
