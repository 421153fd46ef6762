// A store between a runner and the real one that a test can slow down, make fail before or after the commit, freeze
// and kill. Each runner gets its own: a fault of it is a fault of that process.

import type { Store } from "../store/store.ts";

export type FaultyOperation = Exclude<keyof Store, "watch" | "watchTenant" | "relay" | "linesSync">;

/** The fate of one operation. Times are rounds of the event loop: nothing really waits. */
export interface Fault {
  /** Rounds before it reaches the store. */
  readonly before?: number;
  /** Rounds before the answer comes back. */
  readonly after?: number;
  /** Throws before it reaches the store, or after: then it has happened, and the answer is lost. */
  readonly fail?: "before" | "after";
}

export interface FaultyStore extends Store {
  /** Plans the fate of the next operations of that kind, in this order; later ones are not touched. */
  plan(operation: FaultyOperation, ...faults: readonly Fault[]): void;
  /** Sets the fate of every operation without a plan of its own. */
  always(fault: Fault): void;
  /** Removes all plans. */
  calm(): void;
  /** Operations and answers wait from now on, until `thaw`: the process stands still. */
  freeze(): void;
  thaw(): void;
  /** Nothing reaches the store any more and no answer comes back: the process is dead. */
  kill(): void;
  /** True once something has failed on purpose. */
  readonly failed: boolean;
}

const rounds = async (n: number): Promise<void> => {
  for (let i = 0; i < n; i++) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** A promise for each caller: a shared one would keep all that ever waited for it. */
const never = (): Promise<never> => new Promise(() => {});

export function faultyStore(store: Store): FaultyStore {
  const plans = new Map<FaultyOperation, Fault[]>();
  let usual: Fault = {};
  let dead = false;
  let failed = false;
  let frozen: { readonly over: Promise<void>; readonly thaw: () => void } | undefined;

  const gate = async (): Promise<void> => {
    while (frozen !== undefined) await frozen.over;
    if (dead) await never();
  };
  const broken = (operation: FaultyOperation, when: string) => {
    failed = true;
    return new Error(`${operation} failed ${when} the commit`);
  };
  const through = async <T>(operation: FaultyOperation, work: () => Promise<T>): Promise<T> => {
    const fault = plans.get(operation)?.shift() ?? usual;
    await rounds(fault.before ?? 0);
    await gate();
    if (fault.fail === "before") throw broken(operation, "before");
    const answer = await work();
    await rounds(fault.after ?? 0);
    await gate();
    if (fault.fail === "after") throw broken(operation, "after");
    return answer;
  };

  return {
    plan: (operation, ...faults) => void plans.set(operation, [...faults]),
    always: (fault) => {
      usual = fault;
    },
    calm() {
      plans.clear();
      usual = {};
    },
    freeze() {
      if (frozen !== undefined) return;
      let thaw = () => {};
      const over = new Promise<void>((resolve) => (thaw = resolve));
      frozen = { over, thaw };
    },
    thaw() {
      frozen?.thaw();
      frozen = undefined;
    },
    kill() {
      dead = true;
      this.thaw();
    },
    get failed() {
      return failed;
    },
    load: (key, after) => through("load", () => store.load(key, after)),
    past: (key, to) => through("past", () => store.past(key, to)),
    append: (key, append) => through("append", () => store.append(key, append)),
    renew: (key, fence, ttlMs) => through("renew", () => store.renew(key, fence, ttlMs)),
    release: (key, fence) => through("release", () => store.release(key, fence)),
    send: (key, command) => through("send", () => store.send(key, command)),
    withdraw: (key, commandKey) => through("withdraw", () => store.withdraw(key, commandKey)),
    threads: (tenant) => through("threads", () => store.threads(tenant)),
    due: (limit, olderThanMs, tenant) => through("due", () => store.due(limit, olderThanMs, tenant)),
    requests: (tenant, range) => through("requests", () => store.requests(tenant, range)),
    requestThread: (tenant, id) => through("requestThread", () => store.requestThread(tenant, id)),
    page: (tenant, query) => through("page", () => store.page(tenant, query)),
    decided: (tenant, query) => through("decided", () => store.decided(tenant, query)),
    request: (tenant, id) => through("request", () => store.request(tenant, id)),
    watchTenant: (tenant, changed, background) =>
      store.watchTenant(tenant, (id) => dead || frozen !== undefined || changed(id), background),
    rules: (tenant) => through("rules", () => store.rules(tenant)),
    removeRule: (tenant, id) => through("removeRule", () => store.removeRule(tenant, id)),
    delete: (key, head) => through("delete", () => store.delete(key, head)),
    watch: (key, changed, only, background) =>
      store.watch(key, (what) => dead || frozen !== undefined || changed(what), only, background),
    relay(key, side, heard) {
      const line = store.relay?.(key, side, (body) => dead || frozen !== undefined || heard(body));
      return line && { say: (body) => dead || frozen !== undefined || line.say(body), leave: () => line.leave() };
    },
  };
}
