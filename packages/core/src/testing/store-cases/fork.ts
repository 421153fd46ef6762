// Forks: the past of another thread, shared and not copied; the readable part of any past; and removal that keeps the lines of
// forks.

import { deepEqual, equal, ok } from "node:assert/strict";
import type { Append, ThreadKey } from "../../store/store.ts";
import { type Bench, command, fenceOf, type StoreCheck, times } from "./bench.ts";

/** A thread of lines with these counts, given back. Its bodies are its name and their numbers, from 1 on. */
async function written(t: Bench, threadId: string, counts: readonly number[]): Promise<ThreadKey> {
  const key = t.key(threadId);
  let head = 0;
  for (const [i, count] of counts.entries()) {
    await t.append(key, t.taking(head, { count, body: `${threadId}${i + 1}`, release: true, at: 1_000 + i }));
    head += count;
  }
  return key;
}

/** The first append of a fork. */
function forking(t: Bench, threadId: string, seq: number, more: Partial<Append> = {}): Append {
  return t.taking(seq, { parent: { threadId, seq }, release: true, ...more });
}

async function refusesFork(t: Bench, key: ThreadKey, append: Append): Promise<void> {
  await t.refused(key, append, { why: "orphan" });
}

export const forkCases = {
  "a fork has the lines of its parent up to its point, then its own; the parent does not change": async (t) => {
    const parent = await written(t, "p", [1, 3, 2]);
    const before = await t.load(parent);
    const key = t.key("f");
    await t.append(key, forking(t, "p", 4, { body: "f1", count: 2, at: 5_000, agent: "other" }));
    await t.append(key, t.taking(6, { body: "f2", at: 6_000, release: true }));
    const { row, lines } = await t.load(key);
    deepEqual(
      lines.map(({ seq, count, body }) => [seq, count, body]),
      [
        [1, 1, "p1"],
        [2, 3, "p2"],
        [5, 2, "f1"],
        [7, 1, "f2"],
      ],
    );
    deepEqual([...lines.slice(0, 2)], [...before.lines.slice(0, 2)]);
    deepEqual([row.head, row.createdAt, row.parent], [7, 5_000, { threadId: "p", seq: 4 }]);
    deepEqual(await t.load(parent), before);
    equal(before.row.parent, undefined);
  },

  "a fork can be read after any cursor, in its own lines, its parent's, and in the middle of one": async (t) => {
    await written(t, "p", [2, 1, 3, 1]);
    const key = t.key("f");
    await t.append(key, forking(t, "p", 6, { count: 2 }));
    await t.append(key, t.taking(8, { count: 3 }));
    const { lines } = await t.load(key);
    for (let after = 0; after <= 13; after++) {
      const expected = lines.filter((line) => line.seq + line.count - 1 > after);
      deepEqual([...(await t.load(key, after)).lines], expected, `after ${after}`);
    }
    if (t.store.linesSync !== undefined) deepEqual([...t.store.linesSync(key)], [...lines]);
  },

  "a fork of a fork continues from the thread that has the line": async (t) => {
    await written(t, "a", [2, 2, 2]);
    await t.append(t.key("b"), forking(t, "a", 4, { body: "b1", count: 2 }));
    await t.append(t.key("b"), t.taking(6, { body: "b2", release: true }));
    const points: Record<string, [number, string[]]> = {
      c: [6, ["a1", "a2", "b1"]],
      d: [4, ["a1", "a2"]],
      e: [2, ["a1"]],
      f: [7, ["a1", "a2", "b1", "b2"]],
    };
    for (const [id, [seq]] of Object.entries(points)) await t.append(t.key(id), forking(t, "b", seq, { body: id }));
    for (const [id, [seq, bodies]] of Object.entries(points)) {
      deepEqual(await t.bodies(t.key(id)), [...bodies, id]);
      deepEqual((await t.load(t.key(id))).row.parent, { threadId: "b", seq });
    }
    await t.append(t.key("g"), forking(t, "c", 7, { body: "g" }));
    deepEqual(await t.bodies(t.key("g")), ["a1", "a2", "b1", "c", "g"]);
    deepEqual(await t.bodies(t.key("b")), ["a1", "a2", "b1", "b2"]);
  },

  "a fork of no line is a new thread with a parent": async (t) => {
    await written(t, "p", [2]);
    await t.append(t.key("f"), forking(t, "p", 0, { body: "f1" }));
    const { row, lines } = await t.load(t.key("f"));
    deepEqual([row.head, row.parent, lines.map((line) => line.body)], [1, { threadId: "p", seq: 0 }, ["f1"]]);
    deepEqual((await t.store.past(t.key("f")))?.lines.length, 1);
  },

  "a fork is refused if its parent does not exist, or has no line that ends there": async (t) => {
    await written(t, "p", [1, 3, 2]);
    await t.append(t.key("f"), forking(t, "p", 4));
    const key = t.key("new");
    for (const seq of [2, 3, 5, 7, 100]) await refusesFork(t, key, forking(t, "p", seq));
    for (const seq of [2, 3, 6]) await refusesFork(t, key, forking(t, "f", seq));
    await refusesFork(t, key, forking(t, "not there", 1));
    await refusesFork(t, key, forking(t, "not there", 0));
    await refusesFork(t, key, forking(t, "new", 0));
    await refusesFork(t, t.key("new", `${t.tenant}-other`), forking(t, "p", 4));
    await t.refused(key, t.taking(1, { parent: { threadId: "p", seq: 4 } }), { why: "conflict", head: 4 });
    await t.refused(key, t.writing(1, 4, { parent: { threadId: "p", seq: 4 } }), { why: "fenced", owner: undefined });
    await t.refused(key, forking(t, "p", 4, { consume: ["k"] }), { why: "gone", keys: ["k"] });
    deepEqual((await t.store.threads(t.tenant)).map((row) => row.threadId).sort(), ["f", "p"]);
  },

  "a fork does not replace an existing thread, with any holder of its lease": async (t) => {
    await written(t, "p", [1, 3]);
    const taken = await written(t, "taken", [1]);
    await t.refused(taken, forking(t, "p", 1), { why: "conflict", head: 1 });
    await t.refused(t.key("p"), forking(t, "p", 4), { why: "conflict", head: 4 });
    await t.append(taken, t.taking(1));
    await t.refused(taken, forking(t, "p", 1), { why: "conflict", head: 2 });
  },

  "a fork repeated under its id is made once; of many made at once under one name one is": async (t) => {
    await written(t, "p", [1, 3]);
    const first = forking(t, "p", 4);
    const fence = await t.append(t.key("f"), first);
    equal(await t.append(t.key("f"), first), fence);
    equal((await t.load(t.key("f"))).lines.length, 3);
    const answers = await Promise.all(times(8, () => t.store.append(t.key("g"), forking(t, "p", 1))));
    equal(answers.filter((answer) => answer.ok).length, 1);
    ok(answers.every((answer) => answer.ok || answer.why === "conflict"));
  },

  "a fork has its own lease, commands, requests, rest and snapshot": async (t) => {
    const parent = t.key("p");
    const snapshot = { snapshot: "of the parent" };
    await t.append(parent, t.taking(0, { release: true, raise: [{ id: `r-${t.tenant}`, body: "may I?" }] }));
    await t.append(parent, t.taking(1, { rest: { from: 1, dueAt: 5 }, release: true, ...snapshot }));
    await t.store.send(parent, command("k"));
    const key = t.key("f");
    const fence = fenceOf(await t.store.append(key, forking(t, "p", 2, { release: false, owner: "mine" } as never)));
    const { row, commands } = await t.load(key);
    deepEqual([row.rest, row.queued, row.answered, commands.length], [undefined, false, false, 0]);
    equal((await t.load(parent)).row.lease, undefined);
    const fresh = await t.store.load(key, "snapshot");
    if (fresh?.snapshot === undefined) equal(fresh?.lines.length, 3);
    equal(await t.store.send(key, command("k")), true);
    equal(await t.store.requestThread(t.tenant, `r-${t.tenant}`), "p");
    deepEqual(
      (await t.store.load(key, "rest"))?.lines.map(({ seq }) => seq),
      [3],
    );
    await t.append(key, t.writing(fence, 3, { rest: { from: 2 }, snapshot: "of the fork" }));
    deepEqual(
      (await t.store.load(key, "rest"))?.lines.map(({ seq }) => seq),
      [2, 3, 4],
    );
    deepEqual((await t.store.load(key, "snapshot"))?.snapshot, { seq: 3, body: "of the fork" });
    deepEqual((await t.store.load(parent, "snapshot"))?.snapshot, { seq: 1, body: "of the parent" });
    await t.store.delete(key);
    deepEqual([(await t.keys(parent)).length, (await t.store.requests(t.tenant)).length], [1, 1]);
  },

  "a fork with a snapshot of its shared past is read from the snapshot": async (t) => {
    await written(t, "p", [2, 2]);
    await t.append(t.key("f"), forking(t, "p", 4, { snapshot: "at 4" }));
    const loaded = await t.store.load(t.key("f"), "snapshot");
    deepEqual([loaded?.snapshot, loaded?.lines.map(({ seq }) => seq)], [{ seq: 4, body: "at 4" }, [5]]);
  },

  "deleting a parent keeps the lines that its forks need, and shows them nowhere else": async (t) => {
    const large = `long ${"x".repeat(70_000)}`;
    const parent = t.key("p");
    await t.append(parent, t.taking(0, { count: 2, body: large, release: true }));
    await t.append(parent, t.taking(2, { body: "p2", release: true }));
    await t.append(parent, t.taking(3, { body: large, release: true }));
    await t.append(t.key("f"), forking(t, "p", 3, { body: "f1" }));
    await t.append(t.key("g"), forking(t, "f", 2, { body: "g1" }));
    await t.append(t.key("h"), forking(t, "f", 4, { body: "h1" }));
    equal(await t.store.delete(parent), true);
    equal(await t.store.load(parent), undefined);
    equal(await t.store.past(parent), undefined);
    if (t.store.linesSync !== undefined) deepEqual([...t.store.linesSync(parent)], []);
    equal(await t.store.delete(parent), false);
    await refusesFork(t, t.key("i"), forking(t, "p", 3));
    deepEqual((await t.store.threads(t.tenant)).map((row) => row.threadId).sort(), ["f", "g", "h"]);
    equal(await t.store.delete(t.key("f")), true);
    deepEqual(await t.bodies(t.key("g")), [large, "g1"]);
    deepEqual(await t.bodies(t.key("h")), [large, "p2", "f1", "h1"]);
    deepEqual((await t.load(t.key("h"))).row.parent, { threadId: "f", seq: 4 });
    await t.append(t.key("h"), t.taking(5, { body: "h2" }));
    deepEqual(await t.bodies(t.key("h")), [large, "p2", "f1", "h1", "h2"]);
    equal(await t.store.delete(t.key("h")), true);
    deepEqual(await t.bodies(t.key("g")), [large, "g1"]);
    await t.append(t.key("j"), forking(t, "g", 3, { body: "j1" }));
    equal(await t.store.delete(t.key("g")), true);
    deepEqual(await t.bodies(t.key("j")), [large, "g1", "j1"]);
  },

  "a parent that was deleted and made again is another thread": async (t) => {
    await written(t, "p", [1, 1, 1]);
    await t.append(t.key("f"), forking(t, "p", 2, { body: "f1" }));
    await t.store.delete(t.key("p"));
    await t.append(t.key("p"), t.taking(0, { body: "new 1", release: true }));
    await t.append(t.key("p"), t.taking(1, { body: "new 2", release: true }));
    deepEqual(await t.bodies(t.key("p")), ["new 1", "new 2"]);
    deepEqual(await t.bodies(t.key("f")), ["p1", "p2", "f1"]);
    await t.append(t.key("g"), forking(t, "p", 1, { body: "g1" }));
    await t.store.delete(t.key("f"));
    deepEqual(await t.bodies(t.key("g")), ["new 1", "g1"]);
    deepEqual(await t.bodies(t.key("p")), ["new 1", "new 2"]);
    await t.store.delete(t.key("p"));
    deepEqual(await t.bodies(t.key("g")), ["new 1", "g1"]);
  },

  "a fork deleted and made again continues from its new parent": async (t) => {
    await written(t, "p", [1, 1]);
    await written(t, "q", [1, 1]);
    for (const parent of ["p", "q", "p"]) {
      await t.append(t.key("f"), forking(t, parent, 2, { body: "f1" }));
      deepEqual(await t.bodies(t.key("f")), [`${parent}1`, `${parent}2`, "f1"]);
      equal(await t.store.delete(t.key("f")), true);
    }
    deepEqual(await t.bodies(t.key("p")), ["p1", "p2"]);
  },

  "many forks of many forks each have their own past": async (t) => {
    await written(t, "t0", [1, 1]);
    const expected = new Map([["t0", ["t01", "t02"]]]);
    for (let i = 1; i < 40; i++) {
      const ids = [...expected.keys()];
      const of = ids[(i * 7) % ids.length]!;
      const bodies = expected.get(of)!;
      const seq = 1 + ((i * 5) % bodies.length);
      const id = `t${i}`;
      await t.append(t.key(id), forking(t, of, seq, { body: `${id}1` }));
      await t.append(t.key(id), t.taking(seq + 1, { body: `${id}2`, release: true }));
      expected.set(id, [...bodies.slice(0, seq), `${id}1`, `${id}2`]);
      if (i % 3 !== 0) continue;
      const gone = ids[(i * 11) % ids.length]!;
      equal(await t.store.delete(t.key(gone)), true);
      expected.delete(gone);
    }
    for (const [id, bodies] of expected) deepEqual(await t.bodies(t.key(id)), bodies, id);
  },

  "the past of a thread is its lines up to a point, whole ones only": async (t) => {
    equal(await t.store.past(t.key("p")), undefined);
    await written(t, "p", [1, 3, 2]);
    await t.append(t.key("f"), forking(t, "p", 4, { count: 2, agent: "other" }));
    await t.append(t.key("f"), t.taking(6, { count: 2, agent: "other" }));
    for (const id of ["p", "f"]) {
      const { lines, row } = await t.load(t.key(id));
      for (let to = 0; to <= 9; to++) {
        const past = await t.store.past(t.key(id), to);
        deepEqual(
          [...(past?.lines ?? [])],
          lines.filter(({ seq, count }) => seq + count - 1 <= to),
          `${id} up to ${to}`,
        );
        deepEqual([past?.agent, past?.damage], [row.agent, undefined]);
      }
      deepEqual([...((await t.store.past(t.key(id)))?.lines ?? [])], [...lines]);
    }
  },

  "deleting says whether there was anything": async (t) => {
    const key = t.key();
    equal(await t.store.delete(key), false);
    equal(await t.store.delete(key, 0), false);
    await t.append(key, t.taking(0));
    equal(await t.store.delete(key), true, "a lease does not keep it");
    equal(await t.store.delete(key), false);
  },

  "a thread that moved on, is held, or has an input or an answer waiting is not deleted by its head": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0, { count: 2, ttlMs: t.short }));
    const stays = async (head: number) => {
      const before = await t.load(key);
      equal(await t.store.delete(key, head), false);
      deepEqual(await t.load(key), before);
    };
    await stays(2);
    await t.append(key, t.writing(fence, 2, { release: true }));
    await stays(2);
    await stays(4);
    await t.store.send(key, command("i", { kind: "input" }));
    await stays(3);
    await t.append(key, t.taking(3, { consume: ["i"], release: true }));
    await t.store.send(key, command("a", { kind: "answer" }));
    await stays(4);
    await t.append(key, t.taking(4, { consume: ["a"], ttlMs: t.short }));
    await t.store.send(key, command("s", { kind: "steer" }));
    await stays(5);
    await t.past(t.short);
    equal(await t.store.delete(key, 5), true, "a lease that has ended does not keep it");
    equal(await t.store.load(key), undefined);
  },

  "of those that delete a thread by its head and those that take it, one does": async (t) => {
    for (let i = 0; i < 10; i++) {
      const key = t.key(`t${i}`);
      await t.append(key, t.taking(0, { release: true }));
      const [deleted, appended, deletedToo] = await Promise.all([
        t.store.delete(key, 1),
        t.store.append(key, t.taking(1)),
        t.store.delete(key, 1),
      ]);
      deepEqual([deleted, deletedToo, appended.ok].filter(Boolean), [true]);
      equal((await t.store.load(key)) !== undefined, appended.ok);
    }
  },
} satisfies Record<string, StoreCheck>;
