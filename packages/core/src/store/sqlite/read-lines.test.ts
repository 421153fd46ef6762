import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "@belay/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Store } from "../../index.ts";
import type { Line } from "../../journal/codec.ts";
import type { DatabaseSync } from "./database.ts";
import { sqliteStore } from "./sqlite.ts";

const LINES = 1_000;
const key = { tenant: "tenant", threadId: "thread" };

/** Texts that a page cannot be made of, in two of them: the first and the last are without any. */
const unusual: Record<number, string> = {
  300: "z".repeat(70_000),
  // The last of its page, with text that reads like another line after it: by its seq, the next one.
  749: "{}tenant\nthread\n1501\n1\n6\n{}",
  900: '"quoted"',
  901: "\ud800 and \0",
  902: "",
};

let folder: string;
let db: DatabaseSync;
let store: Store;
const written: Line[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "belay-lines-"));
  db = await openDatabase(join(folder, "threads.db"));
  store = sqliteStore(db);
  db.exec("PRAGMA synchronous = OFF");
  let head = 0;
  for (let i = 0; i < LINES; i++) {
    const line = {
      seq: head + 1,
      count: 1 + (i % 3),
      at: 1_700_000_000_000 + i,
      body: unusual[i] ?? `{"line":"é${i}"}`,
    };
    const { count, at, body } = line;
    const common = { release: true, agent: "a", state: "completed", writer: { take: "me", ttlMs: 1 } } as const;
    await store.append(key, { ...common, appendId: `${i}`, expect: head, count, at, body });
    written.push(line);
    head += count;
  }
});
afterAll(() => {
  db.close();
  rmSync(folder, { recursive: true });
});

const loaded = async (after: number) => (await store.load(key, after))?.lines;

describe("lines that are read many at once", () => {
  test("are the written ones, from any cursor, with any bodies", async () => {
    for (const { seq, count } of written) {
      for (let after = seq - 1; after < seq + count - 1; after++) {
        if (after % 37 === 0 || seq < 20)
          expect(await loaded(after)).toEqual(written.slice(written.findIndex((line) => line.seq === seq)));
      }
    }
    expect(await loaded(written.at(-1)!.seq)).toHaveLength(0);
  });

  /** Changes a line for as long as `work` takes. */
  async function changed(index: number, change: string, work: (seq: number) => Promise<void>): Promise<void> {
    const { seq } = written[index]!;
    const line = `WHERE id & 0xffffffff = ${seq}`;
    db.exec(`CREATE TEMP TABLE kept AS SELECT * FROM entry ${line}; UPDATE entry SET ${change} ${line}`);
    await work(seq);
    db.exec("REPLACE INTO entry SELECT * FROM kept; DROP TABLE kept");
  }
  const places = [0, 100, 249, 250, 251, 500, 750, LINES - 1];

  const changes = ["body = replace(body, 'line', 'lime')", "at = at + 1", "count = count + 1", "body = NULL"];
  test.each(changes)("P7: one with %s is named", async (change) => {
    for (const index of places)
      await changed(index, change, async (seq) => {
        await expect(store.load(key)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT", details: { seq } });
      });
    expect((await loaded(0))?.length).toBe(LINES);
  });

  test("P7: one with a damaged crc is returned as it is, or named", async () => {
    for (const index of places)
      await changed(index, "crc = crc + 1", async (seq) => {
        for (const after of [0, seq - 1, seq])
          await loaded(after).then(
            (lines) => expect(lines).toEqual(written.filter((line) => line.seq + line.count - 1 > after)),
            (error) => expect(error).toMatchObject({ code: "JOURNAL_CORRUPT" }),
          );
      });
  });
});
