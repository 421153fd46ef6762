import { factProblems, factsOf, openKit, openPool, type TestPool } from "@belay/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownPostgres } from "../../../../../scripts/services/postgres.mjs";
import { jsonSchema, tool } from "../../index.ts";
import { postgresStore } from "./postgres.ts";

const key = { tenant: "default", threadId: "thread" };
let server: Awaited<ReturnType<typeof ownPostgres>>;
const pools: TestPool[] = [];

beforeAll(async () => {
  server = await ownPostgres();
});
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await server.stop();
});

async function opened(): Promise<TestPool> {
  const pool = await openPool({ url: server.url });
  pools.push(pool);
  return pool;
}

describe("a PostgreSQL that is restarted", () => {
  test.each([
    ["ends in order", "SIGINT"],
    ["is killed, and puts its files in order when it begins again", "SIGQUIT"],
  ] as const)(
    "P9: in the middle of a run, and %s: nothing is lost or doubled, and the run continues",
    async (_, signal) => {
      const schema = `restart_${signal.toLowerCase()}`;
      const store = postgresStore(await opened(), { schema, retryMs: 60_000 });
      const turns = 40;
      const ran: string[] = [];
      let restarted: Promise<void> | undefined;
      const restart = async () => {
        await server.halt(signal);
        await server.again();
      };
      const count = tool({
        name: "count",
        description: "",
        input: jsonSchema({ type: "object" }),
        execute: (_args, { callId }) => {
          ran.push(callId);
          // From here on the server is gone for a while, wherever the run is by then.
          if (ran.length === 15) restarted = restart();
          return ran.length;
        },
      });
      const calls = Array.from({ length: turns }, (_, i) => [{ call: "count", id: `c${i}` }]);
      const kit = await openKit([...calls, "done"], {
        store,
        tools: [count],
        leaseTtlMs: 60_000,
      });
      expect(await kit.session.run("go").result).toMatchObject({ status: "completed", text: "done" });
      await restarted;
      expect(ran).toEqual(Array.from({ length: turns }, (_, i) => `c${i}`));
      const facts = await factsOf(store);
      expect(factProblems(facts)).toEqual([]);
      expect(facts.filter(({ type }) => type === "tool-end")).toHaveLength(turns);
      expect(kit.problems()).toEqual([]);
      await kit.runner.close();
    },
  );

  test("P6: watchers are called for writes after it, and were called to look again", async () => {
    const [watching, writing] = [postgresStore(await opened(), { pollMs: 60_000 }), postgresStore(await opened())];
    const common = { count: 1, at: 1, body: "{}", agent: "helper", state: "paused", release: true } as const;
    const append = (expect: number) => {
      const writer = { take: "me", ttlMs: 1_000 };
      return writing.append(key, { ...common, expect, appendId: `${expect}`, writer });
    };
    let told = 0;
    const leave = watching.watch(key, () => {
      told += 1;
    });
    const hears = async () => {
      for (const before = told; told === before; ) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    await hears();
    await Promise.all([hears(), append(0)]);
    await server.halt("SIGINT");
    await Promise.all([hears(), server.again()]);
    await Promise.all([hears(), append(1)]);
    leave();
  });

  test("P9: while it is away each method throws STORE_FAILED; when it is back they work again", async () => {
    const store = postgresStore(await opened(), { schema: "gone", retryMs: 1_500 });
    expect(await store.threads("default")).toEqual([]);
    await server.halt("SIGINT");
    const failed = { code: "STORE_FAILED" };
    await expect(store.threads("default")).rejects.toMatchObject(failed);
    await expect(store.load(key)).rejects.toMatchObject({ ...failed, details: { threadId: "thread" } });
    await expect(store.send(key, { key: "k", kind: "stop", body: "", at: 1 })).rejects.toMatchObject(failed);
    await server.again();
    expect(await store.threads("default")).toEqual([]);
  });
});
