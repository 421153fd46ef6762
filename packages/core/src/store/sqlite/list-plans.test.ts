// Each filter alone is answered by an index (L4): SQLite says so itself.

import { openDatabase } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import type { ThreadQuery } from "../store.ts";
import type { SqlValue } from "./database.ts";
import { statementFor } from "./listing.ts";
import { sqliteStore } from "./sqlite.ts";

const after = { at: 50, id: "t" };
const cases: readonly (readonly [name: string, query: Omit<ThreadQuery, "limit">, index: RegExp])[] = [
  ["no filter", {}, /SEARCH l USING INDEX listing_at \(tenant=\?/],
  ["state", { state: "completed" }, /SEARCH l USING INDEX listing_state \(tenant=\? AND state=\?/],
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
    expect(plan).toMatch(/SEARCH l USING INDEX listing_state \(tenant=\? AND state=\?\)/);
    db.close();
  });

  test("L4: an append of a running thread that keeps running writes no list", async () => {
    const db = await openDatabase(":memory:");
    const store = sqliteStore(db);
    const key = { tenant: "default", threadId: "t" };
    const append = { count: 1, body: "[]", release: false, agent: "a", state: "running" } as const;
    const writer = { take: "me", ttlMs: 60_000 };
    const named = { title: "T", labels: { env: "prod" } };
    const appended = await store.append(key, { ...append, appendId: "1", expect: 0, at: 1, writer, named });
    const { fence } = appended as { fence: number };
    const lists = () => ["listing", "label", "word"].map((table) => db.prepare(`SELECT * FROM ${table}`).all());
    const before = lists();
    await store.append(key, { ...append, appendId: "2", expect: 1, at: 2, writer: { fence, ttlMs: 60_000 } });
    expect(lists()).toEqual(before);
    expect((await store.page("default", { limit: 1 }))[0]!.updatedAt).toBe(2);
    db.close();
  });
});
