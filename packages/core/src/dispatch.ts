export type { MovingRunner, RunnerOfTenant, Worker, WorkerOptions } from "./dispatch/create-worker.ts";
export { createWorker } from "./dispatch/create-worker.ts";
export type { Dispatcher, Moved, ThreadRef } from "./dispatch/dispatcher.ts";
export {
  confirmed,
  deliver,
  type EngineWake,
  pause,
  retryPause,
  type Slots,
  slots,
  wakeName,
} from "./dispatch/engine.ts";
export type { PollingOptions } from "./dispatch/polling-dispatcher.ts";
export { pollingDispatcher } from "./dispatch/polling-dispatcher.ts";
export { wakingStore } from "./dispatch/waking-store.ts";
