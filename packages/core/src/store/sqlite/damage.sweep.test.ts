// One file is filled, damaged in every way we know, and read.
//
// Long, and still one piece: each way of damage is held to the same file and the same reading.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "@belay/testkit";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { BelayError, type Store } from "../../index.ts";
import type { Append, Loaded, Past, RequestRow } from "../store.ts";
import { lineCrc } from "./rows.ts";
import { sqliteStore } from "./sqlite.ts";

const { damages: FLIPS } = inject("effort");
/** As open-tables sets it. */
const PAGE = 4096;
const tenants = ["default", "other"];
const threads = ["a", "b", "long", "fork", "orphan", "gone", "never-there"];
const asked = ["a", "b", "long"].flatMap((threadId) => [0, 1, 2].map((i) => `request ${i} of ${threadId}`));
const TYPED = /^(JOURNAL_CORRUPT|STORE_CORRUPT|STORE_FAILED|STORE_FOREIGN|STORE_VERSION)$/;

let folder: string;
let original: string;
let whole: string;
/** Each thread with all its lines, as it was. */
const originals = new Map<string, Loaded>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "belay-damage-"));
  original = join(folder, "original.db");
  const db = await openDatabase(original);
  const store = sqliteStore(db, { clock });
  await fill(store);
  for (const tenant of tenants)
    for (const threadId of threads) {
      const loaded = await store.load({ tenant, threadId });
      if (loaded !== undefined) originals.set(`${tenant} ${threadId}`, loaded);
    }
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  whole = (await readAll(original)).data;
});

afterAll(() => rmSync(folder, { recursive: true }));

const clock = { now: () => 1_000, setTimeout, clearTimeout: () => {}, id: () => "id" };

let appends = 0;

function append(
  expect: number,
  body: string,
  writer: Append["writer"],
  release: boolean,
  more: Partial<Append> = {},
): Append {
  const common = { agent: "agent", state: "running" as const, at: 500 + expect, count: 2 };
  return { ...common, appendId: `append ${++appends}`, expect, body, writer, release, ...more };
}

/** The second append asks, the third has one answer; it leaves the thread resting. */
function asking(threadId: string, i: number): Partial<Append> {
  const id = (n: number) => `request ${n} of ${threadId}`;
  const raise = [0, 1, 2].map((n) => ({ id: id(n), body: `{"may":${n}}`, ...(n > 0 && { expiresAt: 7_000 + n }) }));
  const remember = [{ id: `rule of ${threadId}`, at: 40, body: '{"tool":"pay"}' }];
  if (i === 1) return { raise };
  return i === 3 ? { close: [id(1)], remember, rest: { from: 5, ...(threadId === "b" && { dueAt: 9_000 }) } } : {};
}

async function fill(store: Store): Promise<void> {
  for (const tenant of tenants) {
    for (const threadId of ["a", "b", "long"]) {
      const key = { tenant, threadId };
      const lines = threadId === "long" ? 60 : 4;
      const first = await store.append(key, append(0, body(0), { take: `owner ${threadId}`, ttlMs: 1_000 }, false));
      const fence = first.ok ? first.fence : 0;
      for (let i = 1; i < lines; i++) {
        // In one of them only: lines are read in another way if a text is kept apart.
        const text = i === 2 && threadId === "b" ? "x".repeat(90_000) : body(i);
        const released = threadId === "a" && i === lines - 1;
        const more = { ...asking(threadId, i), ...(i === lines - 1 && { snapshot: snapshotOf(threadId) }) };
        await store.append(key, append(2 * i, text, { fence, ttlMs: 1_000 }, released, more));
      }
      for (let i = 0; i < 12; i++) {
        const kind = (["input", "steer", "stop", "late", "answer"] as const)[i % 5]!;
        await store.send(key, { key: `command ${i}`, kind, body: `{"n":${i}}`, at: i });
      }
      await store.withdraw(key, "command 5");
    }
    await fillForks(store, tenant);
  }
}

