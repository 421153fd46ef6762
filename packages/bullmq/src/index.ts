export { type BullmqDispatcherOptions, bullmqDispatcher } from "./bullmq-dispatcher.ts";
