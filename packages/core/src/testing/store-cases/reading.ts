// Reading: from any cursor, one tenant at a time, any characters, and nothing that was handed out changes later.

import { deepEqual, equal, ok } from "node:assert/strict";
import type { Line } from "../../journal/codec.ts";
import { command, type StoreCheck, sleep, times } from "./bench.ts";

/** Strings that are easily taken for one another, cut, or changed on the way. */
const ODD = [
  "plain",
  "Plain",
  "plain ",
  " plain",
  "pla\nin",
  "pla\0in",
  "plain\0",
  "\0",
  "\ud800",
  "\udc00",
  "\ud800\ud800",
  "\ufffd",
  "caf\u00e9",
  "cafe\u0301",
  "👩‍👩‍👧",
  "a/b",
  "a:b",
  "%",
  "_",
  "*",
  "'; --",
  '"',
  "\\",
  "\\0",
  "\\u0000",
  "__proto__",
  "constructor",
  "null",
  "0",
  "00",
  "x".repeat(200),
];

export const readingCases = {
  "lines can be read after any cursor, also in the middle of one": async (t) => {
    const key = t.key();
    const counts = [1, 3, 2, 1];
    const fence = await t.append(key, t.taking(0, { count: counts[0]! }));
    let head = 1;
    for (const count of counts.slice(1)) {
      await t.append(key, t.writing(fence, head, { count }));
      head += count;
    }
    const { lines } = await t.load(key);
    deepEqual(
      lines.map(({ seq, count }) => [seq, count]),
      [
        [1, 1],
        [2, 3],
        [5, 2],
        [7, 1],
      ],
    );
    for (let after = 0; after <= head + 2; after++) {
      const loaded = await t.load(key, after);
      deepEqual(
        [...loaded.lines],
        lines.filter((line) => line.seq + line.count - 1 > after),
        `after ${after}`,
      );
      equal(loaded.row.head, head);
    }
    deepEqual([...(await t.load(key, Number.MAX_SAFE_INTEGER)).lines], []);
  },

  "reads without waiting give the present lines": async (t) => {
    const { store } = t;
    if (store.linesSync === undefined) return;
    const key = t.key();
    deepEqual([...store.linesSync(key)], []);
    const fence = await t.append(key, t.taking(0));
    const early = store.linesSync(key);
    const lines = structuredClone(early);
    await t.append(key, t.writing(fence, 1));
    deepEqual(early, lines, "lines that were handed out changed");
    deepEqual([...store.linesSync(key)], [...(await t.load(key)).lines]);
  },

  "reads without waiting are of the known thread, and of none made again under its name": async (t) => {
    const { store } = t;
    if (store.linesSync === undefined) return;
    const key = t.key();
    await t.append(key, t.taking(0, { at: 10, release: true }));
    deepEqual([...store.linesSync(key, 10)], [...(await t.load(key)).lines]);
    await store.delete(key);
    deepEqual([...store.linesSync(key, 10)], []);
    await t.append(key, t.taking(0, { at: 20, release: true }));
    deepEqual([...store.linesSync(key, 10)], []);
    deepEqual([...store.linesSync(key, 20)], [...(await t.load(key)).lines]);
  },

  "returned values do not change later, with any use of them": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    await t.store.send(key, command("a"));
    const loaded = await t.load(key);
    const rows = await t.store.threads(t.tenant);
    const copy = structuredClone({ loaded, rows });
    await t.store.send(key, command("b"));
    await t.append(key, t.writing(fence, 1, { consume: ["a"], state: "paused", at: 5_000, release: true }));
    const now = structuredClone(await t.load(key));
    deepEqual({ loaded, rows }, copy);
    const mine = await t.load(key);
    (mine.lines as Line[]).length = 0;
    (mine.commands as unknown[]).push(command("c"));
    (await t.store.threads(t.tenant)).length = 0;
    deepEqual(await t.load(key), now);
  },

  "many lines come back, all of them and each once, from any cursor": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    for (let head = 1; head < 1_002; head++)
      await t.append(key, t.writing(fence, head, { body: `line \x1e ${head + 1}` }));
    for (const after of [0, 1, 2, 3, 499, 500, 501, 502, 998, 1_001, 1_002]) {
      const { lines } = await t.load(key, after);
      deepEqual(
        lines.map((line) => line.seq),
        times(1_002 - after, (i) => after + 1 + i),
      );
      if (after > 0) deepEqual(lines.at(-1)?.body, after < 1_002 ? "line \x1e 1002" : undefined);
    }
  },

  "the rest state of a thread begins at its last line, or at an earlier one that it names": async (t) => {
    const key = t.key();
    const seqs = async () => (await t.store.load(key, "rest"))?.lines.map((line) => line.seq);
    equal(await t.store.load(key, "rest"), undefined);
    const fence = await t.append(key, t.taking(0, { count: 2 }));
    deepEqual(await seqs(), [1]);
    await t.append(key, t.writing(fence, 2, { count: 3 }));
    deepEqual(await seqs(), [3]);
    // A seq in the middle of a line: that line is the first.
    await t.append(key, t.writing(fence, 5, { rest: { from: 4 } }));
    deepEqual(await seqs(), [3, 6]);
    await t.append(key, t.writing(fence, 6, { rest: { from: 1, dueAt: 5 } }));
    deepEqual(await seqs(), [1, 3, 6, 7]);
    await t.append(key, t.writing(fence, 7));
    deepEqual(await seqs(), [8]);
  },

  "a snapshot comes back with the lines after it, the last one only, and changes nothing else": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0, { count: 2 }));
    equal((await t.store.load(key, "snapshot"))?.snapshot, undefined);
    equal((await t.store.load(key, "snapshot"))?.lines.length, 1);
    await t.append(key, t.writing(fence, 2, { snapshot: "first \u0000 \ud800" }));
    const first = await t.store.load(key, "snapshot");
    deepEqual(first?.snapshot, { seq: 2, body: "first \u0000 \ud800" });
    deepEqual(
      first?.lines.map((line) => line.seq),
      [3],
    );
    await t.refused(key, t.writing(fence, 2, { snapshot: "refused" }), { why: "conflict" });
    await t.append(key, t.writing(fence, 3, { snapshot: "second" }));
    const second = await t.store.load(key, "snapshot");
    deepEqual(second?.snapshot, { seq: 3, body: "second" });
    deepEqual(
      second?.lines.map((line) => line.seq),
      [4],
    );
    const whole = await t.load(key);
    deepEqual([whole.snapshot, whole.lines.map((line) => line.seq)], [undefined, [1, 3, 4]]);
    await t.store.delete(key);
    await t.append(key, t.taking(0));
    equal((await t.store.load(key, "snapshot"))?.snapshot, undefined);
  },

  "passed values may change later without effect": async (t) => {
    const key = t.key();
    const given = { ...command("k") };
    const consume = ["c"];
    const fence = await t.append(key, t.taking(0));
    await t.store.send(key, given);
    for (const name of ["c", "changed"]) await t.store.send(key, command(name));
    const append = { ...t.writing(fence, 1), consume };
    await t.append(key, append);
    const before = structuredClone(await t.load(key));
    Object.assign(given, { body: "changed", key: "changed" });
    Object.assign(append, { body: "changed", appendId: "changed" });
    consume.push("changed");
    deepEqual(await t.load(key), before);
  },

  "tenants see nothing of each other": async (t) => {
    const other = `${t.tenant}-other`;
    const [mine, theirs] = [t.key(), t.key("thread", other)];
    await t.append(mine, t.taking(0, { owner: "mine" }));
    equal(await t.store.load(theirs), undefined);
    deepEqual(await t.store.threads(other), []);
    const before = await t.load(mine);
    await t.append(theirs, t.taking(0, { owner: "theirs", count: 4 }));
    await t.store.send(theirs, command("k"));
    equal((await t.store.threads(other)).length, 1);
    await t.store.delete(theirs);
    deepEqual(await t.load(mine), before);
    deepEqual(await t.store.threads(other), []);
  },

  "threads are listed as they are, the last changed first": async (t) => {
    const at = { a: 30, b: 10, c: 20 };
    for (const [id, when] of Object.entries(at)) await t.append(t.key(id), t.taking(0, { at: when, release: true }));
    const listed = async () => (await t.store.threads(t.tenant)).map((row) => row.threadId);
    deepEqual(await listed(), ["a", "c", "b"]);
    await t.append(t.key("b"), t.taking(1, { at: 40, state: "completed", agent: "other" }));
    deepEqual(await listed(), ["b", "a", "c"]);
    for (const row of await t.store.threads(t.tenant)) deepEqual(row, (await t.load(t.key(row.threadId))).row);
  },

  "a deleted thread is gone with its commands, and can be made again from nothing": async (t) => {
    const key = t.key();
    await t.store.delete(key);
    await t.append(key, t.taking(0, { count: 3, at: 5 }));
    await t.append(t.key("other"), t.taking(0));
    await t.store.send(key, command("k"));
    await t.store.delete(key);
    equal(await t.store.load(key), undefined);
    deepEqual(
      (await t.store.threads(t.tenant)).map((row) => row.threadId),
      ["other"],
    );
    await t.append(key, t.taking(0, { at: 7, body: "new" }));
    const { row, lines, commands } = await t.load(key);
    deepEqual([row.head, row.createdAt, lines.length, commands.length], [1, 7, 1, 0]);
    equal(await t.store.send(key, command("k")), true);
  },

  "names of any characters are kept apart and come back as given": async (t) => {
    const owners = new Map<string, string>();
    for (const odd of ODD) {
      const key = t.key(odd);
      equal(await t.store.load(key), undefined, `${JSON.stringify(odd)} is taken for another name`);
      owners.set(odd, odd);
      await t.append(key, t.taking(0, { owner: odd, agent: odd, appendId: odd }));
      for (const name of ODD) equal(await t.store.send(key, command(name, { body: name })), true);
    }
    for (const odd of ODD) {
      const { row, commands } = await t.load(t.key(odd));
      deepEqual([row.threadId, row.agent, row.lease?.owner], [odd, odd, owners.get(odd)]);
      deepEqual(
        commands.map(({ key, body }) => [key, body]),
        ODD.map((name) => [name, name]),
      );
      await t.append(t.key(odd), t.writing(row.lease!.fence, 1, { consume: [odd] }));
      equal((await t.keys(t.key(odd))).includes(odd), false);
    }
    equal((await t.store.threads(t.tenant)).length, ODD.length);
  },

  "a tenant and a thread do not run into each other": async (t) => {
    for (const separator of ["\n", "\0", "/", ":", "|", " ", "\u001f"]) {
      const [a, b] = [`${t.tenant}a`, "b"];
      const one = t.key(`${b}${separator}c`, a);
      const two = t.key("c", `${a}${separator}${b}`);
      await t.append(one, t.taking(0));
      equal(await t.store.load(two), undefined, `separated by ${JSON.stringify(separator)}`);
      deepEqual(await t.store.threads(two.tenant), []);
    }
  },

  "a body comes back character by character": async (t) => {
    const key = t.key();
    const bodies = [...ODD, "", JSON.stringify(ODD), ODD.join(""), "\ufeffx", "a\r\nb"];
    const fence = await t.append(key, t.taking(0, { body: bodies[0]! }));
    for (const [i, body] of bodies.slice(1).entries()) await t.append(key, t.writing(fence, i + 1, { body }));
    deepEqual(await t.bodies(key), bodies);
  },

  "a body of a megabyte comes back whole, more than once": async (t) => {
    const body = JSON.stringify(`${"long 👩‍👩‍👧 ".repeat(90_000)}`);
    ok(body.length > 1_000_000);
    const keys = [t.key("one"), t.key("two")];
    for (const key of keys) {
      const fence = await t.append(key, t.taking(0, { body }));
      await t.append(key, t.writing(fence, 1, { body }));
    }
    await t.store.send(keys[1]!, command("k", { body }));
    await t.store.delete(keys[0]!);
    equal(
      (await t.bodies(keys[1]!)).every((each) => each === body),
      true,
    );
    equal((await t.load(keys[1]!)).commands[0]?.body === body, true);
  },

  "a journal of many lines comes back in order": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0, { body: "0" }));
    for (let i = 1; i < 150; i++) await t.append(key, t.writing(fence, i, { body: String(i) }));
    deepEqual(await t.bodies(key), times(150, String));
  },

  "a watcher gets appends and commands, also of a thread that did not exist, until it leaves": async (t) => {
    const key = t.key();
    let told = 0;
    const leave = t.store.watch(key, () => {
      told += 1;
    });
    const hears = async (what: string, act: () => Promise<unknown>) => {
      const before = told;
      await act();
      await t.until(() => told > before, `a hint after ${what}`);
      await sleep(30);
    };
    let fence = 0;
    await hears("the first append", async () => {
      fence = await t.append(key, t.taking(0));
    });
    await hears("an append", () => t.append(key, t.writing(fence, 1)));
    await hears("a command", () => t.store.send(key, command("k")));
    await t.store.delete(key);
    await sleep(30);
    await hears("an append to the thread made again", () => t.append(key, t.taking(0)));
    leave();
    const before = told;
    await t.store.send(key, command("l"));
    await sleep(60);
    equal(told, before, "told after it had left");
  },

  "watchers are distinct, also if they are the same function": async (t) => {
    const key = t.key();
    let told = 0;
    const changed = () => {
      told += 1;
    };
    const [leave, leaveToo] = [t.store.watch(key, changed), t.store.watch(key, changed)];
    leave();
    await t.append(key, t.taking(0));
    await t.until(() => told > 0, "a hint for the watcher that stayed");
    leaveToo();
  },
} satisfies Record<string, StoreCheck>;
