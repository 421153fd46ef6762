import { openDatabase } from "@belay/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { agent, createRunner, messageText, type Store } from "../../index.ts";
import { scriptedModel } from "../../testing/index.ts";
import type { Append, ThreadKey } from "../store.ts";
import { type DatabaseSync, fromText } from "./database.ts";
import { lineCrc, lineHash, type Row, rowCrc } from "./rows.ts";
import { sqliteStore } from "./sqlite.ts";

const tenant = "default";
const writer = { take: "owner", ttlMs: 1_000 };
const key = (threadId: string): ThreadKey => ({ tenant, threadId });
const text = (i: number) => JSON.stringify({ line: i, words: "some words of a line" });

let db: DatabaseSync;
let store: Store;

beforeEach(async () => {
  db = await openDatabase(":memory:");
  store = sqliteStore(db);
  await write("a", 0, 600);
  await write("fork", 20, 5, { threadId: "a", seq: 20 });
});
afterEach(() => db.close());

async function write(threadId: string, from: number, lines: number, parent?: Append["parent"]): Promise<void> {
  for (let i = 0; i < lines; i++) {
    const expect = from + 2 * i;
    // One is kept apart, which is read line by line.
    const body = threadId === "a" && i === 5 ? "x".repeat(90_000) : text(i);
    const common = { count: 2, at: 7, agent: "agent", state: "running", release: true } as const;
    const more = i === 0 && parent !== undefined ? { parent } : {};
    await store.append(key(threadId), { ...common, appendId: `${threadId} ${i}`, expect, body, writer, ...more });
  }
}

interface Entry {
  readonly id: number;
  readonly seq: number;
  readonly count: number;
  readonly at: number;
  readonly body: string | null;
  readonly blob: string | null;
}

/** Writes another text for the line that begins at `seq`, with all crcs to match it. */
function forge(threadId: string, seq: number, body: string, { hashes = false } = {}): void {
  const row = db.prepare("SELECT * FROM thread WHERE id = ?").get(threadId) as Row;
  const { num } = row;
  db.prepare("UPDATE entry SET body = ?, blob = NULL WHERE id = ?").run(body, num * 2 ** 32 + seq);
  const entries = db
    .prepare(
      `SELECT id, id & 0xffffffff AS seq, count, at, COALESCE(body, (SELECT body FROM blob WHERE blob.id = entry.blob)) AS body
       FROM entry WHERE id >> 32 = ? ORDER BY id`,
    )
    .all(num) as Entry[];
  let crc = row.base_crc ?? 0;
  let hash: Uint8Array = new Uint8Array(0);
  for (const { id, seq, count, at, body } of entries) {
    crc = lineCrc(crc, key(threadId), seq, count, at, body ?? "");
    hash = lineHash(hash, body ?? "");
    db.prepare("UPDATE entry SET crc = ? WHERE id = ?").run(crc, id);
    if (hashes) db.prepare("UPDATE entry SET hash = ? WHERE id = ?").run(hash, id);
  }
  const row_crc = rowCrc({ ...row, crc });
  db.prepare("UPDATE thread SET crc = ?, row_crc = ? WHERE num = ?").run(crc, row_crc, num);
}

const past = async (threadId: string, to?: number) => {
  const { lines = [], damage } = (await store.past(key(threadId), to)) ?? {};
  return { lines: lines.length, seq: damage?.seq, code: damage?.error.code, problem: damage?.error.details.problem };
};
const sound = (lines: number) => ({ lines, seq: undefined, code: undefined, problem: undefined });
const broken = (lines: number, seq: number) => ({
  ...{ lines, seq, code: "JOURNAL_CORRUPT", problem: "a line does not fit its hash" },
});

describe("P7: the sha256 chain of a thread", () => {
  test("proves a past as it was written, that of a fork and of its parent's part, too", async () => {
    expect(await past("a")).toEqual(sound(600));
    expect(await past("a", 31)).toEqual(sound(15));
    expect(await past("fork")).toEqual(sound(15));
    await store.delete(key("a"));
    expect(await past("fork")).toEqual(sound(15));
  });

  test.each([1, 3, 11, 601, 1_199])("finds another text for the line at %d with recomputed crcs", async (seq) => {
    forge("a", seq, '{"forged":true}');
    // By its crcs it is unchanged.
    expect((await store.load(key("a")))?.lines).toHaveLength(600);
    expect(await past("a")).toEqual(broken((seq - 1) / 2, seq));
  });

  test("finds it in a fork's own lines, and ignores lines after the given point", async () => {
    forge("fork", 23, '{"forged":true}');
    expect(await past("fork")).toEqual(broken(11, 23));
    expect(await past("fork", 22)).toEqual(sound(11));
  });

  test("finds lines with recomputed hashes, too: the row has the last of them", async () => {
    forge("a", 601, '{"forged":true}', { hashes: true });
    expect(await past("a")).toEqual(broken(599, 1_199));
  });

  test("an invalid hash, or damage before another, is found at its place", async () => {
    db.exec("UPDATE entry SET hash = 'text' WHERE id & 0xffffffff = 41");
    expect(await past("a")).toEqual(broken(20, 41));
    db.exec("UPDATE entry SET body = 'x' WHERE id & 0xffffffff = 101");
    expect(await past("a")).toEqual(broken(20, 41));
    db.exec("UPDATE entry SET body = 'x' WHERE id & 0xffffffff = 31");
    expect(await past("a")).toMatchObject({ lines: 15, seq: 31, problem: "a line does not fit its checksum" });
  });
});

test("P7: a thread with a changed text is not forked; its history ends before the text, and repair saves that part", async () => {
  const model = scriptedModel(["one", "two", "three", "four"]);
  const runner = createRunner({ agent: agent({ name: "helper", model }), store });
  const session = await runner.open("talk");
  for (const words of ["first", "second", "third"]) await session.run(words).result;
  const lines = (await store.past(key("talk")))!.lines;
  const changed = lines.find(({ body }) => body.includes('"second"'))!;
  forge("talk", changed.seq, fromText(changed.body).replace('"second"', '"forged"'));
  await runner.close();

  const later = createRunner({ agent: agent({ name: "helper", model }), store });
  await expect(later.fork("talk", { at: 0 })).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
  const { session: saved, lost } = await later.repair("talk", { as: "saved" });
  expect(saved.messages.map(messageText)).toEqual(["first", "one"]);
  expect(lost).toMatchObject({ from: changed.seq, error: { code: "JOURNAL_CORRUPT" } });
  expect(JSON.stringify(await later.history("talk"))).not.toContain("forged");
  await later.close();
});
