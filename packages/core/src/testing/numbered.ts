// The store and the clock as the process under attack has them: each promise of the one that settles, and each timer of
// the other that falls due, is a point. The kernel's own points lie at its steps; these lie at the returns of others.

import type { Clock } from "../clock.ts";
import type { PointName } from "../point.ts";
import type { Append, Store } from "../store/store.ts";
import { wrapStore } from "../store/wrap-store.ts";
import type { FaultyOperation } from "./faulty-store.ts";

/** An append has points of the kernel's own, before and after. */
type Settling = `${Exclude<FaultyOperation, "append">}:after`;

export type AttackPoint = PointName | Settling | "timer:due";

/** `appending` is called for each append as it is sent, and again for each retry. */
export function numberedStore(
  store: Store,
  passed: (point: AttackPoint) => void,
  appending: (append: Append) => void,
): Store {
  const settled = async <T>(point: Settling, work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } finally {
      passed(point);
    }
  };
  return wrapStore(store, {
    load: (key, after) => settled("load:after", store.load(key, after)),
    past: (key, to) => settled("past:after", store.past(key, to)),
    append(key, append) {
      appending(append);
      return store.append(key, append);
    },
    renew: (key, fence, ttlMs) => settled("renew:after", store.renew(key, fence, ttlMs)),
    release: (key, fence) => settled("release:after", store.release(key, fence)),
    send: (key, command) => settled("send:after", store.send(key, command)),
    withdraw: (key, commandKey) => settled("withdraw:after", store.withdraw(key, commandKey)),
    threads: (tenant) => settled("threads:after", store.threads(tenant)),
    due: (limit, olderThanMs, tenant) => settled("due:after", store.due(limit, olderThanMs, tenant)),
    requests: (tenant, range) => settled("requests:after", store.requests(tenant, range)),
    requestThread: (tenant, id) => settled("requestThread:after", store.requestThread(tenant, id)),
    page: (tenant, query) => settled("page:after", store.page(tenant, query)),
    decided: (tenant, query) => settled("decided:after", store.decided(tenant, query)),
    request: (tenant, id) => settled("request:after", store.request(tenant, id)),
    rules: (tenant) => settled("rules:after", store.rules(tenant)),
    removeRule: (tenant, id) => settled("removeRule:after", store.removeRule(tenant, id)),
    delete: (key, head) => settled("delete:after", store.delete(key, head)),
  });
}

export function numberedClock(clock: Clock, passed: (point: AttackPoint) => void): Clock {
  return {
    now: () => clock.now(),
    setTimeout: (run, ms) =>
      clock.setTimeout(() => {
        passed("timer:due");
        run();
      }, ms),
    clearTimeout: (timer) => clock.clearTimeout(timer),
    id: () => clock.id(),
  };
}