/** A fork, and one whose parent is deleted. */
async function fillForks(store: Store, tenant: string): Promise<void> {
  const writer = { take: "owner", ttlMs: 1_000 };
  for (let i = 0; i < 5; i++) await store.append({ tenant, threadId: "gone" }, append(2 * i, body(i), writer, true));
  for (const [threadId, parent, seq] of [
    ["fork", "long", 20],
    ["orphan", "gone", 6],
  ] as const) {
    const key = { tenant, threadId };
    await store.append(key, append(seq, body(70), writer, true, { parent: { threadId: parent, seq } }));
    for (let i = 1; i < 4; i++) {
      const more = i === 2 ? { snapshot: snapshotOf(threadId) } : {};
      await store.append(key, append(seq + 2 * i, body(70 + i), writer, true, more));
    }
  }
  await store.delete({ tenant, threadId: "gone" });
}

function body(i: number): string {
  return JSON.stringify({ line: i, text: `${"some words of a line ".repeat(1 + (i % 7))}\u00e9` });
}

function snapshotOf(threadId: string): string {
  return JSON.stringify({ folded: threadId, words: "what was said so far ".repeat(5) });
}

interface Read {
  /** Returns everything that a store reports, as text. */
  readonly data: string;
  readonly errors: readonly string[];
}

/** Opens the file, reads everything, and returns the values and the errors. */
async function readAll(file: string): Promise<Read> {
  const data: string[] = [];
  const errors: string[] = [];
  const told = (error: unknown) => {
    errors.push(error instanceof BelayError ? error.code : `untyped: ${error}`);
    return "error";
  };
  const db = await openDatabase(file);
  try {
    const store = sqliteStore(db, { clock });
    for (const tenant of tenants) {
      const rows = await store.threads(tenant).catch((error) => {
        data.push(told(error));
        return [];
      });
      for (const row of rows) data.push(row.damaged ? told(damagedRow) : JSON.stringify(row));
      data.push(...requestLines(tenant, await store.requests(tenant).catch(told), told));
      data.push(JSON.stringify(await store.rules(tenant).catch(told)));
      for (const id of [...asked, "never raised"])
        data.push(`${id} ${await store.requestThread(tenant, id).catch(told)}`.replace(/.* error$/, "error"));
      for (const threadId of threads) {
        data.push(JSON.stringify(await store.load({ tenant, threadId }).catch(told)));
        data.push(JSON.stringify(await store.load({ tenant, threadId }, 5).catch(told)));
        data.push(JSON.stringify(await store.load({ tenant, threadId }, "rest").catch(told)));
        data.push(fromSnapshot(tenant, threadId, await store.load({ tenant, threadId }, "snapshot").catch(told)));
        const past = await store.past({ tenant, threadId }).catch((error): Past => {
          told(error);
          return { lines: [] };
        });
        // A line each: of a damaged one as far as it goes.
        for (const line of past?.lines ?? []) data.push(`${tenant} ${threadId} ${JSON.stringify(line)}`);
        if (past?.damage !== undefined) told(past.damage.error);
      }
    }
  } catch (error) {
    told(error);
  } finally {
    db.close();
  }
  return { data: data.join("\n"), errors };
}

/** A cache: a snapshot may be skipped if all its lines are read instead. */
function fromSnapshot(tenant: string, threadId: string, loaded: Loaded | string | undefined): string {
  if (loaded === undefined || typeof loaded === "string") return JSON.stringify(loaded) ?? `no ${threadId}`;
  const { snapshot, ...rest } = loaded;
  const right = originals.get(`${tenant} ${threadId}`);
  const after = snapshot?.seq ?? 0;
  const expected = { ...right, lines: right?.lines.filter(({ seq }) => seq > after) };
  const isRight = JSON.stringify(rest) === JSON.stringify(expected);
  const isOurs = snapshot === undefined || snapshot.body === snapshotOf(threadId);
  return isRight && isOurs ? `${tenant} ${threadId} from its snapshot on` : JSON.stringify(loaded);
}

/** Checks the number and the places: also beside a damaged one none may be missing, and none may be another. */
function requestLines(
  tenant: string,
  list: readonly RequestRow[] | string,
  told: (error: unknown) => string,
): readonly string[] {
  if (typeof list === "string") return [list];
  const lines = list.map((row, i) => {
    if (!row.damaged) return `${tenant} request ${i}: ${JSON.stringify(row)}`;
    const { id: _, threadId: __, ...rest } = row;
    const isBare = JSON.stringify(rest) === '{"body":"","damaged":true}';
    return isBare ? told(damagedRequestRow) : `of a damaged request: ${JSON.stringify(row)}`;
  });
  return [`${tenant}: ${list.length} requests`, ...lines];
}

