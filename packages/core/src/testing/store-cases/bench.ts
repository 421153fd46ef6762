// Shared by the cases of the store suite: short ways to write to a store, and to wait for it.

import { deepEqual, ok, strictEqual } from "node:assert/strict";
import type { Append, Appended, Command, Loaded, Store, ThreadKey } from "../../store/store.ts";

/** A store to be certified. It need not be empty: the suite uses tenants of its own. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Moves the store's clock on. Without it the suite really waits. */
  advance?(ms: number): unknown;
  close?(): unknown;
}

export type StoreCheck = (bench: Bench) => Promise<void>;

/** Long enough that no lease ends while a case runs. */
export const TTL = 60_000;

let counter = 0;

export class Bench {
  readonly store: Store;
  readonly tenant: string;
  /** Changes the stored copy of an open request without the store. */
  readonly damageRequest: (tenant: string, id: string) => Promise<unknown>;
  readonly #under: StoreUnderTest;

  constructor(under: StoreUnderTest, damageRequest: Bench["damageRequest"]) {
    this.#under = under;
    this.damageRequest = damageRequest;
    this.store = under.store;
    this.tenant = `suite-${process.pid}-${Date.now().toString(36)}-${unique()}`;
  }

  /** A lease that `past()` outlasts; short if the suite really has to wait. */
  get short(): number {
    return this.#under.advance === undefined ? 500 : 1_000;
  }

  async past(ms: number): Promise<void> {
    if (this.#under.advance === undefined) await sleep(ms + 20);
    else await this.#under.advance(ms);
  }

  key(threadId = "thread", tenant = this.tenant): ThreadKey {
    return { tenant, threadId };
  }

  /** An append that takes the lease. */
  taking(expect: number, more: Partial<Append> & { owner?: string; ttlMs?: number } = {}): Append {
    const { owner = "owner", ttlMs = TTL, ...rest } = more;
    return { ...blank(expect), writer: { take: owner, ttlMs }, ...rest };
  }

  /** An append under a fence. */
  writing(fence: number, expect: number, more: Partial<Append> & { ttlMs?: number } = {}): Append {
    const { ttlMs = TTL, ...rest } = more;
    return { ...blank(expect), writer: { fence, ttlMs }, ...rest };
  }

  /** Appends, which must succeed; returns the fence. */
  async append(key: ThreadKey, append: Append): Promise<number> {
    return fenceOf(await this.store.append(key, append));
  }

  async refused(key: ThreadKey, append: Append, expected: Partial<Exclude<Appended, { ok: true }>>): Promise<void> {
    const before = await this.store.load(key);
    const appended = await this.store.append(key, append);
    deepEqual(pick(appended, expected), { ok: false, ...expected });
    deepEqual(await this.store.load(key), before, "a refused append changed something");
  }

  async load(key: ThreadKey, after?: number): Promise<Loaded> {
    const loaded = await this.store.load(key, after);
    ok(loaded !== undefined, "the thread is not there");
    return loaded;
  }

  async bodies(key: ThreadKey): Promise<string[]> {
    return (await this.load(key)).lines.map((line) => line.body);
  }

  async keys(key: ThreadKey): Promise<string[]> {
    return (await this.load(key)).commands.map((command) => command.key);
  }

  /** Waits for an event without a deadline. */
  async until(happened: () => boolean, what: string): Promise<void> {
    for (let waited = 0; !happened(); waited += 5) {
      ok(waited < 3_000, `waited for ${what} in vain`);
      await sleep(5);
    }
  }
}

function blank(expect: number): Omit<Append, "writer"> {
  const body = `{"body":${unique()}}`;
  return {
    appendId: `append-${unique()}`,
    expect,
    count: 1,
    at: 1_000,
    body,
    release: false,
    agent: "helper",
    state: "running",
  };
}

export function unique(): number {
  counter += 1;
  return counter;
}

export function command(key: string, more: Partial<Command> = {}): Command {
  return { key, kind: "steer", body: `{"of":${unique()}}`, at: 2_000, ...more };
}

export function fenceOf(appended: Appended): number {
  ok(appended.ok, `refused: ${JSON.stringify(appended)}`);
  strictEqual(typeof appended.fence, "number");
  return appended.fence;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export function times<T>(n: number, make: (i: number) => T): T[] {
  return Array.from({ length: n }, (_, i) => make(i));
}

/** The fields of `value` that `expected` names, and `ok`. */
function pick(value: object, expected: object): object {
  const names = new Set(["ok", ...Object.keys(expected)]);
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.has(name)));
}
