// Due threads: those that a worker could move, over all tenants, by the store's clock.

import { deepEqual, equal, ok } from "node:assert/strict";
import { type Bench, command, type StoreCheck, TTL } from "./bench.ts";

/** Longer than any test waits for. */
const HOUR = 3_600_000;

/** A thread without a holder. */
async function rests(
  t: Bench,
  id: string,
  more: Parameters<Bench["taking"]>[1] = {},
  tenant = t.tenant,
): Promise<void> {
  await t.append(t.key(id, tenant), t.taking(0, { release: true, state: "paused", ...more }));
}

const due = async (t: Bench, olderThanMs?: number) =>
  (await t.store.due(100, olderThanMs, t.tenant)).map(({ threadId }) => threadId);

/** The time by the store's clock. */
async function now(t: Bench): Promise<number> {
  const key = t.key("clock");
  await t.append(key, t.taking(0, { state: "terminated" }));
  const { until } = (await t.load(key)).row.lease!;
  await t.store.delete(key);
  return until - TTL;
}

export const dueCases = {
  "due are the threads that can move, of every tenant, and no others": async (t) => {
    const other = `${t.tenant}-other`;
    await rests(t, "crashed", { state: "running" });
    await rests(t, "at rest", { state: "completed" });
    await rests(t, "queued", { state: "completed" });
    await t.store.send(t.key("queued"), command("k", { kind: "input" }));
    await rests(t, "steered", { state: "completed" });
    await t.store.send(t.key("steered"), command("k"));
    await rests(t, "stopped", { state: "paused" });
    await t.store.send(t.key("stopped"), command("k", { kind: "input" }));
    await rests(t, "timer", { rest: { from: 1, dueAt: 1 } });
    await rests(t, "later", { rest: { from: 1, dueAt: (await now(t)) + HOUR } });
    await rests(t, "answered", { rest: { from: 1 } }, other);
    await t.store.send(t.key("answered", other), command("k", { kind: "answer" }));
    await rests(t, "failed", { state: "error" });
    await t.store.send(t.key("failed"), command("k", { kind: "input" }));
    await t.append(t.key("held"), t.taking(0));
    const every = await t.store.due(1_000_000);
    for (const limit of [1, 2, 16, 17, 64, 256, 300]) deepEqual(await t.store.due(limit), every.slice(0, limit));
    const all = every.filter(({ tenant }) => tenant === t.tenant || tenant === other);
    deepEqual(all.map(({ threadId }) => threadId).sort(), ["answered", "crashed", "queued", "timer"]);
    deepEqual((await due(t)).sort(), ["crashed", "queued", "timer"]);
    for (const { tenant, threadId, head } of all) equal(head, (await t.load(t.key(threadId, tenant))).row.head);
  },

  "due threads come in the order in which they began to wait, at most as many as asked for": async (t) => {
    for (const id of ["c", "a", "b"]) {
      await rests(t, id, { state: "running" });
      await t.past(20);
    }
    deepEqual(await due(t), ["c", "a", "b"]);
    const [first, second, ...rest] = await t.store.due(2, 0, t.tenant);
    deepEqual([first?.threadId, second?.threadId, rest.length], ["c", "a", 0]);
    ok(first!.since < second!.since);
    // A command changes nothing about since when it waits; an append does.
    await t.store.send(t.key("c"), command("k", { kind: "input" }));
    deepEqual(await due(t), ["c", "a", "b"]);
    await t.append(t.key("c"), t.taking(1, { release: true }));
    deepEqual(await due(t), ["a", "b", "c"]);
  },

  "a thread is due when its lease is over, or its time has come, by the store's clock": async (t) => {
    // The clock of its writer is ahead.
    const at = (await now(t)) + HOUR;
    const fence = await t.append(t.key("held"), t.taking(0, { ttlMs: t.short, at }));
    await rests(t, "timer", { rest: { from: 1, dueAt: (await now(t)) + t.short }, at });
    await rests(t, "released", { state: "running", at });
    deepEqual(await due(t), ["released"]);
    await t.past(t.short);
    deepEqual((await due(t)).sort(), ["held", "released", "timer"]);
    equal((await t.store.due(100, 0, t.tenant)).find(({ threadId }) => threadId === "held")?.fence, fence);
    await t.append(t.key("timer"), t.taking(1, { state: "paused", release: true }));
    ok(await t.store.renew(t.key("held"), fence, TTL));
    deepEqual(await due(t), ["released"]);
    await t.store.release(t.key("held"), fence);
    deepEqual(await due(t), ["released", "held"]);
    await t.store.delete(t.key("released"));
    deepEqual(await due(t), ["held"]);
  },

  "a thread that its owner left with a command is due, and not after that was taken back": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0, { state: "running" }));
    await t.store.send(key, command("k", { kind: "input" }));
    deepEqual(await due(t), []);
    await t.append(key, t.writing(fence, 1, { state: "completed", release: true }));
    deepEqual(await due(t), ["thread"]);
    ok(await t.store.withdraw(key, "k"));
    deepEqual(await due(t), []);
    await t.store.send(key, command("l", { kind: "input" }));
    await t.append(key, t.taking(2, { consume: ["l"], state: "completed", release: true }));
    deepEqual(await due(t), []);
  },

  "due threads that have not waited for long enough are left out if that is asked": async (t) => {
    await rests(t, "old", { state: "running" });
    await t.past(t.short);
    await rests(t, "new", { state: "running" });
    deepEqual(await due(t, t.short), ["old"]);
    deepEqual(await due(t), ["old", "new"]);
    deepEqual(await due(t, HOUR), []);
  },
} satisfies Record<string, StoreCheck>;
