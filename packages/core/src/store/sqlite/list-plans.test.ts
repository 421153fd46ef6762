// Each filter alone is answered by an index (L4): SQLite says so itself.

import { openDatabase } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import type { ThreadQuery } from "../store.ts";
import type { DatabaseSync, SqlValue } from "./database.ts";
import { statementFor } from "./listing.ts";
import { sqliteStore } from "./sqlite.ts";

const after = { at: 50, id: "t" };
const cases: readonly (readonly [name: string, query: Omit<ThreadQuery, "limit">, index: RegExp])[] = [
  ["no filter", {}, /SEARCH l USING INDEX listing_at \(tenant=\?/],
  ["state", { state: "completed" }, /SEARCH l USING INDEX listing_state \(state=\? AND tenant=\?/],
  ["pauseType", { pauseType: "manual" }, /SEARCH l USING INDEX listing_pause \(tenant=\? AND pause=\?/],
  ["agent", { agent: "a" }, /SEARCH l USING INDEX listing_agent \(tenant=\? AND agent=\?/],
  ["label", { label: { env: "prod" } }, /SEARCH label USING PRIMARY KEY \(tenant=\? AND key=\? AND value=\?/],
  ["search", { words: ["dep"] }, /SEARCH word USING PRIMARY KEY \(tenant=\? AND word>\? AND word<\?\)/],
];

describe("a page of threads on SQLite", () => {
  test.each(cases)("L4: %s is answered by an index, in the order of the list", async (name, query, index) => {
    const db = await openDatabase(":memory:");
    sqliteStore(db);
    for (const place of [{}, { after }]) {
      const [text, values] = statementFor("default", { ...query, ...place, limit: 50 }, false);
      const rows = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(values as SqlValue[])) as { detail: string }[];
      const plan = rows.map(({ detail }) => detail).join("\n");
      expect(plan).toMatch(index);
      expect(plan).not.toMatch(/SCAN (l|thread|label|word|request)\b/);
      // A search has its threads by their words, and puts them in order.
      expect(/TEMP B-TREE FOR ORDER BY/.test(plan)).toBe(name === "search");
    }
    db.close();
  });

  test("L4: running threads are found by their state", async () => {
    const db = await openDatabase(":memory:");
    sqliteStore(db);
    const [text, values] = statementFor("default", { limit: 50 }, true);
    const rows = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(values as SqlValue[])) as { detail: string }[];
    const plan = rows.map(({ detail }) => detail).join("\n");
    expect(plan).toMatch(/SEARCH l USING INDEX listing_state \(state=\? AND tenant=\?\)/);
    db.close();
  });

  test("L4: a search for words that very many threads have reads the list from its beginning, not all of them", async () => {
    const db = await openDatabase(":memory:");
    const texts: string[] = [];
    const observed: DatabaseSync = {
      exec: (text) => db.exec(text),
      close: () => db.close(),
      prepare(text) {
        texts.push(text);
        return db.prepare(text);
      },
    };
    const store = sqliteStore(observed);
    for (let i = 0; i < 1_200; i += 1) {
      const append = { appendId: `a${i}`, expect: 0, count: 1, at: i, body: "[]", release: true, agent: "a" } as const;
      // Words of which one begins another, and a few threads in which it is only a part of one.
      const named = { title: i % 100 === 0 ? `Undeploy ${i}` : `Deployment of part${i % 7}`, labels: {} };
      const writer = { take: "me", ttlMs: 1_000 };
      await store.append({ tenant: "t", threadId: `t${i}` }, { ...append, writer, state: "completed", named });
    }
    const found = async (words: string[], limit: number) => {
      texts.length = 0;
      return (await store.page("t", { words, limit })).map(({ updatedAt }) => updatedAt);
    };
    const meant = Array.from({ length: 1_200 }, (_, i) => 1_199 - i).filter((i) => i % 100 !== 0);
    expect(await found(["deploy"], 150)).toEqual(meant.slice(0, 150));
    expect(texts.some((text) => text.includes("INDEXED BY listing_at") && !text.includes("FROM word"))).toBe(true);
    const third = meant.filter((i) => i % 7 === 3);
    expect(await found(["deploy", "part3"], 50)).toEqual(third.slice(0, 50));
    expect(texts.some((text) => text.includes("NOT INDEXED"))).toBe(true);
    expect(await found(["part3", "deploy"], 1_000)).toEqual(third);
    expect(await found(["deploy", "undep"], 10)).toEqual([]);
    db.close();
  });

  test.each(["running", "paused"] as const)(
    "L4: an append that keeps a held thread %s writes no list, and its place is right once it is let go",
    async (state) => {
      const db = await openDatabase(":memory:");
      const store = sqliteStore(db);
      const key = { tenant: "default", threadId: "t" };
      const append = { count: 1, body: "[]", release: false, agent: "a", state } as const;
      const writer = { take: "me", ttlMs: 60_000 };
      const named = { title: "T", labels: { env: "prod" } };
      const appended = await store.append(key, { ...append, appendId: "1", expect: 0, at: 1, writer, named });
      const { fence } = appended as { fence: number };
      const lists = () =>
        ["SELECT * FROM listing", "SELECT * FROM label", "SELECT * FROM word", "SELECT due FROM thread"].map((text) =>
          db.prepare(text).all(),
        );
      const before = lists();
      await store.append(key, { ...append, appendId: "2", expect: 1, at: 2, writer: { fence, ttlMs: 60_000 } });
      expect(lists()).toEqual(before);
      await store.release(key, fence);
      const listedAt = async () => (await store.page("default", { limit: 1 }))[0]!.updatedAt;
      expect(await listedAt()).toBe(2);
      const [listing] = lists();
      const again = await store.append(key, { ...append, appendId: "3", expect: 2, at: 3, writer });
      expect(lists()[0]).toEqual(listing);
      await store.release(key, (again as { fence: number }).fence);
      expect(await listedAt()).toBe(3);
      db.close();
    },
  );
});
