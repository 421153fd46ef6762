import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { history, lastText, openDatabase, openKit } from "@belay/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { agent, createRunner, jsonSchema, tool } from "../../index.ts";
import { scriptedModel } from "../../testing/index.ts";
import type { DatabaseSync } from "./database.ts";
import { sqliteStore } from "./sqlite.ts";

const MB = 1024 * 1024;
let folder: string;
let db: DatabaseSync;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "belay-size-"));
  db = await openDatabase(join(folder, "threads.db"));
});
afterEach(() => {
  db.close();
  rmSync(folder, { recursive: true, force: true });
});

const anything = jsonSchema({ type: "object" });

function giving(value: unknown, ran: string[] = []) {
  return tool({
    name: "give",
    description: "",
    input: anything,
    execute: (_, ctx) => {
      ran.push(ctx.address);
      return value;
    },
  });
}

const blobs = () => db.prepare("SELECT tenant, LENGTH(body) AS length FROM blob ORDER BY tenant").all();

describe("large values", () => {
  test("P12: five megabytes in a result and in an input come back whole", async () => {
    const value = { rows: Array.from({ length: 50 }, (_, i) => `${i}:${"é".repeat(52_000)}`) };
    const input = "q".repeat(5 * MB);
    const kit = await openKit([[{ call: "give", id: "g" }], "done"], {
      store: sqliteStore(db),
      tools: [giving(value)],
    });
    expect(await kit.session.run(input).result).toMatchObject({ status: "completed" });
    const again = await openKit([], { store: sqliteStore(db) });
    expect(again.session.messages[0]!.parts).toEqual([{ type: "text", text: input }]);
    expect(again.session.messages[2]!.parts).toMatchObject([{ type: "result", output: value }]);
    expect(blobs()).toHaveLength(2);
  });

  test("P12: a body over 64 KiB is kept apart, once for each tenant, and goes when nothing needs it any more", async () => {
    const store = sqliteStore(db);
    const body = JSON.stringify({ text: "z".repeat(70_000) });
    const common = { expect: 0, count: 1, at: 1, agent: "a", state: "running", release: true } as const;
    const put = (tenant: string, threadId: string) =>
      store.append(
        { tenant, threadId },
        { ...common, body, appendId: `${tenant} ${threadId}`, writer: { take: "me", ttlMs: 1 } },
      );
    for (const threadId of ["a", "b"]) for (const tenant of ["one", "two"]) await put(tenant, threadId);
    expect(blobs()).toEqual([
      { tenant: "one", length: body.length },
      { tenant: "two", length: body.length },
    ]);
    await store.delete({ tenant: "one", threadId: "a" });
    expect((await store.load({ tenant: "one", threadId: "b" }))?.lines[0]?.body).toBe(body);
    await store.delete({ tenant: "one", threadId: "b" });
    expect(blobs()).toEqual([{ tenant: "two", length: body.length }]);
  });
});

