import { dropSchema, freshSchema, lossyCases, openPool, type TestPool } from "@belay/testkit";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { storeSuite } from "../../testing/index.ts";
import type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from "./pool.ts";
import { postgresStore } from "./postgres.ts";

interface Cut extends PostgresClient {
  readonly processID: number;
  readonly connection: { readonly stream: { destroy(): void; pause(): void; resume(): void } };
}

type Ask = (client: Cut, query: PostgresQuery) => Promise<PostgresResult>;

const rounds = async (n: number) => {
  for (let i = 0; i < n; i++) await new Promise<void>((resolve) => setImmediate(resolve));
};

let pool: TestPool;
let admin: TestPool;
const schema = freshSchema();

beforeAll(async () => {
  pool = await openPool();
  admin = await openPool();
});
afterAll(async () => {
  await dropSchema(admin, schema);
  await Promise.all([pool.end(), admin.end()]);
});

/** The fault of every fifth call and its connection. Each is a real connection that is really lost. */
const EVERY = 5;
const faults: Record<string, Ask> = {
  "is cut before the call is sent": async (client, query) => {
    client.connection.stream.destroy();
    return client.query(query);
  },
  "is cut when the call is on its way": async (client, query) => {
    const answer = client.query(query);
    answer.catch(() => {});
    await rounds(1);
    client.connection.stream.destroy();
    return answer;
  },
  "is cut after the commit, before the answer is read": async (client, query) => {
    const answer = client.query(query);
    answer.catch(() => {});
    // The answer of the server is not read from here on: the server is done when it waits for the next call.
    client.connection.stream.pause();
    const state = "SELECT state FROM pg_stat_activity WHERE pid = $1 AND state = 'active'";
    await rounds(1);
    while ((await admin.query({ text: state, values: [client.processID] })).rows.length > 0) await rounds(1);
    client.connection.stream.destroy();
    return answer;
  },
  "is ended by the server": async (client, query) => {
    const answer = client.query(query);
    answer.catch(() => {});
    await admin.query({ text: "SELECT pg_terminate_backend($1)", values: [client.processID] });
    return answer;
  },
  "is slow": async (client, query) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const result = await client.query(query);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return result;
  },
};

/** Cases of hundreds of equal calls: a few calls show the same. */
const long = [
  "many lines come back",
  "a journal of many lines",
  "names of any characters",
  "a thousand open",
  "each method answers a tenant",
  "random calls are answered",
];

function faulty(inner: PostgresPool, fault: Ask): PostgresPool & { readonly faults: () => number } {
  let calls = 0;
  let done = 0;
  return {
    faults: () => done,
    on: (event, listener) => inner.on(event, listener),
    connect: () => inner.connect(),
    async query(query) {
      calls += 1;
      const hit = calls % EVERY === 0;
      const client = (await inner.connect()) as Cut;
      const deaf = () => {};
      client.on("error", deaf);
      let failed = true;
      try {
        if (hit) done += 1;
        const result = await (hit ? fault(client, query) : client.query(query));
        failed = false;
        return result;
      } finally {
        if (!failed) client.removeListener("error", deaf);
        client.release(failed);
      }
    },
  };
}

let turn = 0;
/** All of them in turns. `--all` has a run of the suite for each of them, too. */
const mixed: Ask = (client, query) => {
  turn += 1;
  const all = Object.values(faults);
  return all[turn % all.length]!(client, query);
};
const asked = { "is cut in each way, in turns": mixed, ...(inject("effort").tier === "all" && faults) };
/** Real time: with it the suite's leases are long enough for calls that are tried again. */
const advance = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms + 20));

describe.each(Object.entries(asked))("a store with a connection that %s, again and again", (_, fault) => {
  let cut: ReturnType<typeof faulty>;
  beforeAll(() => {
    cut = faulty(pool, fault);
  });
  for (const { name, run, skip } of storeSuite(() => ({ store: postgresStore(cut, { schema }), advance })))
    if (!long.some((beginning) => name.startsWith(beginning)) && !lossyCases.includes(name))
      test.skipIf(skip)(`P9: ${name}`, run);
  test("P9: it was, all the time", () => {
    expect(cut.faults()).toBeGreaterThan(100);
  });
});
