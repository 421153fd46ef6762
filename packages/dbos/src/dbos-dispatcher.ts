// Dispatches threads on DBOS, in a schema of a PostgreSQL. A wake is a queued workflow, with the name of its cause as its
// deduplication id and its tenant as its partition. DBOS keeps it until the workflow has returned, and the workflow returns
// only when the next wake is in the queue.
//
// DBOS is one for each process: one dispatcher at a time can serve in a process.
import {
  confirmed,
  type Dispatcher,
  deliver,
  type EngineWake,
  type Moved,
  retryPause,
  type Slots,
  slots,
  type ThreadRef,
  wakeName,
} from "@belay/core/dispatch";
import { DBOS, DBOSClient } from "@dbos-inc/dbos-sdk";
import { depthOf } from "./depth-of.ts";
import { isGone, keepUp } from "./keep-up.ts";

/** Every build of a worker has this version: a wake must never wait for a build that is gone. */
const VERSION = "belay";
const WORKFLOW = "belay-look";
/** DBOS counts tries and has no word for "without end". */
const ENDLESS = 1_000_000_000;
const LONGEST_MS = 2_147_483_647;
/** How long a wake waits for the first worker to create the tables. */
const TABLES_MS = 3_000;
const silent = { info() {}, debug() {}, warn() {}, error() {} };

/** Options of `dbosDispatcher`. */
export interface DbosDispatcherOptions {
  /** The PostgreSQL that has the wakes; it may be the one that has the threads. */
  readonly url: string;
  /** The schema in which DBOS keeps its tables. Default: `"dbos"`. */
  readonly schema?: string;
  /** The name of the queue. Processes with the same name share the work. Default: `"belay"`. */
  readonly queue?: string;
  /** How often a process looks for new wakes, in milliseconds. Default: 20. */
  readonly pollMs?: number;
}

interface DbosWake extends EngineWake {
  /** How often `move` has failed since it last returned. */
  readonly failures: number;
}

interface Serving {
  readonly move: (thread: ThreadRef) => Promise<Moved>;
  readonly send: (wake: DbosWake, at?: number) => Promise<void>;
  readonly open: Slots;
  readonly begun: (workflowId: string) => void;
  readonly ended: (workflowId: string) => void;
}

let serving: Serving | undefined;
let registered = false;

/**
 * Dispatches threads on [DBOS](https://docs.dbos.dev), in the PostgreSQL that you already run.
 *
 * Order: fair, by tenant. Timers: at most two and a half seconds late. A wake whose worker was killed is delivered again within
 * three seconds. Two calls for one thread at once are possible.
 *
 * All processes that serve one queue should have the same `concurrency`. A program that uses DBOS for other work, too, runs that
 * in another process: DBOS is one for each process.
 *
 * @example
 * ```ts
 * const dispatcher = dbosDispatcher({ url: process.env.DATABASE_URL });
 * const worker = createWorker({ store, runner, dispatcher, concurrency: 16 });
 * ```
 */
