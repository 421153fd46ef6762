import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readFacts } from "../../runner/read-facts.ts";
import { jsonSchema } from "../../schema/schema.ts";
import { openDatabase } from "../../testing/open-database.ts";
import { history, line, openKit } from "../../testing/session-kit.ts";
import { tool } from "../../tool/tool.ts";
import type { DatabaseSync } from "./database.ts";
import { sqliteStore } from "./sqlite.ts";

// golden/v1.sql is a database as version 1 of schema and journal wrote it, as SQL. It is never made anew: what it holds
// must stay readable for ever. A new version gets a file of its own.

let folder: string;
let db: DatabaseSync;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "belay-golden-"));
  db = await openDatabase(join(folder, "threads.db"));
  db.exec(readFileSync(new URL("golden/v1.sql", import.meta.url), "utf8"));
});
afterEach(() => {
  db.close();
  rmSync(folder, { recursive: true, force: true });
});

const any = jsonSchema({ type: "object" });
const tools = ["look", "big", "fails", "deaf"].map((name) =>
  tool({ name, description: "", input: any, readOnly: name === "look", execute: () => "now" }),
);
const opened = (threadId: string, turns: string[] = []) => openKit(turns, { store: sqliteStore(db), tools, threadId });

/** Tables and indexes, without the way they are written. */
function schemaOf(database: DatabaseSync): string[] {
  const rows = database.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").all() as { sql: string }[];
  return rows.map(({ sql }) => sql.replace(/[\s()]+/g, " ").trim()).sort();
}

describe("a database of version 1", () => {
  test("C4, P17: has, once opened, the tables of a new one", async () => {
    sqliteStore(db);
    const fresh = await openDatabase(join(folder, "fresh.db"));
    sqliteStore(fresh);
    expect(schemaOf(db)).toEqual(schemaOf(fresh));
    fresh.close();
  });

  test("C4: lists its threads", async () => {
    const rows = await sqliteStore(db).threads("default");
    expect(rows.map(({ threadId, state, head, queued }) => [threadId, state, head, queued])).toEqual([
      ["crashed", "running", 9, true],
      ["failed", "error", 7, false],
      ["interrupted", "paused", 16, false],
      ["completed", "completed", 16, false],
    ]);
  });

  test("C4: tells its histories, with every byte of a large result", async () => {
    const { session } = await opened("completed");
    expect(history(session.messages)).toEqual([
      "user: first question",
      'user: and "a quoted one"',
      "assistant: reasoning + I look. + call l1 + call f1",
      "tool: l1 ok + f1 error",
      "assistant: call b1",
      "tool: b1 ok",
      "assistant: All done. \0 \ud800",
    ]);
    expect(session.messages[3]!.parts).toMatchObject([
      { output: { seen: [1, "zwei", null], kéy: true } },
      { output: "no such order" },
    ]);
    expect(session.messages[5]!.parts).toMatchObject([{ output: "x".repeat(66_000) }]);
    const facts = await readFacts(sqliteStore(db), { tenant: "default", threadId: "interrupted" }, 0);
    expect(facts.map(line)).toEqual([
      "state initialized",
      "run-start",
      "state running",
      "message user: what is a belay?",
      "message assistant~ana: A belay has a rope",
      "interrupted by ana",
      "state paused user_interrupt",
      "state running rethink",
      "message user: shorter, please",
      "message assistant: new answer + call d1 + call l2",
      "tool-start d1",
      "tool-start l2",
      "tool-end l2 ok",
      "tool-end d1 interrupted",
      "interrupted by user",
      "state paused user_interrupt",
    ]);
  });

  test("C4: its threads go on: after a stop, an error and a crash, with what waited for them", async () => {
    const interrupted = await opened("interrupted", ["went on"]);
    expect(await interrupted.session.resume().result).toMatchObject({ status: "completed", text: "went on" });
    expect(history(interrupted.session.messages).slice(-3)).toEqual([
      "tool: d1 interrupted + l2 ok",
      "user: also this",
      "assistant: went on",
    ]);
    const failed = await opened("failed", [" and the rest"]);
    expect(failed.session.state).toBe("error");
    expect(await failed.session.resume().result).toMatchObject({ status: "completed" });
    const crashed = await opened("crashed", ["went on", "answered"]);
    expect(crashed.session).toMatchObject({ state: "paused", pauseType: "crash" });
    await crashed.session.resume().result;
    while (crashed.requests.length < 2 || crashed.session.state !== "completed")
      await new Promise((resolve) => setTimeout(resolve, 2));
    expect(history(crashed.session.messages)).toEqual([
      "user: go",
      "assistant: call d2 + call l3",
      "tool: d2 unknown + l3 ok",
      "assistant: went on",
      "user: queued question",
      "assistant: answered",
    ]);
    for (const kit of [interrupted, failed, crashed]) expect(kit.problems()).toEqual([]);
  });
});
