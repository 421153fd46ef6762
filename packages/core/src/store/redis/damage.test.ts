import { randomUUID } from "node:crypto";
import { crc32 } from "node:zlib";
import { service } from "@belay/testkit";
import { redisServer } from "@belay/testkit/processes";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Store } from "../../index.ts";
import type { Append, RequestRow, ThreadKey } from "../store.ts";
import { redisStore } from "./redis.ts";

let client: Redis;
let store: Store;
let prefix: string;
let base: string;
const key: ThreadKey = { tenant: "acme", threadId: "t" };
const fork: ThreadKey = { tenant: "acme", threadId: "f" };

const append = (expect: number, more: Partial<Append> = {}): Append => ({
  appendId: randomUUID(),
  expect,
  count: 1,
  at: 1_700_000_000_000,
  body: `{"line":${expect + 1},"words":"some é words, and as many more as it takes for two texts to have one crc"}`,
  writer: { take: "me", ttlMs: 60_000 },
  release: true,
  agent: "a",
  state: "paused",
  ...more,
});

beforeEach(async () => {
  client = new Redis(await service("redis"));
  prefix = `belay-test-${randomUUID()}`;
  base = `${prefix}:{t:acme}`;
  store = redisStore(client, { prefix });
  for (let head = 0; head < 4; head++) await store.append(key, append(head));
  const raise = [
    { id: "r", body: "may I?", expiresAt: 5 },
    { id: "s", body: "and this?" },
  ];
  const brings = { raise, remember: [{ id: "u", at: 1, body: "yes" }] };
  await store.append(key, append(4, { ...brings, snapshot: "what was", rest: { from: 2, dueAt: 9 } }));
  await store.append(fork, append(3, { parent: { threadId: "t", seq: 3 } }));
  for (const kind of ["input", "answer"] as const) await store.send(key, { key: kind, kind, body: kind, at: 7 });
});

afterEach(async () => {
  await client.quit();
  await redisServer.remove(`${await service("redis")}?prefix=${prefix}`);
});

/** Everything that the store can be asked, each answer or the code of its refusal. */
async function told(): Promise<Record<string, unknown>> {
  const asked: Record<string, () => Promise<unknown>> = {
    whole: () => store.load(key),
    after: () => store.load(key, 3),
    snapshot: () => store.load(key, "snapshot"),
    rest: () => store.load(key, "rest"),
    fork: () => store.load(fork),
    threads: () => store.threads("acme"),
    requests: () => store.requests("acme"),
    rules: () => store.rules("acme"),
  };
  const answers = await Promise.all(
    Object.values(asked).map((ask) => ask().catch((error: { code?: string }) => `refused: ${error.code}`)),
  );
  return Object.fromEntries(Object.keys(asked).map((name, i) => [name, answers[i]]));
}

/** Another character in its place, which the same number of bytes holds. */
function flipped(text: string, at: number): string {
  const code = text.charCodeAt(at);
  return text.slice(0, at) + String.fromCharCode(code < 128 ? code ^ 1 : code) + text.slice(at + 1);
}

/** A way to put a changed text in the place of each text that the store keeps. */
async function places(): Promise<
  { readonly name: string; readonly text: string; put(text: string): Promise<unknown> }[]
> {
  const found = [];
  for (const name of await client.keys(`${prefix}:*`)) {
    const kind = await client.type(name);
    if (kind === "hash" && !name.endsWith(":known") && !name.endsWith(":raised") && name !== base)
      for (const [field, text] of Object.entries(await client.hgetall(name)))
        found.push({ name: `${name} ${field}`, text, put: (given: string) => client.hset(name, field, given) });
    if (kind === "string" && !name.includes(":did:"))
      found.push({ name, text: (await client.get(name))!, put: (given: string) => client.set(name, given) });
    if (kind === "stream") {
      const entries = await client.xrange(name, "-", "+");
      for (const [id, [, text]] of entries)
        found.push({
          name: `${name} ${id}`,
          text: text!,
          async put(given: string) {
            const again = client.multi().del(name);
            for (const [each, [, kept]] of entries) again.xadd(name, each, "l", each === id ? given : kept!);
            await again.exec();
          },
        });
    }
  }
  return found;
}

