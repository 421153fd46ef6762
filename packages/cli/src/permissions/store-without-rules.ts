import type { Store } from "@belay/core";

/**
 * The store, without the rules that it remembers for always. They are about no folder: releases that made them let a command
 * that was allowed in one repository run in every other. `belay rules` lists them, for another decision.
 */
export function storeWithoutRules(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === "rules") return async () => [];
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
