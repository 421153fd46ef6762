// Dispatches threads on BullMQ. A wake is a job named by its cause; it stays in Redis until `move` has returned and its
// next wake is in Redis too. The order is first in, first out over all tenants.
import { confirmed, type Dispatcher, deliver, type EngineWake, retryPause, wakeName } from "@belay/core/dispatch";
import { type ConnectionOptions, Queue, WaitingError, Worker } from "bullmq";

/**
 * A worker that was killed loses its jobs after LOCK_MS, and another worker notices within STALLED_MS. One that is only slow loses
 * them, too: its threads are looked at once more, and their leases keep others out.
 */
const LOCK_MS = 2_000;
const STALLED_MS = 500;

/** BullMQ counts tries and has no word for "without end". */
const ENDLESS = 1_000_000_000;

/** Options of `bullmqDispatcher`. */
export interface BullmqDispatcherOptions {
  /** The Redis to use, as BullMQ takes it: `{ url }`, `{ host, port }` or a client. It needs `appendonly yes` and `noeviction`. */
  readonly connection: ConnectionOptions;
  /** The name of the queue. Processes with the same name share the work. Default: `"belay"`. */
  readonly queue?: string;
}

/**
 * Dispatches threads on [BullMQ](https://docs.bullmq.io) and Redis.
 *
 * Order: first in, first out. Timers: at most a second late. A wake whose worker was killed is delivered again within four
 * seconds. Two calls for one thread at once are possible.
 *
 * @example
 * ```ts
 * const dispatcher = bullmqDispatcher({ connection: { url: "redis://127.0.0.1:6379" } });
 * const worker = createWorker({ store, runner, dispatcher, concurrency: 16 });
 * ```
 */
export function bullmqDispatcher({ connection, queue: name = "belay" }: BullmqDispatcherOptions): Dispatcher {
  const queue = new Queue<EngineWake>(name, { connection });
  // Without a listener the loss of the connection would end the process. `wake` reports it; BullMQ connects again.
  queue.on("error", () => {});
  const running = new Set<Worker>();

  async function send(wake: EngineWake, at?: number): Promise<void> {
    await queue.add("look", wake, {
      jobId: wake.name,
      delay: at === undefined ? 0 : Math.max(0, at - Date.now()),
      attempts: ENDLESS,
      backoff: { type: "belay" },
      removeOnComplete: true,
    });
  }

  return {
    async wake(thread, { at, id } = {}) {
      await confirmed("BullMQ", send({ thread, name: wakeName(thread, { id, at }) }, at));
    },

    async serve(move, { concurrency, signal }) {
      if (signal.aborted) return;
      const worker = new Worker<EngineWake>(
        name,
        async (job, token) => {
          if (signal.aborted) {
            await job.moveToWait(token);
            throw new WaitingError();
          }
          await deliver(job.data, move, send);
        },
        {
          connection,
          concurrency,
          lockDuration: LOCK_MS,
          stalledInterval: STALLED_MS,
          maxStalledCount: ENDLESS,
          settings: { backoffStrategy: (tries) => retryPause(tries) },
        },
      );
      worker.on("error", () => {});
      running.add(worker);
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      await worker.close();
      running.delete(worker);
    },

    async close() {
      await Promise.all([...running].map((worker) => worker.close()));
      await queue.close();
    },

    async depth() {
      const [waiting, [oldest]] = await confirmed(
        "BullMQ",
        Promise.all([queue.getWaitingCount(), queue.getWaiting(0, 0)]),
      );
      return oldest === undefined ? { waiting } : { waiting, oldestAt: oldest.timestamp };
    },
  };
}
