import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "@belay/testkit";
import { afterAll, describe, expect, it } from "vitest";
import type { Store } from "../../index.ts";
import type { Append } from "../store.ts";
import { sqliteStore } from "./sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-"));
afterAll(() => rmSync(folder, { recursive: true }));

const key = { tenant: "t", threadId: "thread" };
const command = { key: "k", kind: "steer", body: "{}", at: 1 } as const;
let ids = 0;

function append(expect: number, writer: Append["writer"], more: Partial<Append> = {}): Append {
  const appendId = `a${++ids}`;
  return {
    appendId,
    expect,
    count: 1,
    at: 1,
    body: "{}",
    writer,
    release: false,
    agent: "a",
    state: "running",
    ...more,
  };
}

/** Two processes' views of one file, and a thread that the first has written to. */
async function pair(file: string): Promise<{ ours: Store; theirs: Store; fence: number }> {
  const ours = sqliteStore(await openDatabase(join(folder, file)));
  const theirs = sqliteStore(await openDatabase(join(folder, file)));
  const first = await ours.append(key, append(0, { take: "us", ttlMs: 60_000 }));
  if (!first.ok) throw new Error(first.why);
  return { ours, theirs, fence: first.fence };
}

describe("a row that a store remembers", () => {
  it("is not overwritten if another process sent a command in the meantime: the command is reported, and can be taken back", async () => {
    const { ours, theirs, fence } = await pair("command.db");
    await theirs.send(key, command);
    expect(await ours.append(key, append(1, { fence, ttlMs: 60_000 }))).toMatchObject({ ok: true, mail: true });
    expect(await theirs.withdraw(key, "k")).toBe(true);
    expect(await ours.append(key, append(2, { fence, ttlMs: 60_000 }))).toMatchObject({ ok: true, mail: false });
    expect((await theirs.load(key))?.lines).toHaveLength(3);
  });

  it("F3: is not written over where another process took the thread over", async () => {
    const { ours, theirs, fence } = await pair("taken.db");
    await theirs.release(key, fence);
    const taken = await theirs.append(key, append(1, { take: "them", ttlMs: 60_000 }));
    expect(taken.ok).toBe(true);
    for (const expected of [1, 2]) {
      const refused = await ours.append(key, append(expected, { fence, ttlMs: 60_000 }));
      expect(refused).toMatchObject({ ok: false, why: "fenced" });
    }
    expect(await ours.append(key, append(2, { take: "us", ttlMs: 60_000 }))).toMatchObject({ ok: false, why: "busy" });
    expect((await theirs.load(key))?.lines).toHaveLength(2);
  });

  it("F3: adds no request and no rule if the row has changed, and each once if the append is written after all", async () => {
    const { ours, theirs, fence } = await pair("asking.db");
    const brings = (id: string) => ({ raise: [{ id, body: id }], remember: [{ id, at: 1, body: id }] });
    await theirs.send(key, { ...command, kind: "answer" });
    const rest = { from: 1, dueAt: 5 };
    await ours.append(key, append(1, { fence, ttlMs: 60_000 }, { ...brings("first"), rest }));
    expect((await theirs.load(key))?.row).toMatchObject({ answered: true, rest });
    await theirs.release(key, fence);
    await theirs.append(key, append(2, { take: "them", ttlMs: 60_000 }, { close: ["first"] }));
    for (const expected of [2, 3])
      expect(await ours.append(key, append(expected, { fence, ttlMs: 60_000 }, brings("second")))).toMatchObject({
        why: "fenced",
      });
    expect([await ours.requests("t"), await theirs.requestThread("t", "second")]).toEqual([[], undefined]);
    expect((await ours.rules("t")).map(({ id }) => id)).toEqual(["first"]);
    expect((await ours.load(key))?.row).toMatchObject({ answered: true, head: 3 });
  });

  it("Q9: reads at once the rules that this and another process added and removed, although it caches them", async () => {
    const { ours, theirs, fence } = await pair("rules.db");
    const rules = async () => (await ours.rules("t")).map(({ id }) => id);
    const remembers = (id: string) => ({ remember: [{ id, at: 1, body: id }] });
    expect(await rules()).toEqual([]);
    await ours.append(key, append(1, { fence, ttlMs: 60_000 }, remembers("ours")));
    expect(await rules()).toEqual(["ours"]);
    await ours.release(key, fence);
    await theirs.append(key, append(2, { take: "them", ttlMs: 60_000 }, remembers("theirs")));
    expect(await rules()).toEqual(["ours", "theirs"]);
    expect(await ours.rules("another tenant")).toEqual([]);
    await theirs.removeRule("t", "ours");
    expect(await rules()).toEqual(["theirs"]);
    await ours.removeRule("t", "theirs");
    expect(await rules()).toEqual([]);
  });

  it("C3: is not taken where another process holds the lease, though it was free when this store left it", async () => {
    const { ours, theirs, fence } = await pair("held.db");
    await ours.append(key, append(1, { fence, ttlMs: 60_000 }, { release: true }));
    const taken = await theirs.append(key, append(2, { take: "them", ttlMs: 60_000 }, { count: 1 }));
    expect(taken.ok).toBe(true);
    expect(await ours.append(key, append(2, { take: "us", ttlMs: 60_000 }))).toMatchObject({ ok: false, why: "busy" });
    expect((await ours.load(key))?.row.lease?.owner).toBe("them");
  });

  it("is written over after a release, unless another process wrote to it since", async () => {
    const { ours, theirs, fence } = await pair("released.db");
    await ours.release(key, fence);
    const again = await ours.append(key, append(1, { take: "us", ttlMs: 60_000 }));
    expect(again).toMatchObject({ ok: true, mail: false });
    await ours.release(key, (again as { fence: number }).fence);
    await theirs.send(key, command);
    expect(await ours.append(key, append(2, { take: "us", ttlMs: 60_000 }))).toMatchObject({ ok: true, mail: true });
    const held = (await theirs.load(key))!.row.lease!;
    await ours.release(key, held.fence);
    expect(await theirs.append(key, append(3, { take: "them", ttlMs: 60_000 }))).toMatchObject({ ok: true });
    expect(await ours.append(key, append(3, { take: "us", ttlMs: 60_000 }))).toMatchObject({ ok: false, why: "busy" });
    expect((await theirs.load(key))?.lines).toHaveLength(4);
  });

  it("P7: a writer that takes it again after damage gets the error, and nothing is written", async () => {
    const changes = [
      "created_at = created_at + 1",
      "state = 'completed'",
      "open = open + 1",
      "rest_due = 5",
      "parent = 'p'",
      "name = name + 1",
      "agent = 'b'",
      "hash = x'00'",
    ];
    for (const [i, change] of changes.entries()) {
      const file = join(folder, `changed-${i}.db`);
      const { ours, fence } = await pair(`changed-${i}.db`);
      const reader = sqliteStore(await openDatabase(file));
      await ours.append(key, append(1, { fence, ttlMs: 60_000 }, { release: true }));
      await reader.load(key, "rest");
      (await openDatabase(file)).exec(`UPDATE thread SET ${change}`);
      for (const store of [reader, ours]) {
        const taken = store.append(key, append(2, { take: "us", ttlMs: 60_000 }));
        await expect(taken, change).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
      }
    }
  });

  it("P7: nor is anything written where only the kind of a value has changed, which one bit does", async () => {
    for (const column of ["tenant", "id", "parent"]) {
      const { ours, theirs, fence } = await pair(`kind-${column}.db`);
      await ours.release(key, fence);
      const fork = { ...key, threadId: "fork" };
      const parent = { threadId: key.threadId, seq: 1 };
      await ours.append(fork, append(1, { take: "us", ttlMs: 60_000 }, { parent, release: true }));
      const db = await openDatabase(join(folder, `kind-${column}.db`));
      db.exec(`UPDATE thread SET ${column} = CAST(${column} AS BLOB) WHERE id = 'fork'`);
      const taken = await ours.append(fork, append(2, { take: "us", ttlMs: 60_000 })).catch((error) => error);
      expect(taken, column).not.toMatchObject({ ok: true });
      expect((await theirs.past(fork))?.lines ?? [], column).toHaveLength(column === "parent" ? 2 : 0);
    }
  });
});

it("Z1: a thread that sleeps is due at its time alone: not from an answer on that was taken back, and the same after a release", async () => {
  const { ours, theirs, fence } = await pair("sleeping.db");
  const dueAt = Date.now() + 60_000;
  const due = async () => (await theirs.due(10)).map(({ threadId }) => threadId);
  await ours.append(key, append(1, { fence, ttlMs: 60_000 }, { state: "paused", rest: { from: 2, dueAt } }));
  await ours.release(key, fence);
  expect(await due()).toEqual([]);
  await theirs.send(key, { ...command, kind: "answer" });
  expect(await due()).toEqual(["thread"]);
  expect(await theirs.withdraw(key, "k")).toBe(true);
  expect(await due()).toEqual([]);
  const again = await ours.append(
    key,
    append(2, { take: "us", ttlMs: 60_000 }, { state: "paused", rest: { from: 2, dueAt: 5 } }),
  );
  expect(await due()).toEqual([]);
  await ours.release(key, (again as { fence: number }).fence);
  expect((await theirs.due(10)).map(({ since }) => since)).toEqual([5]);
});
