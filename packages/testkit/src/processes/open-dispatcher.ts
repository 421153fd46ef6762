// A dispatcher on one of the engines, or the loop without one, from settings that fit the command line of a process.
import type { Store } from "@belay/core";
import { type Dispatcher, pollingDispatcher } from "@belay/core/dispatch";

/** The settings that `startEngine` of scripts/services/engines.mjs gives. `space` keeps tests that share an engine apart. */
export type EngineSettings =
  | { readonly engine: "loop" }
  | { readonly engine: "bullmq"; readonly url: string; readonly space?: string }
  | { readonly engine: "dbos"; readonly url: string; readonly space?: string }
  | {
      readonly engine: "restate";
      readonly ingress: string;
      readonly admin: string;
      readonly url?: string;
      readonly port?: number;
      readonly space?: string;
    };

/** How often the loop looks. */
const POLL_MS = 50;

/** Opens a dispatcher. Loads the one engine that it is for. The loop needs the store. */
export async function openDispatcher(settings: EngineSettings, store?: Store): Promise<Dispatcher> {
  if (settings.engine === "loop") return pollingDispatcher(store!, { pollMs: POLL_MS });
  const { space = "belay" } = settings;
  switch (settings.engine) {
    case "bullmq": {
      const { bullmqDispatcher } = await import("@belay/bullmq");
      return bullmqDispatcher({ connection: { url: settings.url }, queue: space });
    }
    case "dbos": {
      const { dbosDispatcher } = await import("@belay/dbos");
      return dbosDispatcher({ url: settings.url, queue: space });
    }
    case "restate": {
      const { restateDispatcher } = await import("@belay/restate");
      const { ingress, admin, url, port } = settings;
      const where = { ...(url !== undefined && { url }), ...(port !== undefined && { listen: { port } }) };
      return restateDispatcher({ ingress, admin, service: space, ...where });
    }
    default:
      return settings satisfies never;
  }
}
