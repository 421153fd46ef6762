// One runner for threads of several folders. A thread is about one folder: its tools, its rules and its guides are those of
// that folder, so each folder has a setup of its own, opened when one of its threads is first asked for.

import { randomUUID } from "node:crypto";
import type { Runner } from "@belay/core";
import { forgetThread, noteThread, readNote } from "../data/thread-notes.ts";
import { type BelaySetup, openBelay, type SetupOptions } from "../setup.ts";

/** Verbs that run something, by the thread that they name first: they need the folder of that thread. */
const BY_THREAD: ReadonlySet<string> = new Set([
  "open",
  "start",
  "resume",
  "send",
  "steer",
  "observe",
  "interrupt",
  "pause",
  "terminate",
  "checkpoint",
  "permission",
  "setBreakpoint",
  "events",
  "repair",
]);

export interface FolderRunner {
  readonly runner: Runner;
  readonly setup: BelaySetup;
  close(): Promise<void>;
}

export async function folderRunner(options: SetupOptions): Promise<FolderRunner> {
  const home = await openBelay(options);
  const { dataFolder, runner: base } = home;
  const setups = new Map<string, Promise<BelaySetup>>([[home.folder, Promise.resolve(home)]]);

  const setupOf = (folder: string): Promise<BelaySetup> => {
    const known = setups.get(folder);
    if (known !== undefined) return known;
    const opened = openBelay({ ...options, folder });
    setups.set(folder, opened);
    // Tried again when it is asked for again.
    opened.catch(() => setups.delete(folder));
    return opened;
  };

  /** The runner for a thread. A thread without a note is new: it is about the folder of this program. */
  const runnerOf = async (threadId: string): Promise<Runner> => {
    const folder = readNote(dataFolder, threadId)?.folder;
    if (folder === undefined) noteThread(dataFolder, threadId, { folder: home.folder });
    return (await setupOf(folder ?? home.folder)).runner;
  };

  const own: Partial<Record<string, unknown>> = {
    async answer(...[id, answer, given]: Parameters<Runner["answer"]>) {
      const item = (await requestOf(base, id))?.threadId;
      return (item === undefined ? base : await runnerOf(item)).answer(id, answer, given);
    },
    async enqueue(...[threadId, input, given]: Parameters<Runner["enqueue"]>) {
      // No worker runs here: it would run threads of any folder in one.
      return (await runnerOf(threadId)).enqueue(threadId, input, { start: "here", ...given });
    },
    async fork(...[threadId, given]: Parameters<Runner["fork"]>) {
      const as = given.as ?? randomUUID();
      const about = readNote(dataFolder, threadId)?.folder ?? home.folder;
      noteThread(dataFolder, as, { folder: about });
      return (await setupOf(about)).runner.fork(threadId, { ...given, as });
    },
    async delete(threadId: string) {
      await (await runnerOf(threadId)).delete(threadId);
      forgetThread(dataFolder, threadId);
    },
    async *events(...[threadId, given]: Parameters<Runner["events"]>) {
      yield* (await runnerOf(threadId)).events(threadId, given);
    },
    async drain(given: Parameters<Runner["drain"]>[0]) {
      await Promise.all([...setups.values()].map(async (setup) => (await setup).runner.drain(given)));
    },
  };

  const runner = new Proxy(base, {
    get(target, name: string) {
      if (Object.hasOwn(own, name)) return own[name];
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== "function") return value;
      if (!BY_THREAD.has(name)) return value.bind(target);
      return async (threadId: string | undefined, ...rest: unknown[]) => {
        const at = threadId === undefined ? target : await runnerOf(threadId);
        return (Reflect.get(at, name, at) as (...args: unknown[]) => unknown).call(at, threadId, ...rest);
      };
    },
  });

  return {
    runner,
    setup: home,
    async close() {
      await Promise.all([...setups.values()].map(async (setup) => (await setup).close()));
    },
  };
}

async function requestOf(runner: Runner, id: string): Promise<{ readonly threadId: string } | undefined> {
  return (await runner.inbox()).items.find((item) => item.id === id);
}
