export { type DbosDispatcherOptions, dbosDispatcher } from "./dbos-dispatcher.ts";