export function dbosDispatcher(options: DbosDispatcherOptions): Dispatcher {
  const { url, schema = "dbos", queue = "belay", pollMs = 20 } = options;
  const onceThere = oncePresent();
  let client: Promise<DBOSClient> | undefined;

  function connect(): Promise<DBOSClient> {
    client ??= DBOSClient.create({
      systemDatabaseUrl: url,
      systemDatabaseSchemaName: schema,
      applicationName: VERSION,
      logger: silent,
    }).catch((error) => {
      client = undefined;
      throw error;
    });
    return client;
  }

  async function send(wake: DbosWake, at?: number): Promise<void> {
    const late = at === undefined ? 0 : at - Date.now();
    await (await connect()).enqueue(
      {
        queueName: queue,
        workflowName: WORKFLOW,
        workflowID: globalThis.crypto.randomUUID(),
        deduplicationID: wake.name,
        duplicationPolicy: "return-existing",
        queuePartitionKey: `t${wake.thread.tenant}`,
        appVersion: VERSION,
        // A fraction that is not of eighths is an error of SQL.
        ...(late > 0 && { delaySeconds: Math.ceil(late / 125) / 8 }),
      },
      wake,
    );
  }

  return {
    async wake(thread, { at, id } = {}) {
      const sent = onceThere(() => send({ thread, name: wakeName(thread, { id, at }), failures: 0 }, at));
      await confirmed("DBOS", sent);
    },

    async serve(move, { concurrency, signal }) {
      if (signal.aborted) return;
      if (serving !== undefined) throw new Error("DBOS is one for each process, and this process already serves.");
      const running = new Set<string>();
      const finished = new Set<string>();
      serving = {
        move,
        send,
        open: slots(concurrency, signal),
        begun: (id) => running.add(id),
        ended: (id) => {
          running.delete(id);
          finished.add(id);
        },
      };
      if (!registered) DBOS.registerWorkflow(lookAt, { name: WORKFLOW, maxRecoveryAttempts: ENDLESS });
      registered = true;
      const executor = globalThis.crypto.randomUUID();
      const prepare = async () => {
        const limits = { workerConcurrency: concurrency, partitionWorkerConcurrency: concurrency };
        const settings = { ...limits, minPollingIntervalMs: pollMs, onConflict: "always_update" as const };
        await (await connect()).registerQueue(queue, { ...settings, applicationName: VERSION });
      };
      const launch = async () => {
        DBOS.setConfig({
          name: VERSION,
          systemDatabaseUrl: url,
          systemDatabaseSchemaName: schema,
          applicationVersion: VERSION,
          executorID: executor,
          listenQueues: [queue],
          logger: silent,
        });
        await DBOS.launch();
        await prepare();
      };
      try {
        await keepUp({
          url,
          schema,
          queue,
          workflow: WORKFLOW,
          executor,
          running,
          finished,
          signal,
          launch,
          restore: async () => {
            await DBOS.migrate(url, { schemaName: schema });
            await prepare();
          },
          stop: () => DBOS.shutdown({ workflowCompletionTimeoutMS: LONGEST_MS }),
        });
      } finally {
        serving = undefined;
      }
    },

    depth: () => confirmed("DBOS", depthOf({ url, schema, queue })),

    async close() {
      const opened = client;
      client = undefined;
      await (await opened)?.destroy();
    },
  };
}

/** The workflow. It never rejects: DBOS would not run it again. */
async function lookAt(wake: DbosWake): Promise<void> {
  const here = serving;
  const id = DBOS.workflowID ?? "";
  // No dispatcher serves in this process any more. A workflow that never returns stays with DBOS, for the next process.
  if (here === undefined) return new Promise(() => {});
  const { move, send, open, begun, ended } = here;
  begun(id);
  // The name of this delivery is taken until it has ended.
  const twin = wake.name.endsWith("~") ? wake.name.slice(0, -1) : `${wake.name}~`;
  let started = false;
  const work = () => {
    started = true;
    return deliver(wake, move, (next, at) => send({ ...next, failures: 0 }, at));
  };
  try {
    await open.run(work);
  } catch {
    const failures = started ? wake.failures + 1 : wake.failures;
    const at = started ? Date.now() + retryPause(failures) : undefined;
    await untilSent(() => send({ ...wake, name: twin, failures }, at));
  }
  ended(id);
}

/**
 * Returns a function that tries again while the tables of DBOS are not there in full: a worker that has just started creates
 * them. When one has waited for that in vain, those after it do not wait: there is no worker.
 */
function oncePresent(): (send: () => Promise<void>) => Promise<void> {
  let giveUpAt: number | undefined;
  return async (send) => {
    for (;;) {
      try {
        await send();
        giveUpAt = undefined;
        return;
      } catch (error) {
        if (!isGone(error)) throw error;
        giveUpAt ??= Date.now() + TABLES_MS;
        if (Date.now() > giveUpAt) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
}

/** Tries until PostgreSQL has the wake: as long as this workflow has not ended, the wake before it exists. */
async function untilSent(send: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await send();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}