describe("values that are too large", () => {
  const limited = (turns: Parameters<typeof scriptedModel>[0], tools = [giving("x")]) => {
    const model = scriptedModel(turns);
    const runner = createRunner({
      agent: agent({ name: "helper", model, tools }),
      store: sqliteStore(db),
      maxBytes: 1_000,
    });
    return { model, runner };
  };

  test("P12: an input is refused with INPUT_TOO_LARGE before anything happens, whichever way it comes", async () => {
    const { model, runner } = limited([[{ text: "some" }, { stall: true }], "done"]);
    const session = await runner.open("thread");
    const large = "i".repeat(1_001);
    const refused = expect.objectContaining({ code: "INPUT_TOO_LARGE" });
    expect(() => session.run(large)).toThrow(refused);
    expect(() => session.run(["i".repeat(600), "i".repeat(600)])).toThrow(refused);
    expect(() => session.run([{ parts: [{ type: "file", mediaType: "a/b", data: { base64: large } }] }])).toThrow(
      refused,
    );
    await expect(session.steer(large)).rejects.toEqual(refused);
    await expect(session.enqueue(large)).rejects.toEqual(refused);
    expect([session.state, model.requests.length, (await runner.threads()).items]).toEqual(["created", 0, []]);
    const run = session.run("ok");
    for await (const event of run) if (event.type === "text-delta") break;
    await session.interrupt();
    expect(() => session.resume({ input: large })).toThrow(refused);
    expect(session.state).toBe("paused");
    expect(await session.resume({ input: "go on" }).result).toMatchObject({ status: "completed" });
  });

  test("P12, F5: a result becomes a sentence that says so; the tool ran once and does not run again", async () => {
    const ran: string[] = [];
    const value = { text: "ü".repeat(2_000) };
    const bytes = Buffer.byteLength(JSON.stringify(value));
    const { runner } = limited([[{ call: "give", id: "g" }], "done"], [giving(value, ran)]);
    const session = await runner.open("thread");
    expect(await session.run("go").result).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["helper/t1/c0"]);
    const output = `Ran, result too large to store (${bytes} bytes).`;
    expect(session.messages[2]!.parts).toMatchObject([{ outcome: "ok", output }]);
    expect(history(session.messages)).toEqual(["user: go", "assistant: call g", "tool: g ok", "assistant: done"]);
  });

  test("P12: an error of a tool, and its yields before a stop, have the same limit", async () => {
    const tools = [
      tool({
        name: "throws",
        description: "",
        input: anything,
        execute: () => Promise.reject(new Error("e".repeat(5_000))),
      }),
      tool({
        name: "yields",
        description: "",
        input: anything,
        graceMs: 1,
        async *execute(_, ctx) {
          for (let i = 0; i < 20; i++) yield "y".repeat(100);
          await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
          await new Promise(() => {});
        },
      }),
    ];
    const { runner } = limited([[{ call: "throws", id: "t" }], [{ call: "yields", id: "y" }], "done"], tools);
    const session = await runner.open("thread");
    const run = session.run("go");
    let progress = 0;
    for await (const event of run) if (event.type === "tool-progress" && ++progress === 20) break;
    await session.interrupt();
    const outputs = session.messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "result" ? [part] : [])),
    );
    expect(outputs).toMatchObject([
      { outcome: "error", output: "Ran, result too large to store (5002 bytes)." },
      { outcome: "interrupted", output: expect.stringContaining("Output too large to store (2061 bytes).") },
    ]);
    expect(lastText(session.messages)).toBe("");
  });

  test("maxBytes that mean nothing are refused", () => {
    const definition = agent({ name: "helper", model: scriptedModel([]) });
    for (const maxBytes of [0, -1, Number.NaN])
      expect(() => createRunner({ agent: definition, maxBytes })).toThrow(
        expect.objectContaining({ code: "OPTION_INVALID" }),
      );
  });
});

describe("the log beside the file", () => {
  test("is soon overwritten; for a busy writer it is longer, and bounded all the same", async () => {
    const store = sqliteStore(db);
    db.exec("PRAGMA synchronous = OFF");
    const key = { tenant: "t", threadId: "long" };
    let seq = 0;
    const megabytesAfter = async (writes: number) => {
      for (; seq < writes; seq++) {
        const line = { appendId: `${seq}`, expect: seq, count: 1, at: 1, body: "x".repeat(2_000) };
        const more = { writer: { take: "me", ttlMs: 1_000 }, release: true, agent: "a", state: "running" } as const;
        expect(await store.append(key, { ...line, ...more })).toMatchObject({ ok: true });
      }
      return statSync(join(folder, "threads.db-wal")).size / MB;
    };
    expect(await megabytesAfter(950)).toBeLessThan(1.5);
    const longer = await megabytesAfter(2_000);
    expect(longer).toBeGreaterThan(3);
    expect(longer).toBeLessThan(5);
    expect(await megabytesAfter(3_000)).toBeLessThan(longer + 0.1);
  });
});
