export { type RestateDispatcherOptions, restateDispatcher } from "./restate-dispatcher.ts";
