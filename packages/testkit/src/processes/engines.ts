// The engines that workers under test may dispatch on, by name. An engine is a module that opens a dispatcher for a URL.

import type { Store } from "@belay/core";
import { type Dispatcher, pollingDispatcher } from "@belay/core/dispatch";

export interface Engine {
  /** Returns the address of an engine that tests may use, and starts it if need be. */
  url(): Promise<string>;
  open(url: string, store: Store): Dispatcher | Promise<Dispatcher>;
}

export const engines: Readonly<Record<string, Engine>> = {
  loop: { url: async () => "", open: (_, store) => pollingDispatcher(store, { pollMs: 50 }) },
};

export function engineNamed(name: string): Engine {
  const engine = engines[name];
  if (engine === undefined) throw new Error(`There is no engine ${name}, but ${Object.keys(engines).join(", ")}.`);
  return engine;
}