describe("a Redis with damaged values", () => {
  test("P7: a changed character in any text is refused or without effect: no read returns a wrong value", {
    timeout: 300_000,
  }, async () => {
    const before = await told();
    expect(Object.values(before).filter((answer) => typeof answer === "string")).toEqual([]);
    const all = await places();
    expect(all.length).toBeGreaterThan(10);
    let [refused, damaged] = [0, 0];
    for (const { name, text, put } of all) {
      const step = Math.max(1, Math.floor(text.length / 12));
      for (let at = 0; at < text.length; at += step) {
        const changed = flipped(text, at);
        if (changed === text) continue;
        await put(changed);
        const now = await told();
        for (const [what, answer] of Object.entries(now)) {
          if (typeof answer === "string" && /^refused: (JOURNAL|STORE)_CORRUPT$/.test(answer)) refused += 1;
          else if (what === "threads") {
            // An unreadable row is reported only by its name.
            const rows = (answer as { threadId: string; damaged?: true }[]).filter((row) => row.damaged !== true);
            for (const row of rows) expect(before.threads, `${name} at ${at}`).toContainEqual(row);
          } else if (what === "snapshot") {
            // A cache: without it all lines come.
            if (JSON.stringify(answer) !== JSON.stringify(before.snapshot))
              expect(answer, `${name} at ${at}`).toEqual(before.whole);
          } else if (what === "requests" && isDamaged(answer)) {
            damaged += 1;
            // It is not reported, and the others are unchanged.
            const rows = answer as RequestRow[];
            expect(rows, `${name} at ${at}`).toHaveLength((before.requests as RequestRow[]).length);
            for (const { id, threadId, ...rest } of rows)
              if (rest.damaged) expect(rest, `${name} at ${at}`).toEqual({ body: "", damaged: true });
              else expect(before.requests, `${name} at ${at}`).toContainEqual({ id, threadId, ...rest });
            expect(
              rows.filter((row) => row.damaged),
              `${name} at ${at}`,
            ).toHaveLength(1);
          } else if (name.includes(":requests") || name.includes(":rules") || name.includes(":mail")) {
            // The numbers before them are their order, and nothing else.
            expect(sorted(answer), `${name} at ${at}: ${what}`).toEqual(sorted(before[what]));
          } else expect(answer, `${name} at ${at}: ${what}`).toEqual(before[what]);
        }
        await put(text);
      }
    }
    expect(await told()).toEqual(before);
    expect(refused).toBeGreaterThan(100);
    expect(damaged).toBeGreaterThan(20);
  });

  test("P7: a line that is gone, or the last ones, is JOURNAL_CORRUPT; past() returns the readable lines before it", async () => {
    const journals = await client.keys(`${base}:j:*:lines`);
    const lengths = await Promise.all(journals.map((each) => client.xlen(each)));
    const journal = journals[lengths.indexOf(5)]!;
    await client.xdel(journal, "3-0");
    await expect(store.load(key)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
    const past = await store.past(key);
    expect(past?.lines.map(({ seq }) => seq)).toEqual([1, 2]);
    expect(past?.damage).toMatchObject({ seq: 3, error: { code: "JOURNAL_CORRUPT" } });
    expect((await store.past(key, 2))?.damage).toBeUndefined();
    await expect(store.load(fork)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
    await client.del(journal);
    await expect(store.load(key)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
    expect(await store.delete(key)).toBe(true);
    expect(await store.load(key)).toBeUndefined();
  });

  test("P7: another text that meets the same crc is found by past(), which proves the sha256 chain, too", async () => {
    const all = await places();
    const whole = { lines: 5, seq: undefined, problem: undefined };
    const past = async (of: ThreadKey, to?: number) => {
      const { lines = [], damage } = (await store.past(of, to)) ?? {};
      return { lines: lines.length, seq: damage?.seq, problem: damage?.error.details.problem };
    };
    expect([await past(key), await past(fork)]).toEqual([whole, { ...whole, lines: 4 }]);
    for (const [line, forked] of [
      [2, true],
      [5, false],
    ] as const) {
      const { text, put } = all.find(({ text }) => text.includes(`{"line":${line},"words"`))!;
      const body = append(line - 1).body;
      await put(text.replace(body, sameCrc(body)));
      expect((await store.load(key))?.lines[line - 1]?.body).toBe(sameCrc(body));
      const found = { lines: line - 1, seq: line, problem: "a line does not fit its hash" };
      expect(await past(key)).toEqual(found);
      expect(await past(key, line - 1)).toEqual({ ...whole, lines: line - 1 });
      expect(await past(fork)).toEqual(forked ? found : { ...whole, lines: 4 });
      await put(text);
    }
    expect(await past(key)).toEqual(whole);
  });

  test("P7: a thread with a damaged row is listed as such, refuses writers, and can be deleted", async () => {
    const row = (await client.hget(`${base}:threads`, "t"))!;
    await client.hset(`${base}:threads`, "t", flipped(row, row.length - 3));
    expect((await store.threads("acme")).map(({ threadId, damaged }) => [threadId, damaged])).toContainEqual([
      "t",
      true,
    ]);
    await expect(store.append(key, append(5))).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
    await expect(store.send(key, { key: "x", kind: "steer", body: "", at: 1 })).rejects.toMatchObject({
      code: "JOURNAL_CORRUPT",
    });
    expect(await store.past(key)).toMatchObject({ lines: [], damage: { seq: 0 } });
    expect(await store.delete(key)).toBe(true);
    expect((await store.threads("acme")).map(({ threadId }) => threadId)).toEqual(["f"]);
    expect((await store.load(fork))?.lines).toHaveLength(4);
  });
});

/** Another text with the same crc. Each letter in the other case changes the crc in its own way: among so many, some cancel out. */
function sameCrc(text: string): string {
  const swap = (at: number) => text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 32) + text.slice(at + 1);
  const basis: { readonly sum: number; readonly places: ReadonlySet<number> }[] = [];
  for (const { index: at } of text.matchAll(/[a-z]/g)) {
    let sum = (crc32(swap(at)) ^ crc32(text)) >>> 0;
    const places = new Set([at]);
    for (const known of basis) {
      if ((sum ^ known.sum) >>> 0 >= sum) continue;
      sum = (sum ^ known.sum) >>> 0;
      for (const place of known.places) if (!places.delete(place)) places.add(place);
    }
    if (sum === 0) return [...text].map((letter, i) => (places.has(i) ? letter.toUpperCase() : letter)).join("");
    basis.push({ sum, places });
    basis.sort((a, b) => b.sum - a.sum);
  }
  throw new Error("too few letters");
}

function isDamaged(answer: unknown): boolean {
  return (answer as RequestRow[]).some(({ damaged }) => damaged);
}

/** Lists in an order of their own, commands of a thread among them. */
function sorted(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map((each) => JSON.stringify(each)).sort();
  const { commands, ...rest } = answer as { commands?: unknown[] };
  return commands === undefined ? answer : { ...rest, commands: sorted(commands) };
}
