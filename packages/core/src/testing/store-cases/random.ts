// Random lives: two stores with the same commands reply the same, and one tenant's commands, through any method, change
// nothing that another tenant sees.

import { deepEqual, equal } from "node:assert/strict";
import { memoryStore } from "../../store/memory.ts";
import type { Append, Appended, Loaded, Store, ThreadRow } from "../../store/store.ts";
import type { StoreCheck } from "./bench.ts";

const THREADS = ["a", "b", "c"];
const NAMES = ["one", "two", "three", "four"];
const STEPS = 250;

/** Numbers that look random, the same each time. */
function sequence(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Drops the values that a store may count, or measure, over all tenants. */
function shownRow({ lease, ...row }: ThreadRow): object {
  return { ...row, lease: lease?.owner };
}

function shown(loaded: Loaded | undefined): unknown {
  return loaded && { ...loaded, row: shownRow(loaded.row), lines: [...loaded.lines], commands: [...loaded.commands] };
}

function told(appended: Appended): unknown {
  if (appended.ok) return { ok: true, mail: appended.mail };
  return appended.why === "busy" ? { why: "busy", owner: appended.owner } : appended;
}

/** One tenant's life: its acts follow from the seed and from the replies. Always the same names: any may be another tenant's. */
async function* life(store: Store, tenant: string, seed: number): AsyncGenerator<unknown> {
  const random = sequence(seed);
  const one = <T>(of: readonly T[]): T => of[random(of.length)]!;
  const some = <T>(value: () => T): T | undefined => (random(3) === 0 ? value() : undefined);
  const fences = new Map<string, number>();
  for (let i = 0; i < STEPS; i++) {
    const threadId = one(THREADS);
    const key = { tenant, threadId };
    const head = (await store.load(key, Number.MAX_SAFE_INTEGER))?.row.head ?? 0;
    switch (random(14)) {
      case 0:
      case 1:
      case 2: {
        const parent = some(() => ({ threadId: one(THREADS), seq: random(4) }));
        const held = fences.get(threadId);
        const writer =
          held !== undefined && random(2) === 0 ? { fence: held, ttlMs: 60_000 } : { take: `${i}`, ttlMs: 60_000 };
        const append: Append = {
          appendId: `append ${i}`,
          expect: parent?.seq ?? head,
          count: 1 + random(2),
          at: i,
          body: `${threadId} ${i}`,
          writer,
          release: random(2) === 0,
          agent: "agent",
          state: one(["running", "paused", "completed"] as const),
          ...(parent && { parent }),
          ...some(() => ({ raise: [{ id: one(NAMES), body: `request ${i}` }] })),
          ...some(() => ({ close: [one(NAMES)] })),
          ...some(() => ({ remember: [{ id: one(NAMES), at: i, body: `rule ${i}` }] })),
          ...some(() => ({ consume: [one(NAMES)] })),
          ...some(() => ({ rest: { from: 1 } })),
          ...some(() => ({ snapshot: `snapshot ${i}` })),
        };
        // An append that raises a known request fails as a whole.
        const appended = await store.append(key, append).catch(() => undefined);
        if (appended?.ok) fences.set(threadId, appended.fence);
        yield appended === undefined ? "failed" : told(appended);
        break;
      }
      case 3:
        yield shown(await store.load(key, one([undefined, "snapshot", "rest", 1, 2] as const)));
        break;
      case 4: {
        const past = await store.past(
          key,
          some(() => random(5)),
        );
        yield past && { ...past, lines: [...past.lines] };
        break;
      }
      case 5: {
        const kind = one(["input", "steer", "stop", "answer", "late"] as const);
        yield await store.send(key, { key: one(NAMES), kind, body: `command ${i}`, at: i }).catch(() => "refused");
        break;
      }
      case 6:
        yield await store.withdraw(key, one(NAMES));
        break;
      case 7: {
        const fence = fences.get(threadId) ?? 0;
        if (random(2) === 0) yield await store.renew(key, fence, 60_000);
        else await store.release(key, fence);
        break;
      }
      case 8:
        yield (await store.threads(tenant)).map(shownRow);
        yield (await store.due(1_000, 0, tenant)).map(({ threadId, head }) => `${threadId} ${head}`).sort();
        break;
      case 9:
        yield [...(await store.requests(tenant))];
        break;
      case 10:
        yield await store.requestThread(tenant, one(NAMES));
        break;
      case 11:
        yield random(3) > 0 ? [...(await store.rules(tenant))] : await store.removeRule(tenant, one(NAMES));
        break;
      case 12:
        yield await store.delete(
          key,
          some(() => head),
        );
        break;
      default:
        yield [...(store.linesSync?.(key) ?? (await store.load(key))?.lines ?? [])];
    }
  }
  for (const threadId of THREADS) yield shown(await store.load({ tenant, threadId }));
}

async function all(of: AsyncGenerator<unknown>): Promise<unknown[]> {
  const results: unknown[] = [];
  for await (const result of of) results.push(result);
  return results;
}

export const randomCases = {
  "random calls are answered as by the store in memory": async (t) => {
    const memory = memoryStore();
    for (let seed = 1; seed <= 4; seed++) {
      const expected = await all(life(memory, `${seed}`, 100 + seed));
      const results = await all(life(t.store, `${t.tenant}-${seed}`, 100 + seed));
      for (const [at, result] of results.entries()) deepEqual(result, expected[at], `seed ${seed}, answer ${at}`);
    }
  },

  "each method answers a tenant as if it were alone": async (t) => {
    for (let seed = 1; seed <= 3; seed++) {
      const tenants = ["x", "y"].map((name) => `${t.tenant}-${seed}-${name}`);
      const lives = tenants.map((tenant, i) => life(t.store, tenant, 10 * seed + i));
      const together: unknown[][] = tenants.map(() => []);
      for (let over = 0; over < lives.length; ) {
        over = 0;
        for (const [i, one] of lives.entries()) {
          const { done, value } = await one.next();
          if (done) over += 1;
          else together[i]!.push(value);
        }
      }
      for (const [i, results] of together.entries()) {
        const alone = await all(life(t.store, `${t.tenant}-${seed}-alone-${i}`, 10 * seed + i));
        equal(results.length, alone.length);
        for (const [at, result] of results.entries()) deepEqual(result, alone[at], `seed ${seed}, answer ${at}`);
      }
    }
  },
} satisfies Record<string, StoreCheck>;
