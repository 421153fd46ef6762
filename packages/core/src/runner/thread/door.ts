import type { ThreadKey } from "../../store/store.ts";
import type { Setup } from "../given/setup.ts";
import type { LiveThread } from "./live-thread.ts";

/** How a caller reaches a thread. */
export interface Door {
  readonly setup: Setup;
  readonly key: ThreadKey;
  /** True if a worker, and not this process, runs the call that an answer lets run. */
  readonly byWorker?: boolean;
  /** The thread as this process has it; undefined if no session is open on it. */
  readonly thread: LiveThread | undefined;
  /** Asks the thread as this process has it; resolves to undefined if another process holds it. */
  here<T>(ask: (thread: LiveThread) => Promise<T>): Promise<T | undefined>;
  /** The runs and resumes that were asked for and have not begun, in order. Each resolves when it has begun or was refused. */
  ahead(): readonly Promise<void>[];
}

/** The door of a thread that this process has a session on. */
export function doorOf(thread: LiveThread, byWorker = false): Door {
  const { setup, key, host } = thread;
  return { setup, key, byWorker, thread, here: (ask) => ask(thread), ahead: () => host.ahead(key.threadId) };
}
