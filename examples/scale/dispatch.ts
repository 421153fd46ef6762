// The engine by choice. `settings` has the data that a process needs to use it; `place` is the number of a worker.
import type { Store } from "@belay/core";
import { type Dispatcher, pollingDispatcher } from "@belay/core/dispatch";

export interface Settings {
  readonly engine: "loop" | "dbos" | "bullmq" | "restate";
  /** The PostgreSQL of DBOS, the Redis of BullMQ, or the address of all workers together for Restate. */
  readonly url?: string;
  readonly ingress?: string;
  readonly admin?: string;
  readonly port?: number;
}

/** The settings of a process, as JSON in its environment; none for the loop. */
export const settings = JSON.parse(process.env.SETTINGS || '{"engine":"loop"}') as Settings;

export async function openDispatcher(settings: Settings, store: Store): Promise<Dispatcher> {
  const { engine, url = "", ingress = "", admin = "", port = 9080 } = settings;
  // region engines
  switch (engine) {
    case "loop":
      return pollingDispatcher(store, { pollMs: 50 }); // nothing to run
    case "dbos": {
      const { dbosDispatcher } = await import("@belay/dbos");
      return dbosDispatcher({ url }); // the same PostgreSQL, or another
    }
    case "bullmq": {
      const { bullmqDispatcher } = await import("@belay/bullmq");
      return bullmqDispatcher({ connection: { url } }); // a Redis with appendonly and noeviction
    }
    case "restate": {
      const { restateDispatcher } = await import("@belay/restate");
      return restateDispatcher({ ingress, admin, url, listen: { port, host: "0.0.0.0" } });
    }
    default:
      return engine satisfies never;
  }
  // endregion
}
