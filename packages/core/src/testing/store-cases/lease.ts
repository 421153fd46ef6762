// Leases: one writer at a time, by the store's clock, and a fence that a revived zombie cannot pass.

import { deepEqual, equal, ok } from "node:assert/strict";
import { command, type StoreCheck, TTL } from "./bench.ts";

export const leaseCases = {
  "a lease keeps others out, and names its owner and its end": async (t) => {
    const key = t.key();
    await t.append(key, t.taking(0, { owner: "a" }));
    const { lease } = (await t.load(key)).row;
    equal(lease?.owner, "a");
    await t.refused(key, t.taking(1, { owner: "b" }), { why: "busy", owner: "a", until: lease?.until });
    await t.refused(key, t.taking(1, { owner: "a" }), { why: "busy", owner: "a" });
  },

  "a lease ends by the store's clock; then it is not shown, and can be taken with a higher fence": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0, { ttlMs: t.short }));
    ok((await t.load(key)).row.lease !== undefined);
    await t.past(t.short);
    equal((await t.load(key)).row.lease, undefined);
    equal((await t.store.threads(t.tenant))[0]?.lease, undefined);
    const next = await t.append(key, t.taking(1, { owner: "b" }));
    ok(next > fence, `fence ${next} is not higher than ${fence}`);
    equal((await t.load(key)).row.lease?.owner, "b");
  },

  "a lease lasts no less than it was given for": async (t) => {
    const key = t.key();
    await t.append(key, t.taking(0, { ttlMs: t.short * 4 }));
    await t.past(t.short);
    await t.refused(key, t.taking(1), { why: "busy" });
  },

  "a writer that lost its lease to another writes nothing": async (t) => {
    const key = t.key();
    const old = await t.append(key, t.taking(0, { ttlMs: t.short }));
    await t.store.send(key, command("k"));
    await t.past(t.short);
    const fence = await t.append(key, t.taking(1, { owner: "b" }));
    await t.refused(key, t.writing(old, 2, { consume: ["k"] }), { why: "fenced", owner: "b" });
    await t.refused(key, t.writing(old, 1), { why: "fenced" });
    await t.refused(key, t.writing(old, 2, { release: true }), { why: "fenced" });
    equal(await t.store.renew(key, old, TTL), false);
    await t.append(key, t.writing(fence, 2, { release: true }));
    await t.refused(key, t.writing(old, 3), { why: "fenced", owner: undefined });
  },

  "a lease that ended and that no process took still belongs to its writer": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0, { ttlMs: t.short }));
    await t.past(t.short);
    equal(await t.append(key, t.writing(fence, 1, { ttlMs: t.short })), fence);
    await t.refused(key, t.taking(2), { why: "busy" });
    await t.past(t.short);
    equal(await t.store.renew(key, fence, TTL), true);
    await t.refused(key, t.taking(2), { why: "busy" });
  },

  "an append makes the lease last from now on": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0, { ttlMs: t.short }));
    await t.append(key, t.writing(fence, 1, { ttlMs: TTL }));
    await t.past(t.short * 2);
    await t.refused(key, t.taking(2), { why: "busy" });
  },

  "renewing prolongs a lease, for any owner": async (t) => {
    const key = t.key();
    equal(await t.store.renew(key, 1, TTL), false);
    const fence = await t.append(key, t.taking(0, { ttlMs: t.short }));
    equal(await t.store.renew(key, fence + 1, TTL), false);
    equal(await t.store.renew(key, fence, TTL), true);
    await t.past(t.short * 2);
    await t.refused(key, t.taking(1), { why: "busy" });
    await t.store.release(key, fence);
    equal(await t.store.renew(key, fence, TTL), false);
    equal((await t.load(key)).row.lease, undefined);
  },

  "a lease that was given back can be taken at once; its old writer writes nothing": async (t) => {
    const key = t.key();
    const first = await t.append(key, t.taking(0));
    await t.store.release(key, first);
    equal((await t.load(key)).row.lease, undefined);
    await t.refused(key, t.writing(first, 1), { why: "fenced", owner: undefined });
    const second = await t.append(key, t.taking(1));
    await t.append(key, t.writing(second, 2, { release: true }));
    equal((await t.load(key)).row.lease, undefined);
    await t.refused(key, t.writing(second, 3), { why: "fenced", owner: undefined });
    equal(await t.store.renew(key, second, TTL), false);
    const third = await t.append(key, t.taking(3));
    ok(first < second && second < third);
  },

  "giving back the lease of another owner does nothing": async (t) => {
    const key = t.key();
    await t.store.release(key, 1);
    equal(await t.store.load(key), undefined);
    const old = await t.append(key, t.taking(0, { ttlMs: t.short }));
    await t.past(t.short);
    await t.append(key, t.taking(1, { owner: "b" }));
    const before = await t.load(key);
    await t.store.release(key, old);
    deepEqual(await t.load(key), before);
  },

  "a writer of a deleted thread does not write to one made again under its name": async (t) => {
    const key = t.key();
    const old = await t.append(key, t.taking(0));
    await t.store.delete(key);
    await t.refused(key, t.writing(old, 1), { why: "fenced" });
    await t.append(key, t.taking(0, { owner: "b" }));
    await t.refused(key, t.writing(old, 1), { why: "fenced", owner: "b" });
    equal(await t.store.renew(key, old, TTL), false);
  },

  "a session of a deleted thread does not take one made again under its name with the same head": async (t) => {
    const key = t.key();
    await t.append(key, t.taking(0, { at: 10, release: true }));
    await t.append(key, t.taking(1, { since: 10, release: true }));
    await t.store.delete(key);
    await t.refused(key, t.taking(2, { since: 10 }), { why: "conflict", head: 0 });
    await t.append(key, t.taking(0, { at: 20, release: true }));
    await t.append(key, t.taking(1, { since: 20, release: true }));
    await t.refused(key, t.taking(2, { since: 10 }), { why: "conflict", head: 0 });
    await t.refused(key, t.taking(2, { since: 10, consume: ["none"] }), { why: "conflict", head: 0 });
    await t.append(key, t.taking(2, { since: 20 }));
    // There is none yet. Its own time: a writer that lost the answer repeats this append.
    await t.append(t.key("another"), t.taking(0, { at: 20, since: 20 }));
  },
} satisfies Record<string, StoreCheck>;
