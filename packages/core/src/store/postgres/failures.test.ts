import { dropSchema, freshSchema, openPool, service, type TestPool, until } from "@belay/testkit";
import { bundlePrograms, startChild } from "@belay/testkit/processes";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BelayError, type Store } from "../../index.ts";
import type { Append, RequestRow } from "../store.ts";
import type { PostgresClient, PostgresPool } from "./pool.ts";
import { postgresStore } from "./postgres.ts";

const key = { tenant: "tenant", threadId: "thread" };
let pool: TestPool;
let schema: string;
let store: Store;
const schemas: string[] = [];
let appends = 0;

beforeAll(async () => {
  pool = await openPool();
});
beforeEach(() => {
  schema = freshSchema();
  schemas.push(schema);
  store = postgresStore(pool, { schema });
});
afterAll(async () => {
  for (const each of schemas) await dropSchema(pool, each);
  await pool.end();
});

const sql = async (text: string, values: unknown[] = []) => (await pool.query({ text, values })).rows;

function taking(expect: number, more: Partial<Append> = {}): Append {
  appends += 1;
  const common = {
    count: 1,
    at: 1,
    body: `{"n":${appends}}`,
    agent: "helper",
    state: "paused",
    release: true,
  } as const;
  return { ...common, appendId: `${appends}`, expect, writer: { take: "me", ttlMs: 60_000 }, ...more };
}