const damagedRequestRow = new BelayError("STORE_CORRUPT", "", "", {});
const damagedRow = new BelayError("JOURNAL_CORRUPT", "", "", {});

/** Returns reported values that are neither right nor an error. */
function lies({ data, errors }: Read): string[] {
  const wrong = errors.filter((code) => !TYPED.test(code));
  if (errors.length === 0) return data === whole ? wrong : [...wrong, "other data, without any error"];
  // Beside errors, every reported value is right.
  const right = new Set(whole.split("\n"));
  const other = data
    .split("\n")
    .filter((line) => line !== "error" && line !== '"error"' && line !== "" && !right.has(line));
  return [...wrong, ...other.map((line) => `told ${line.slice(0, 200)}`)];
}

/** The header's two bytes that say whether a file has a WAL: setting that again mends them. */
const MENDED = new Set([18, 19]);

/** A copy of the file in which one column of one row of the first tenant is another. */
async function withColumnChanged(table: string, column: string, id: string) {
  const copy = fresh();
  cpSync(original, copy);
  const db = await openDatabase(copy);
  const value = column === "body" ? "body || ' '" : `COALESCE(${column}, 0) + 1000`;
  db.exec(`UPDATE ${table} SET ${column} = ${value} WHERE tenant = 'default' AND id = '${id}'`);
  const done = () => {
    db.close();
    remove(copy);
  };
  return { db, done };
}

let files = 0;

/** A file of its own each time: a closed handle may keep data of the one before. */
function fresh(): string {
  return join(folder, `${++files}.db`);
}

function remove(file: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(file + end, { force: true });
}

