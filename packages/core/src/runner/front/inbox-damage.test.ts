import { happens, openDatabase, paying, requestOf, waiting } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, type LogEntry } from "../../index.ts";
import type { DatabaseSync } from "../../store/sqlite/database.ts";
import { sqliteStore } from "../../store/sqlite/sqlite.ts";

/** Two threads that ask, on one file; and the entries of the log. */
async function asking() {
  const db = await openDatabase(":memory:");
  const store = sqliteStore(db);
  const { tools, ran } = paying();
  const log: LogEntry[] = [];
  const runner = { log: (entry: LogEntry) => log.push(entry) };
  const one = await waiting(["a", "b"], { store, tools, threadId: "one", runner });
  const two = await waiting(["c"], { store, tools, threadId: "two", runner });
  const [a, b, c] = [requestOf(one, "a").id, requestOf(one, "b").id, requestOf(two, "c").id];
  return { db, one, two, log, ran, a, b, c };
}

const change = (db: DatabaseSync, set: string, id: string) =>
  db.prepare(`UPDATE request SET ${set} WHERE id = ?`).run(id);

describe("an inbox with a damaged request", () => {
  test("P7, Q9: has all others, as they are, and can be answered; beside them it names the damaged request and its thread", async () => {
    const { db, one, two, ran, a, b, c } = await asking();
    const whole = await one.runner.inbox();
    change(db, "body = replace(body, 'pay', 'say')", a);
    const inbox = await two.runner.inbox();
    expect(inbox.items).toEqual(whole.items.filter(({ id }) => id !== a));
    expect(inbox.items.map(({ id }) => id)).toEqual([b, c]);
    expect(inbox.damaged).toEqual([{ id: a, threadId: "one" }]);
    await expect(two.runner.answer(a, approve())).rejects.toMatchObject({ code: "STORE_CORRUPT" });
    await two.runner.answer(c, approve());
    await happens(ran, "pay 1");
    expect(await two.runner.inbox()).toMatchObject({ items: [{ id: b }], damaged: [{ id: a }] });
    // Judged by the journal, and not by the damaged row.
    expect(one.session.interrupts.map(({ id, tool }) => [id, tool])).toEqual([
      [a, "pay"],
      [b, "pay"],
    ]);
  });

  test("P7: names the damaged request under every filter, except if it is proven to be of another thread", async () => {
    const { db, one, a, b } = await asking();
    change(db, "expires_at = 1", a);
    const damaged = async (filter: object) => (await one.runner.inbox(filter)).damaged;
    const told = [{ id: a, threadId: "one" }];
    expect(await damaged({ kind: "input" })).toEqual(told);
    expect(await damaged({ tool: "nothing" })).toEqual(told);
    expect(await damaged({ by: "nobody" })).toEqual(told);
    expect(await damaged({ threadId: "one" })).toEqual(told);
    expect(await damaged({ threadId: "two" })).toEqual([]);
    // Now it names a thread that never asked it; and another has an id that was never raised.
    change(db, "thread = (SELECT num FROM thread WHERE id = 'two')", a);
    change(db, "id = 'nobody''s'", b);
    expect(await damaged({ threadId: "two" })).toEqual([{ id: a }, { id: "nobody's" }]);
  });

  test("P7: an inbox names a damaged request also if nothing else is in it", async () => {
    const { db, one, a, b, c } = await asking();
    const whole = await one.runner.inbox();
    expect([whole.items.length, whole.damaged]).toEqual([3, []]);
    for (const id of [a, b, c]) change(db, "body = ''", id);
    const empty = await one.runner.inbox();
    expect([empty.items, empty.damaged.length]).toEqual([[], 3]);
  });

  test("P7: each damaged request is logged once", async () => {
    const { db, one, log, a, c } = await asking();
    await one.runner.inbox();
    expect(log).toEqual([]);
    change(db, "crc = crc + 1", a);
    await one.runner.inbox();
    await one.runner.inbox({ threadId: "two" });
    change(db, "crc = crc + 1", c);
    await one.runner.inbox();
    const heard = log.map(({ level, error, threadId }) => [level, error.code, error.message, threadId]);
    expect(heard).toEqual(
      [a, c].map((id) => [
        "warn",
        "STORE_CORRUPT",
        `The database cannot be read: request ${id} does not fit its checksum.`,
        "",
      ]),
    );
  });

  test("P7: a thread that cannot be read has damaged requests only, and hides no other's", async () => {
    const { db, one, a, b, c } = await asking();
    db.exec("UPDATE thread SET id = 'onf' WHERE id = 'one'");
    const inbox = await one.runner.inbox();
    expect([inbox.items.map(({ id }) => id), inbox.damaged]).toEqual([[c], [{ id: a }, { id: b }]]);
  });

  test("T2: a fork raises the damaged request anew; without the other thread the inbox is whole", async () => {
    const { db, one, two, ran, a, c } = await asking();
    change(db, "name = name + 1", a);
    const { threadId } = (await two.runner.inbox()).damaged[0] as { threadId: string };
    const { row } = (await two.store.load({ tenant: "default", threadId }))!;
    const { session } = await one.runner.fork(threadId, { at: row.head, as: "again" });
    await one.runner.delete(threadId);
    const inbox = await one.runner.inbox();
    expect([inbox.items.map(({ threadId: of }) => of), inbox.damaged]).toEqual([["two", "again", "again"], []]);
    expect(inbox.items[0]!.id).toBe(c);
    for (const { id } of inbox.items.slice(1)) await session.answer(id, approve());
    await happens(ran, "pay 2");
    expect((await one.runner.inbox()).items.map(({ id }) => id)).toEqual([c]);
  });
});
