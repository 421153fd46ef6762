// Dispatches threads on Restate. A wake is an invocation of one service with the name of its cause as its idempotency key.
// Restate keeps it until the handler has returned, and the handler returns only when the next wake is with Restate, too.
//
// The handler records nothing in Restate: it may be run again at any time and do something else then.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { confirmed, type Dispatcher, deliver, type EngineWake, pause, slots, wakeName } from "@belay/core/dispatch";
import { createEndpointHandler, service } from "@restatedev/restate-sdk";
import { addWithResolvers } from "./add-with-resolvers.ts";

/** A run may take hours, and Restate gets no sign of it in that time. */
const LONGEST = { hours: 24 * 365 };
/** The interval at which a worker checks that Restate still has the service: its data may have been deleted. */
const REGISTERED_MS = 2_000;
/** How long a process that ends waits for its last answers to be read. */
const LAST_WORDS_MS = 2_000;

/** Options of `restateDispatcher`. */
export interface RestateDispatcherOptions {
  /** The ingress of Restate, for example `http://127.0.0.1:8080`. */
  readonly ingress: string;
  /** The admin API of Restate, for example `http://127.0.0.1:9070`. A process that serves registers itself there. */
  readonly admin: string;
  /** The address at which a process that serves listens for Restate. Default: a free port on 127.0.0.1. */
  readonly listen?: { readonly port?: number; readonly host?: string };
  /**
   * The address at which Restate reaches the processes that serve: with more than one process that of the balancer before
   * them. Default: the address of `listen`.
   */
  readonly url?: string;
  /** The name of the service. Processes with the same name share the work. Default: `"belay"`. */
  readonly service?: string;
  /** Headers for the requests to Restate, for example `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Dispatches threads on [Restate](https://restate.dev).
 *
 * Order: first in, first out. Timers: at most a second late. A wake whose worker was killed is delivered again within a
 * second. Two calls for one thread at once are possible.
 *
 * Restate pushes: it calls the processes that serve, over HTTP/1.1, so that a plain TCP balancer before them spreads the work.
 * Set `worker.invoker.concurrent-invocations-limit` of Restate to about the sum of their `concurrency`.
 *
 * @example
 * ```ts
 * const dispatcher = restateDispatcher({
 *   ingress: "http://127.0.0.1:8080",
 *   admin: "http://127.0.0.1:9070",
 *   listen: { port: 9080, host: "0.0.0.0" },
 *   url: "http://belay-workers:9080",
 * });
 * const worker = createWorker({ store, runner, dispatcher, concurrency: 16 });
 * ```
 */
export function restateDispatcher(options: RestateDispatcherOptions): Dispatcher {
  const { ingress, admin, listen = {}, service: name = "belay", headers = {} } = options;
  const running = new Set<Server>();

  async function ask(
    url: string,
    method: string,
    body?: unknown,
    more: Record<string, string> = {},
  ): Promise<Response> {
    return fetch(url, {
      method,
      headers: { ...headers, ...more, ...(body !== undefined && { "content-type": "application/json" }) },
      signal: AbortSignal.timeout(10_000),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  async function send(wake: EngineWake, at?: number): Promise<void> {
    const delay = at === undefined ? 0 : Math.ceil(Math.max(0, at - Date.now()));
    const path = `${ingress}/${name}/look/send${delay > 0 ? `?delay=${delay}ms` : ""}`;
    const response = await ask(path, "POST", wake, { "idempotency-key": wake.name });
    const words = await response.text();
    if (!response.ok) throw new Error(`status ${response.status}: ${words}`);
  }

  /** Registers the address, unless Restate has the service and `again` says that this process has registered it before. */
  async function register(uri: string, again: boolean): Promise<void> {
    if (again) {
      const known = await ask(`${admin}/services/${name}`, "GET");
      await known.body?.cancel();
      if (known.status !== 404) return;
    }
    const response = await ask(`${admin}/deployments`, "POST", { uri, use_http_11: true, force: true });
    const words = await response.text();
    if (!response.ok) throw new Error(`status ${response.status}: ${words}`);
  }

  return {
    async wake(thread, { at, id } = {}) {
      await confirmed("Restate", send({ thread, name: wakeName(thread, { id, at }) }, at));
    },

    async serve(move, { concurrency, signal }) {
      if (signal.aborted) return;
      addWithResolvers();
      const open = slots(concurrency, signal);
      const belay = service({
        name,
        handlers: { look: (_: unknown, wake: EngineWake) => open.run(() => deliver(wake, move, send)) },
        options: {
          inactivityTimeout: LONGEST,
          abortTimeout: LONGEST,
          // A name is free again, and a journal gone, when its delivery has ended.
          idempotencyRetention: 0,
          journalRetention: 0,
          retryPolicy: {
            initialInterval: 100,
            exponentiationFactor: 2,
            maxInterval: 5_000,
            maxAttempts: 1_000_000_000,
          },
        },
      });
      const handler = createEndpointHandler({ services: [belay], bidirectional: false, logger: () => {} });
      const answering = new Set<ServerResponse>();
      const server = createServer((request, response) => {
        answering.add(response);
        response.once("close", () => answering.delete(response));
        if (!signal.aborted) return void handler(request, response);
        // Another process gets it: Restate connects anew.
        response.writeHead(503, { connection: "close" }).end();
      });
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(listen.port ?? 0, listen.host ?? "127.0.0.1", resolve);
      });
      running.add(server);
      const { address, port } = server.address() as AddressInfo;
      const uri = options.url ?? `http://${address}:${port}`;
      let registered = false;
      while (!signal.aborted) {
        registered = await register(uri, registered).then(
          () => true,
          () => registered,
        );
        await pause(registered ? REGISTERED_MS : 200, signal);
      }
      server.closeIdleConnections();
      await open.idle();
      const answered = [...answering].map((response) => new Promise((resolve) => response.once("close", resolve)));
      await Promise.race([Promise.all(answered), sleep(LAST_WORDS_MS, undefined, { ref: false })]);
      // Node counts a connection that has sent no request as busy, and would wait for it without end.
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      running.delete(server);
    },

    async close() {
      for (const server of running) server.closeAllConnections();
    },
  };
}
