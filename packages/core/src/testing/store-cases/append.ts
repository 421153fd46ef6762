// Appends: compare-and-set on the head, all or nothing, once under one id.

import { deepEqual, equal, ok } from "node:assert/strict";
import type { Appended } from "../../store/store.ts";
import { command, fenceOf, type StoreCheck, times } from "./bench.ts";

export const appendCases = {
  "a thread is made by its first append, and only by one that succeeds": async (t) => {
    const key = t.key();
    equal(await t.store.load(key), undefined);
    await t.refused(key, t.taking(3), { why: "conflict", head: 0 });
    await t.refused(key, t.writing(1, 0), { why: "fenced", owner: undefined });
    await t.refused(key, t.writing(0, 0), { why: "fenced" });
    deepEqual(await t.store.threads(t.tenant), []);
    await t.append(key, t.taking(0));
    equal((await t.load(key)).row.head, 1);
  },

  "an append comes back as it was given": async (t) => {
    const key = t.key();
    const given = { count: 3, at: 1_234, body: '{"a":1}', agent: "writer", state: "running" as const };
    const fence = await t.append(key, t.taking(0, { ...given, owner: "me" }));
    const { row, lines, commands } = await t.load(key);
    const { lease, ...rest } = row;
    const { agent, state, at } = given;
    deepEqual(rest, {
      threadId: key.threadId,
      agent,
      state,
      head: 3,
      createdAt: at,
      updatedAt: at,
      queued: false,
      answered: false,
    });
    deepEqual({ owner: lease?.owner, fence: lease?.fence }, { owner: "me", fence });
    deepEqual([...lines], [{ seq: 1, count: 3, at, body: given.body }]);
    deepEqual([...commands], []);
  },

  "an append on another head than the writer saw is refused, with the head there is": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0, { count: 2 }));
    await t.refused(key, t.writing(fence, 0), { why: "conflict", head: 2 });
    await t.refused(key, t.writing(fence, 1), { why: "conflict", head: 2 });
    await t.refused(key, t.writing(fence, 3), { why: "conflict", head: 2 });
    await t.append(key, t.writing(fence, 2, { release: true }));
    await t.refused(key, t.taking(2), { why: "conflict", head: 3 });
    await t.append(key, t.taking(3));
  },

  "agent, state and updatedAt are those of the last append, createdAt that of the first": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0, { at: 10, agent: "a", state: "running" }));
    await t.append(key, t.writing(fence, 1, { at: 30, agent: "b", state: "paused", release: true }));
    await t.store.send(key, command("k", { at: 99 }));
    const { agent, state, createdAt, updatedAt } = (await t.load(key)).row;
    deepEqual({ agent, state, createdAt, updatedAt }, { agent: "b", state: "paused", createdAt: 10, updatedAt: 30 });
  },

  "an append repeated under its id is answered as it was then, and written once": async (t) => {
    const key = t.key();
    const first = t.taking(0);
    const fence = await t.append(key, first);
    equal(await t.append(key, first), fence);
    const second = t.writing(fence, 1, { count: 2 });
    equal(await t.append(key, second), fence);
    equal(await t.append(key, second), fence);
    const { row } = await t.load(key);
    deepEqual([row.head, await t.bodies(key)], [3, [first.body, second.body]]);
  },

  "an append that gave the lease back is known when it is repeated, and does not take it again": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    await t.store.send(key, command("k"));
    const last = t.writing(fence, 1, { release: true, consume: ["k"], state: "paused" });
    await t.append(key, last);
    const before = await t.load(key);
    equal(await t.append(key, last), fence);
    deepEqual(await t.load(key), before);
    const only = t.taking(2, { release: true });
    const next = await t.append(key, only);
    equal(await t.append(key, only), next);
    equal((await t.load(key)).row.lease, undefined);
  },

  "an append that was followed by another is refused when it is repeated": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    const second = t.writing(fence, 1);
    await t.append(key, second);
    await t.append(key, t.writing(fence, 2));
    await t.refused(key, second, { why: "conflict", head: 3 });
  },

  "of many appends on one head one is written": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    const written: string[] = [];
    for (let head = 1; head <= 5; head++) {
      const appends = times(12, () => t.writing(fence, head));
      const answers = await Promise.all(appends.map((append) => t.store.append(key, append)));
      const won = appends.filter((_, i) => answers[i]!.ok);
      equal(won.length, 1);
      ok(answers.every((answer) => answer.ok || answer.why === "conflict"));
      written.push(won[0]!.body);
    }
    deepEqual((await t.bodies(key)).slice(1), written);
  },

  "of many that take a thread at once one gets it, new or not": async (t) => {
    const key = t.key();
    for (let head = 0; head < 4; head++) {
      const answers = await Promise.all(times(12, (i) => t.store.append(key, t.taking(head, { owner: `o${i}` }))));
      const winner = answers.findIndex((answer) => answer.ok);
      equal(answers.filter((answer) => answer.ok).length, 1);
      const others = answers.filter((answer): answer is Exclude<Appended, { ok: true }> => !answer.ok);
      deepEqual(
        new Set(others.map((answer) => (answer.why === "busy" ? answer.owner : answer.why))),
        new Set([`o${winner}`]),
      );
      const { row } = await t.load(key);
      deepEqual([row.head, row.lease?.owner], [head + 1, `o${winner}`]);
      await t.store.release(key, fenceOf(answers[winner]!));
    }
  },

  "an append that races with its own repeats is written once": async (t) => {
    const key = t.key();
    for (const append of [t.taking(0, { release: true }), t.taking(1)]) {
      const answers = await Promise.all(times(8, () => t.store.append(key, append)));
      equal(new Set(answers.map(fenceOf)).size, 1);
    }
    equal((await t.load(key)).lines.length, 2);
  },

  "threads do not get in each other's way": async (t) => {
    const keys = times(25, (i) => t.key(`thread-${i}`));
    const fences = await Promise.all(keys.map((key) => t.append(key, t.taking(0))));
    await Promise.all(keys.map((key, i) => t.append(key, t.writing(fences[i]!, 1, { body: key.threadId }))));
    for (const key of keys) equal((await t.bodies(key))[1], key.threadId);
  },
} satisfies Record<string, StoreCheck>;
