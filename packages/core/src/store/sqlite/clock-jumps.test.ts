import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factProblems, factsOf, history, onPoint, openDatabase, openKit } from "@belay/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../clock.ts";
import { type Clock, jsonSchema, tool } from "../../index.ts";
import type { DatabaseSync } from "./database.ts";
import { sqliteStore } from "./sqlite.ts";

const DAY = 86_400_000;
const key = { tenant: "default", threadId: "thread" };
let folder: string;
let db: DatabaseSync;
let skew: number;
const clock: Clock = { ...systemClock, now: () => Date.now() + skew };

beforeEach(async () => {
  skew = 0;
  folder = mkdtempSync(join(tmpdir(), "belay-clock-"));
  db = await openDatabase(join(folder, "threads.db"));
});
afterEach(() => {
  db.close();
  rmSync(folder, { recursive: true, force: true });
});

const look = tool({ name: "look", description: "", input: jsonSchema({ type: "object" }), execute: () => "seen" });
const script = ({ messages }: { messages: readonly { role: string }[] }) =>
  messages.filter(({ role }) => role === "tool").length < 3 ? [{ call: "look" }] : "done";

describe("a clock that jumps", () => {
  test.each([
    ["forward", DAY],
    ["backward", -DAY],
  ])("P11: %s by a day at every append changes nothing of a run", async (_, jump) => {
    const store = sqliteStore(db, { clock });
    const kit = await openKit(script, { store, clock, tools: [look] });
    const off = onPoint((name) => {
      if (name === "append:before") skew += jump;
    });
    try {
      expect(await kit.session.run("go").result).toMatchObject({ status: "completed", text: "done" });
      expect(await kit.session.run("again").result).toMatchObject({ status: "completed" });
    } finally {
      off();
    }
    expect(factProblems(await factsOf(store))).toEqual([]);
    expect(history(kit.session.messages)).toHaveLength(10);
    expect(kit.problems()).toEqual([]);
    expect((await store.load(key))?.row.lease).toBeUndefined();
  });

  test("P11, C3: forward, the lease can be taken early: its owner is fenced, nothing is doubled", async () => {
    const store = sqliteStore(db, { clock });
    const first = await openKit([[{ text: "some" }, { wait: 200 }, { text: " more" }]], { store, clock });
    const run = first.session.run("go");
    for await (const event of run) if (event.type === "text-delta") break;
    skew += DAY;
    const second = await openKit(["mine now"], { store, clock });
    expect(await second.session.resume().result).toMatchObject({ status: "completed", text: "mine now" });
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "FENCED" } });
    expect(history(second.session.messages)).toEqual(["user: go", "assistant: mine now"]);
  });

  test("P11, C3: backward, a lease lasts longer, and its owner can still give it back", async () => {
    const store = sqliteStore(db, { clock });
    const first = await openKit([[{ text: "some" }, { stall: true }], "went on"], { store, clock });
    const run = first.session.run("go");
    for await (const event of run) if (event.type === "text-delta") break;
    skew -= DAY;
    const other = await openKit([], { store, clock });
    expect(other.session.state).toBe("running");
    await other.runner.close();
    await first.session.interrupt();
    const second = await openKit(["went on"], { store, clock });
    expect(await second.session.resume().result).toMatchObject({ status: "completed" });
  });
});