/** Numbers that look random, the same each time. */
function sequence(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe("a damaged file", () => {
  test("P7, C4: one bit flipped, at many places: every read is right or a typed error, and the file stays as it is", async () => {
    const bytes = readFileSync(original);
    const random = sequence(7);
    const problems: string[] = [];
    let noticed = 0;
    for (let i = 0; i < FLIPS; i++) {
      const copy = fresh();
      // The first page has the header and the schema: every fourth flip hits it.
      const at = i % 4 === 0 ? random(PAGE) : random(bytes.length);
      const bit = random(8);
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1 << bit;
      writeFileSync(copy, flipped);
      const read = await readAll(copy);
      if (read.errors.length > 0) noticed += 1;
      problems.push(...lies(read).map((lie) => `bit ${bit} of byte ${at}: ${lie}`));
      if (!readFileSync(copy).equals(flipped) && !MENDED.has(at))
        problems.push(`bit ${bit} of byte ${at}: overwritten`);
      remove(copy);
    }
    expect(problems).toEqual([]);
    expect(noticed).toBeGreaterThan(FLIPS / 4);
    console.log(`${noticed} of ${FLIPS} flips were noticed, the others were in nothing that is read`);
  });

  test("P7: cut short at many places, or a page of it zeroed or swapped, no read is wrong", async () => {
    const bytes = readFileSync(original);
    const pages = bytes.length / PAGE;
    const random = sequence(11);
    const problems: string[] = [];
    const check = async (what: string, before: Buffer) => {
      const copy = fresh();
      writeFileSync(copy, before);
      problems.push(...lies(await readAll(copy)).map((lie) => `${what}: ${lie}`));
      if (!readFileSync(copy).equals(before)) problems.push(`${what}: overwritten`);
      remove(copy);
    };
    for (let i = 0; i < FLIPS; i++) {
      const at = 1 + random(bytes.length - 1);
      await check(`cut at ${at}`, bytes.subarray(0, at));
    }
    for (let page = 1; page < pages; page++) {
      await check(`page ${page} zeroed`, Buffer.from(bytes).fill(0, page * PAGE, (page + 1) * PAGE));
      const swapped = Buffer.from(bytes);
      const other = 1 + random(pages - 1);
      bytes.copy(swapped, page * PAGE, other * PAGE, (other + 1) * PAGE);
      if (other !== page) await check(`page ${page} is page ${other}`, swapped);
    }
    expect(problems).toEqual([]);
  });

  test("P7: a damaged WAL gives an earlier consistent state, or a typed error", async () => {
    const live = join(folder, "live.db");
    const db = await openDatabase(live);
    const store = sqliteStore(db, { clock });
    const key = { tenant: "default", threadId: "a" };
    const states = ["undefined"];
    const first = await store.append(key, append(0, body(0), { take: "owner", ttlMs: 1_000 }, false));
    states.push(JSON.stringify(await store.load(key)));
    for (let i = 1; i < 12; i++) {
      await store.append(key, append(2 * i, body(i), { fence: first.ok ? first.fence : 0, ttlMs: 1_000 }, false));
      states.push(JSON.stringify(await store.load(key)));
    }
    const main = readFileSync(live);
    const wal = readFileSync(`${live}-wal`);
    db.close();
    const random = sequence(13);
    const problems: string[] = [];
    const earlier = new Set<string>();
    for (let i = 0; i < 200; i++) {
      const copy = fresh();
      writeFileSync(copy, main);
      const at = random(wal.length);
      const broken = Buffer.from(i % 2 === 0 ? wal : wal.subarray(0, at));
      if (i % 2 === 0) broken[at]! ^= 1 << random(8);
      writeFileSync(`${copy}-wal`, broken);
      const again = await openDatabase(copy);
      try {
        const told = String(JSON.stringify(await sqliteStore(again, { clock }).load(key)));
        earlier.add(told);
        if (!states.includes(told)) problems.push(`at ${at}: ${told.slice(0, 100)}`);
      } catch (error) {
        if (!(error instanceof BelayError) || !TYPED.test(error.code)) problems.push(`at ${at}: ${error}`);
      } finally {
        again.close();
        remove(copy);
      }
    }
    expect(problems).toEqual([]);
    expect(earlier.size).toBeGreaterThan(3);
  });

  test("P7: one bit flipped in the index of open commands: none is returned twice, in place of another", async () => {
    const bytes = readFileSync(original);
    const db = await openDatabase(original);
    const { root } = db.prepare("SELECT rootpage AS root FROM sqlite_schema WHERE name = 'command_open'").get() as {
      root: number;
    };
    const { page_size: size } = db.prepare("PRAGMA page_size").get() as { page_size: number };
    db.close();
    const problems: string[] = [];
    // Its entries lie at the end of its page.
    for (let at = root * size - 80; at < root * size; at++) {
      const copy = fresh();
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1 << (at % 8);
      writeFileSync(copy, flipped);
      problems.push(...lies(await readAll(copy)).map((lie) => `byte ${at}: ${lie}`));
      remove(copy);
    }
    expect(problems).toEqual([]);
  });

  // Bits at random places rarely hit a short column: each is changed once on purpose.
  const change: Record<string, string> = { state: "'paused'", owner: "'someone'", hash: "x'00'", agent: "'another'" };
  const columns = ["agent", "state", "head", "fence", "owner", "until", "append_id", "crc", "hash", "open", "queued"];
  const later = ["answers", "rest_from", "rest_due"];
  test.each([...columns, ...later, "created_at", "updated_at", "row_crc", "name"])(
    "P7: %s of a row is summed",
    async (column) => {
      const copy = fresh();
      cpSync(original, copy);
      const db = await openDatabase(copy);
      const value = change[column] ?? (column === "append_id" ? "'x'" : `${column} + 1`);
      db.exec(`UPDATE thread SET ${column} = ${value} WHERE tenant = 'default' AND id = 'b'`);
      const store = sqliteStore(db, { clock });
      await expect(store.load({ tenant: "default", threadId: "b" })).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
      db.close();
      remove(copy);
    },
  );

  test.each(later)("P7: %s of a row does not become NULL unnoticed", async (column) => {
    const copy = fresh();
    cpSync(original, copy);
    const db = await openDatabase(copy);
    db.exec(`UPDATE thread SET ${column} = NULL WHERE tenant = 'default' AND id = 'b'`);
    const store = sqliteStore(db, { clock });
    await expect(store.load({ tenant: "default", threadId: "b" })).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
    db.close();
    remove(copy);
  });

  const open = "request 0 of b";
  const closed = "request 1 of b";
  const rules = (store: Store) => store.rules("default");
  const find = (id: string) => (store: Store) => store.requestThread("default", id);
  const close = (store: Store) =>
    store.append(
      { tenant: "default", threadId: "b" },
      append(8, "{}", { fence: 1, ttlMs: 1 }, false, { close: [open] }),
    );
  test.each([
    ...["num", "name", "thread", "expires_at", "body", "crc", "closed"].flatMap((column) => [
      { table: "request", column, id: open, read: find(open) },
      { table: "request", column, id: open, read: close },
      { table: "request", column, id: closed, read: find(closed) },
    ]),
    ...["num", "at", "body", "crc"].map((column) => ({ table: "rule", column, id: "rule of b", read: rules })),
  ])("P7: $column of a $table is summed: $id", async ({ table, column, id, read }) => {
    const { db, done } = await withColumnChanged(table, column, id);
    await expect(read(sqliteStore(db, { clock }))).rejects.toMatchObject({ code: "STORE_CORRUPT" });
    done();
  });

  // Not `closed`: changed by SQL, an open request leaves the index of open ones; the bits below change the row alone.
  test.each(["num", "name", "thread", "expires_at", "body", "crc"])(
    "P7: a request whose %s was changed is listed as damaged, and the others unchanged",
    async (column) => {
      const { db, done } = await withColumnChanged("request", column, open);
      const store = sqliteStore(db, { clock });
      const list = await store.requests("default");
      const threadId = column === "thread" ? "" : "b";
      expect(list.filter(({ damaged }) => damaged)).toEqual([{ id: open, threadId, body: "", damaged: true }]);
      const others = asked.filter((id) => !/1 of/.test(id) && id !== open);
      expect(list.flatMap(({ id, damaged }) => (damaged ? [] : [id]))).toEqual(others);
      expect((await store.requests("other")).map(({ id, damaged }) => [id, damaged])).toEqual(
        asked.filter((id) => !/1 of/.test(id)).map((id) => [id, undefined]),
      );
      done();
    },
  );

  test.each(["request_open", "request_open_again"])(
    "P7: if %s leads to another row, the missing request is unknown: STORE_CORRUPT",
    async (index) => {
      const bytes = readFileSync(original);
      const db = await openDatabase(original);
      const { root } = db.prepare("SELECT rootpage AS root FROM sqlite_schema WHERE name = ?").get(index) as {
        root: number;
      };
      const [last, others] = (
        db
          .prepare("SELECT MAX(num) AS num FROM request WHERE closed IS NULL GROUP BY tenant ORDER BY tenant")
          .all() as {
          num: number;
        }[]
      ).map(({ num }) => num) as [number, number];
      db.close();
      // Entries end with the row's number, those of one tenant in a row: the last one of ours now leads to another tenant's.
      const page = bytes.subarray((root - 1) * PAGE, root * PAGE);
      const ends = Array.from({ length: page.readUInt16BE(3) }, (_, i) => page.readUInt16BE(8 + 2 * i))
        .map((cell) => cell + page[cell]!)
        .filter((end) => page[end] === last);
      expect(ends).toHaveLength(1);
      page[ends[0]!] = others;
      const copy = fresh();
      writeFileSync(copy, bytes);
      const damaged = await openDatabase(copy);
      await expect(sqliteStore(damaged, { clock }).requests("default")).rejects.toMatchObject({
        code: "STORE_CORRUPT",
      });
      damaged.close();
      remove(copy);
    },
  );

  test("P7: no bit of requests, rules and their indexes can be flipped unnoticed by a read", async () => {
    const bytes = readFileSync(original);
    const db = await openDatabase(original);
    const roots = db
      .prepare("SELECT name, rootpage FROM sqlite_schema WHERE tbl_name IN ('request', 'rule')")
      .all() as { name: string; rootpage: number }[];
    db.close();
    // Of each page: its header with the places of its cells, and the cells; between them is nothing.
    const places = roots.flatMap(({ name, rootpage }) => {
      const first = (rootpage - 1) * PAGE;
      const [cells, content] = [bytes.readUInt16BE(first + 3), bytes.readUInt16BE(first + 5)];
      const used = Array.from({ length: PAGE }, (_, i) => i).filter((i) => i < 8 + 2 * cells || i >= content);
      return used.map((i) => ({ name, at: first + i }));
    });
    const random = sequence(17);
    const every = Math.max(1, Math.floor(places.length / FLIPS));
    const problems: string[] = [];
    for (let i = random(every); i < places.length; i += every) {
      const { name, at } = places[i]!;
      const copy = fresh();
      const flipped = Buffer.from(bytes);
      const bit = random(8);
      flipped[at]! ^= 1 << bit;
      writeFileSync(copy, flipped);
      problems.push(...lies(await readAll(copy)).map((lie) => `bit ${bit} of byte ${at} in ${name}: ${lie}`));
      remove(copy);
    }
    expect(problems).toEqual([]);
  });

  describe("a snapshot", () => {
    const key = { tenant: "default", threadId: "long" };

    async function withSnapshot(change: string | undefined): Promise<Loaded | undefined> {
      const copy = fresh();
      cpSync(original, copy);
      const db = await openDatabase(copy);
      const long = "thread = (SELECT num FROM thread WHERE tenant = 'default' AND id = 'long')";
      if (change !== undefined) db.exec(`UPDATE snapshot SET ${change} WHERE ${long}`);
      const loaded = await sqliteStore(db, { clock }).load(key, "snapshot");
      db.close();
      remove(copy);
      return loaded;
    }

    test("T3: that is sound replaces the lines before it", async () => {
      const loaded = await withSnapshot(undefined);
      expect(loaded?.snapshot).toEqual({ seq: 118, body: snapshotOf("long") });
      expect(loaded?.lines.map(({ seq }) => seq)).toEqual([119]);
    });

    test.each([
      "body = body || ' '",
      "body = replace(body, 'said', 'sold')",
      "crc = crc + 1",
      "seq = seq - 2",
      "seq = 200",
      "body = (SELECT body FROM snapshot WHERE body LIKE '%fork%'), crc = (SELECT crc FROM snapshot WHERE body LIKE '%fork%')",
    ])("P7: that does not fit its checksum is passed over: all lines are read instead (%s)", async (change) => {
      const loaded = await withSnapshot(change);
      expect(loaded?.snapshot).toBeUndefined();
      expect(loaded).toEqual(originals.get("default long"));
    });

    test("P7: that is ahead of its thread is skipped, with any checksum", async () => {
      const crc = lineCrc(0, key, 200, 0, 0, snapshotOf("long"));
      expect(await withSnapshot(`seq = 200, crc = ${crc}`)).toEqual(originals.get("default long"));
    });

    test("P7: none of its bits can be flipped so that another one is returned", async () => {
      const bytes = readFileSync(original);
      const db = await openDatabase(original);
      const named = "SELECT rootpage AS root FROM sqlite_schema WHERE name = 'snapshot'";
      const { root } = db.prepare(named).get() as { root: number };
      db.close();
      const first = (root - 1) * PAGE;
      const content = bytes.readUInt16BE(first + 5);
      const random = sequence(19);
      const problems: string[] = [];
      for (let i = 0; i < FLIPS / 4; i++) {
        const copy = fresh();
        const flipped = Buffer.from(bytes);
        const at = first + (i % 8 === 0 ? random(24) : content + random(PAGE - content));
        const bit = random(8);
        flipped[at]! ^= 1 << bit;
        writeFileSync(copy, flipped);
        problems.push(...lies(await readAll(copy)).map((lie) => `bit ${bit} of byte ${at}: ${lie}`));
        remove(copy);
      }
      expect(problems).toEqual([]);
    });
  });

  test("P7: a thread that cannot be read keeps the others as they are, and says so in the list", async () => {
    const copy = join(folder, "quarantine.db");
    cpSync(original, copy);
    const db = await openDatabase(copy);
    db.exec("UPDATE thread SET head = head + 1 WHERE tenant = 'default' AND id = 'a'");
    const store = sqliteStore(db, { clock });
    const rows = await store.threads("default");
    expect(rows.map(({ threadId, damaged }) => [threadId, damaged])).toContainEqual(["a", true]);
    expect(rows.filter(({ damaged }) => damaged)).toHaveLength(1);
    await expect(store.load({ tenant: "default", threadId: "a" })).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
    expect((await store.load({ tenant: "default", threadId: "b" }))?.lines).toHaveLength(4);
    await store.delete({ tenant: "default", threadId: "a" });
    expect(await store.threads("default")).toHaveLength(4);
    db.close();
  });
});