describe("a database that fails", () => {
  test("P8: on a full disk an append throws STORE_FULL and writes nothing; with room it is written", async () => {
    await store.append(key, taking(0));
    const before = await store.load(key);
    // PostgreSQL's own error, from within the transaction: the writes before it are undone.
    await sql(`CREATE FUNCTION "${schema}".no_room() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE disk_full USING MESSAGE = 'could not extend file: No space left on device'; END $$`);
    await sql(`CREATE TRIGGER no_room BEFORE INSERT ON "${schema}".entry EXECUTE FUNCTION "${schema}".no_room()`);
    const next = taking(1, { raise: [{ id: "r", body: "" }], remember: [{ id: "r", at: 1, body: "" }] });
    await expect(store.append(key, next)).rejects.toMatchObject({ code: "STORE_FULL" });
    expect(await store.load(key)).toEqual(before);
    expect([await store.requests("tenant"), await store.rules("tenant")]).toEqual([[], []]);
    await sql(`DROP TRIGGER no_room ON "${schema}".entry`);
    expect(await store.append(key, next)).toMatchObject({ ok: true });
  });

  test("P17: of a newer version, it is refused and left as it is", async () => {
    await store.append(key, taking(0));
    await sql(`UPDATE "${schema}".version SET steps = 99, oldest = NULL`);
    const late = postgresStore(pool, { schema });
    await expect(late.load(key)).rejects.toMatchObject({ code: "STORE_VERSION", details: { found: 99 } });
    expect(await sql(`SELECT steps FROM "${schema}".version`)).toEqual([{ steps: 99 }]);
  });

  test("P17: a database of a newer version that this one can share works as before and keeps its version", async () => {
    await store.append(key, taking(0));
    await sql(`ALTER TABLE "${schema}".thread ADD COLUMN later text`);
    await sql(`UPDATE "${schema}".version SET steps = 99, oldest = 1`);
    const old = postgresStore(pool, { schema });
    expect(await old.append(key, taking(1))).toMatchObject({ ok: true });
    expect((await old.load(key))?.lines).toHaveLength(2);
    expect(await sql(`SELECT steps FROM "${schema}".version`)).toEqual([{ steps: 99 }]);
    await sql(`UPDATE "${schema}".version SET oldest = 98`);
    await expect(postgresStore(pool, { schema }).load(key)).rejects.toMatchObject({ code: "STORE_VERSION" });
  });

  test("P17: one that waits for its turn to migrate does not take a version back that came meanwhile", async () => {
    await store.append(key, taking(0));
    await sql(`UPDATE "${schema}".version SET steps = 0`);
    const newer = await pool.connect();
    try {
      await newer.query({ text: "BEGIN" });
      await newer.query({ text: "SELECT pg_advisory_xact_lock(hashtextextended('belay migrations', 0))" });
      const waiting = postgresStore(pool, { schema }).load(key);
      const locks = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
      while ((await sql(locks)).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await newer.query({ text: `UPDATE "${schema}".version SET steps = 99, oldest = 1` });
      await newer.query({ text: "COMMIT" });
      expect((await waiting)?.lines).toHaveLength(1);
    } finally {
      newer.release(true);
    }
    expect(await sql(`SELECT steps FROM "${schema}".version`)).toEqual([{ steps: 99 }]);
  });

  test("P17: many stores make the tables of one schema at once, and again after one failed", async () => {
    const broken = {
      ...store,
      query: () => Promise.reject(new Error("no")),
      connect: () => Promise.reject(new Error("no")),
    };
    const failing = postgresStore({ ...broken, on: () => {} }, { schema });
    await expect(failing.threads("tenant")).rejects.toMatchObject({ code: "STORE_FAILED" });
    const many = Array.from({ length: 8 }, () => postgresStore(pool, { schema }));
    expect(await Promise.all(many.map((each) => each.threads("tenant")))).toEqual(many.map(() => []));
  });

  test("T1: behind a pooler that gives each transaction another connection, without the statement or with another of that name", async () => {
    const [mine, others] = [await openPool({ max: 1 }), await openPool({ max: 1 })];
    const named: string[] = [];
    let turn = 0;
    const pooler: PostgresPool = {
      on: () => {},
      connect: () => mine.connect(),
      // The server's connection is one of two by turns; a statement of one client is unknown on the other's connection.
      async query(query) {
        if (query.name !== undefined) named.push(query.name);
        turn += 1;
        if (turn % 3 === 0) await mine.query({ text: "DEALLOCATE ALL" });
        return (turn % 2 === 0 ? mine : others).query(query);
      },
    };
    try {
      const other = postgresStore(pooler, { schema });
      for (let head = 0; head < 12; head++) {
        expect(await other.append(key, taking(head))).toMatchObject({ ok: true });
        expect((await other.load(key))?.row.head).toBe(head + 1);
      }
      expect((await store.load(key))?.lines).toHaveLength(12);
      const before = named.length;
      await other.load(key);
      expect(named.length).toBe(before);
    } finally {
      await Promise.all([mine.end(), others.end()]);
    }
  });

  test("P9: a call that its administrator's statement_timeout ended while it waited for a lock is made again", async () => {
    await store.append(key, taking(0));
    const url = new URL(await service("postgres"));
    url.searchParams.set("options", "-c statement_timeout=100");
    const hasty = await openPool({ url: url.href });
    const locking = await pool.connect();
    try {
      const other = postgresStore(hasty, { schema });
      await other.load(key);
      await locking.query({ text: "BEGIN" });
      await locking.query({ text: `LOCK TABLE "${schema}".thread IN EXCLUSIVE MODE` });
      const appended = other.append(key, taking(1));
      await new Promise((resolve) => setTimeout(resolve, 300));
      await locking.query({ text: "COMMIT" });
      expect(await appended).toMatchObject({ ok: true });
      expect((await store.load(key))?.lines).toHaveLength(2);
    } finally {
      locking.release(true);
      await hasty.end();
    }
  });

  test("F6: on a network that drops packets a call without a connection ends; the next one works when the network is back", async () => {
    const never = new Promise<never>(() => {});
    let away = true;
    const late: ((client: PostgresClient) => void)[] = [];
    const swallowed: PostgresPool = {
      on: () => {},
      query: (query) => (away ? never : pool.query(query)),
      connect: () => (away ? new Promise((resolve) => late.push(resolve)) : pool.connect()),
    };
    const other = postgresStore(swallowed, { schema, retryMs: 1_000 });
    const unanswered = { code: "STORE_FAILED", details: { reason: "PostgreSQL has not answered in time." } };
    await expect(other.load(key)).rejects.toMatchObject(unanswered);
    const unwatch = other.watch(key, () => {});
    await expect(other.append(key, taking(0))).rejects.toMatchObject(unanswered);
    unwatch();
    away = false;
    expect(await other.append(key, taking(0))).toMatchObject({ ok: true });
    // The first of them was given up long ago.
    const back = new Promise((release) => late[0]!({ release } as unknown as PostgresClient));
    await back;
  });

  test("F6: a call that waits in line for a connection longer than that, behind others that are answered, is made", async () => {
    await store.load(key);
    const one = await openPool({ max: 1 });
    const slow: PostgresPool = {
      on: () => {},
      connect: () => one.connect(),
      async query(query) {
        const client = await one.connect();
        try {
          await client.query({ text: "SELECT pg_sleep(0.15)" });
          return await client.query(query);
        } finally {
          client.release();
        }
      },
    };
    try {
      const other = postgresStore(slow, { schema, retryMs: 700 });
      await other.load(key);
      const began = performance.now();
      await Promise.all(Array.from({ length: 16 }, () => other.load(key)));
      expect(performance.now() - began).toBeGreaterThan(2_000);
    } finally {
      await one.end();
    }
  });

  test("a schema may have any name that PostgreSQL takes; others are refused", async () => {
    const odd = `${schema} "odd'; --`;
    schemas.push(odd.replaceAll('"', '""'));
    const other = postgresStore(pool, { schema: odd });
    await other.append(key, taking(0));
    expect((await other.load(key))?.row.head).toBe(1);
    expect(await store.load(key)).toBeUndefined();
    for (const bad of ["", "a\0b", "x".repeat(64)])
      expect(() => postgresStore(pool, { schema: bad })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });

  test("names may be as long as one likes", async () => {
    const long = { tenant: "t".repeat(20_000), threadId: "💡".repeat(20_000) };
    await store.append(long, taking(0, { raise: [{ id: "r".repeat(20_000), body: "" }] }));
    expect(await store.send(long, { key: "k".repeat(20_000), kind: "steer", body: "", at: 1 })).toBe(true);
    expect((await store.load(long))?.commands).toHaveLength(1);
    expect(await store.requestThread(long.tenant, "r".repeat(20_000))).toBe(long.threadId);
  });
});

/** Returns everything that a store reports of a tenant, or the code of its refusal. */
async function told(): Promise<Record<string, unknown>> {
  const asked = {
    load: () => store.load(key),
    rest: () => store.load(key, "rest"),
    snapshot: () => store.load(key, "snapshot"),
    fork: () => store.load({ ...key, threadId: "fork" }),
    threads: () => store.threads("tenant"),
    page: () => store.page("tenant", { limit: 10 }),
    requests: () => store.requests("tenant"),
    decided: () => store.decided("tenant", { limit: 10 }),
    request: () => store.request("tenant", "open"),
    open: () => store.requestThread("tenant", "open"),
    closed: () => store.requestThread("tenant", "closed"),
    rules: () => store.rules("tenant"),
  };
  const answers: Record<string, unknown> = {};
  for (const [name, ask] of Object.entries(asked)) {
    answers[name] = await ask().catch((error: unknown) => {
      if (error instanceof BelayError && /_CORRUPT$/.test(error.code)) return "refused";
      throw error;
    });
  }
  return answers;
}

async function filled(): Promise<void> {
  const raise = ["open", "closed", "also open"].map((id) => ({ id, body: `{"${id}":1}`, expiresAt: 99 }));
  await store.append(key, taking(0, { raise, remember: [{ id: "rule", at: 5, body: "{}" }] }));
  await store.append(
    key,
    taking(1, { close: ["closed"], decided: [{ id: "closed", body: "{}" }], body: "x".repeat(70_000) }),
  );
  await store.append(key, taking(2, { snapshot: "of two", rest: { from: 2, dueAt: 7 } }));
  await store.send(key, { key: "k", kind: "input", body: "{}", at: 3 });
  await store.append({ ...key, threadId: "fork" }, taking(2, { parent: { threadId: "thread", seq: 2 } }));
}

/** Checks that damaged rows have no other field, and that all others are unchanged, each in its place. */
function tellsDamage(now: readonly RequestRow[], before: readonly RequestRow[]): boolean {
  const isRight = ({ id, threadId, ...rest }: RequestRow, i: number) =>
    rest.damaged
      ? JSON.stringify(rest) === '{"body":"","damaged":true}'
      : JSON.stringify({ id, threadId, ...rest }) === JSON.stringify(before[i]);
  return now.length === before.length && now.some(({ damaged }) => damaged) && now.every(isRight);
}

/** Changes one bit of a column, in the first row that has it, and returns the undo. Returns undefined without such a row. */
async function flip(t: string, c: string, type: string): Promise<(() => Promise<unknown>) | undefined> {
  const table = `"${schema}"."${t}"`;
  const found = `SELECT ctid::text AS at, "${c}"::text AS was FROM ${table} WHERE "${c}" IS NOT NULL LIMIT 1`;
  const [row] = (await sql(found)) as { at: string; was: string }[];
  // PostgreSQL gives these numbers itself, and refuses changes.
  if (row === undefined || (c === "num" && t !== "fork")) return undefined;
  const flipped: Record<string, string> = {
    bytea: `set_byte("${c}", 0, get_byte("${c}", 0) # 1)`,
    text: `overlay("${c}" PLACING chr(ascii("${c}") # 1) FROM 1 FOR 1)`,
    uuid: "gen_random_uuid()",
  };
  const set = (to: string) => `UPDATE ${table} SET "${c}" = ${to} WHERE ctid = $1::tid RETURNING ctid::text AS at`;
  const [now] = (await sql(set(flipped[type] ?? `"${c}" # 64`), [row.at])) as [{ at: string }];
  return () => sql(set(`$2::text::${type}`), [now.at, row.was]);
}

describe("a row that was changed behind its back", () => {
  test("P7: in any column of any table: a read returns the written value, or throws JOURNAL_CORRUPT or STORE_CORRUPT; nothing is overwritten", async () => {
    await filled();
    const whole = await told();
    expect(Object.values(whole)).not.toContain("refused");
    const columns = (await sql(
      `SELECT table_name AS t, column_name AS c, data_type AS type FROM information_schema.columns
       WHERE table_schema = $1 AND table_name IN ('thread', 'entry', 'blob', 'snapshot', 'command', 'request', 'rule', 'fork', 'listing')
       ORDER BY 1, 2`,
      [schema],
    )) as { t: string; c: string; type: string }[];
    // Lists are found by these: a damaged one may hide rows. PostgreSQL's own page checksums are for those.
    const unseen =
      /^(request\.(closed|tenant_name|name|decided_at)|(rule|thread)\.tenant_name|listing\.(thread|tenant_name|agent_name))$/;
    // For audits, retries and for finding a row again: no answer is made of them.
    const idle =
      /^(entry\.fence|fork\.base|command\.(name|sent_by|taken_by)|thread\.(pause|run|due_at)|rule\.name|blob\.(digest|tenant_name))$/;
    let refused = 0;
    for (const { t, c, type } of columns) {
      const column = `${t}.${c}`;
      const restore = unseen.test(column) ? undefined : await flip(t, c, type);
      if (restore === undefined) continue;
      const now = await told();
      const changed = Object.keys(now).filter((name) => JSON.stringify(now[name]) !== JSON.stringify(whole[name]));
      const allowed = (name: string) =>
        now[name] === "refused" ||
        (name === "page" && (now.page as { damaged?: true }[]).some(({ damaged }) => damaged)) ||
        (name === "decided" && (now.decided as { damaged?: true }[]).some(({ damaged }) => damaged)) ||
        (name === "threads" && (now.threads as { damaged?: true }[]).some(({ damaged }) => damaged)) ||
        (name === "requests" && tellsDamage(now.requests as RequestRow[], whole.requests as RequestRow[])) ||
        // A snapshot that is lost is as good as none.
        (name === "snapshot" && JSON.stringify(now.snapshot) === JSON.stringify(whole.load));
      expect(
        changed.filter((name) => !allowed(name)),
        column,
      ).toEqual([]);
      if (!idle.test(column)) expect(changed.length, `${column} was not noticed`).toBeGreaterThan(0);
      refused += changed.length;
      await restore();
      expect(await told(), `${column} as it was`).toEqual(whole);
    }
    expect(refused).toBeGreaterThan(50);
  });

  test("P7: nothing is appended to a thread with a damaged row; its proven lines can be read", async () => {
    await filled();
    await sql(`UPDATE "${schema}".thread SET agent = 'another' WHERE id = 'thread'`);
    const corrupt = { code: "JOURNAL_CORRUPT" };
    await expect(store.append(key, taking(3))).rejects.toMatchObject(corrupt);
    await expect(store.send(key, { key: "l", kind: "steer", body: "", at: 1 })).rejects.toMatchObject(corrupt);
    await expect(store.delete(key, 3)).rejects.toMatchObject(corrupt);
    const past = await store.past(key);
    expect([past?.agent, past?.lines.length, past?.damage?.error.code]).toEqual([undefined, 3, "JOURNAL_CORRUPT"]);
    await sql(`UPDATE "${schema}".thread SET head = 1, root = hash WHERE id = 'thread'`);
    const repaired = { ...key, threadId: "repaired" };
    await store.append(repaired, taking(3, { parent: { threadId: "thread", seq: 3 } }));
    expect((await store.load(repaired))?.lines).toHaveLength(4);
    await sql(`UPDATE "${schema}".entry SET at = 2 WHERE seq = 2`);
    await expect(store.load(repaired)).rejects.toMatchObject(corrupt);
    expect((await store.past(key))?.lines).toHaveLength(1);
    const fork = await store.past({ ...key, threadId: "fork" });
    expect([fork?.agent, fork?.lines.length, fork?.damage?.seq]).toEqual(["helper", 1, 2]);
    expect((await store.past({ ...key, threadId: "fork" }, 1))?.damage).toBeUndefined();
    expect(await store.delete(key)).toBe(true);
  });
});

describe("a process that watches", () => {
  test("P13: on a standby, which has no LISTEN, a watch works all the same, and asks for a connection less and less often", async () => {
    await store.append(key, taking(0));
    let tries = 0;
    const standby: PostgresPool = {
      on: () => {},
      query: (query) => pool.query(query),
      async connect() {
        tries += 1;
        const client = await pool.connect();
        const query = () => Promise.reject(new Error("cannot execute LISTEN during recovery"));
        return new Proxy(client, {
          get: (of, name) => (name === "query" ? query : Reflect.get(of, name)?.bind(of)),
        });
      },
    };
    let heard = 0;
    const unwatch = postgresStore(standby, { schema, pollMs: 20 }).watch(key, () => heard++);
    await new Promise((resolve) => setTimeout(resolve, 700));
    const before = heard;
    await store.append(key, taking(1));
    await new Promise((resolve) => setTimeout(resolve, 700));
    await until(() => heard > before && tries > 1);
    unwatch();
    expect(tries).toBeLessThan(6);
  });

  test("section 9: in the background only, it is not kept alive; with a pool of one connection a watch still works", async () => {
    const programs = await bundlePrograms();
    await store.append(key, taking(0));
    const where = `${await service("postgres")}#${schema}`;
    const child = startChild(programs, "watch", { where, ...key });
    expect(await child.exited).toMatchObject({ code: 0 });
    expect(child.lines).toContain("heard");
  });
});
