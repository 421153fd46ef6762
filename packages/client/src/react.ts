export { useInbox } from "./use-inbox.ts";
export { useThread } from "./use-thread.ts";
