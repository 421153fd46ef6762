// One runner for threads of several folders. A thread is about one folder: its tools, its rules and its guides are those of
// that folder, so each folder has a setup of its own, opened when one of its threads is first asked for. Invariants:
// 1. A thread runs on the setup of its own folder and on no other, by whichever verb, and by the worker as well.
// 2. A thread whose folder has moved is read, stopped and deleted as before; a run in it is refused.

import { randomUUID } from "node:crypto";
import { BelayError, type Runner } from "@belay/core";
import { forgetThread, noteThread, readFolder, readNote } from "../data/thread-notes.ts";
import { Problem, peopleWords } from "../problem.ts";
import { type BelaySetup, openBelay, type SetupOptions } from "../setup.ts";
import { en } from "../texts/en.ts";

/** Verbs that run something, by the thread that they name first: they need the folder of that thread. */
const BY_THREAD: ReadonlySet<string> = new Set([
  "open",
  "start",
  "resume",
  "send",
  "steer",
  "enqueue",
  "observe",
  "interrupt",
  "pause",
  "terminate",
  "checkpoint",
  "permission",
  "setBreakpoint",
  "repair",
]);

/** Of those, the verbs that any runner of the store can do. They need the folder only if this process runs the thread. */
const ANYWHERE: ReadonlySet<string> = new Set(["interrupt", "pause", "terminate"]);

/** The wait before a folder whose worker could not start is tried again. */
const NEXT_TRY_MS = 30_000;

export interface FolderRunner {
  readonly runner: Runner;
  readonly setup: BelaySetup;
  close(): Promise<void>;
}

export interface FolderRunnerOptions extends SetupOptions {
  /** Called with the reason when the worker of a folder cannot begin. */
  readonly onTrouble?: (error: unknown) => void;
}

type WorkOptions = NonNullable<Parameters<Runner["work"]>[0]>;

/** With `given`, an open setup serves its own folder, and stays open on close(). */
export async function folderRunner(
  { onTrouble, ...options }: FolderRunnerOptions,
  given?: BelaySetup,
): Promise<FolderRunner> {
  const workers = new Map<string, Promise<void>>();
  let work: WorkOptions | undefined;
  // The worker of the first folder finds the threads of all: one of another folder begins that folder's own worker.
  const works = (threadId: string): boolean => {
    const folder = readNote(dataFolder, threadId)?.folder;
    if (folder !== undefined && folder !== home.folder) beginWork(folder, threadId);
    return folder === home.folder;
  };
  const home: BelaySetup = given ?? (await openBelay({ ...options, works }));
  const { dataFolder, runner: base } = home;
  const setups = new Map<string, Promise<BelaySetup>>([[home.folder, Promise.resolve(home)]]);

  const setupOf = (folder: string): Promise<BelaySetup> => {
    const known = setups.get(folder);
    if (known !== undefined) return known;
    const works = (threadId: string) => readNote(dataFolder, threadId)?.folder === folder;
    const opened = openBelay({ ...options, folder, works });
    setups.set(folder, opened);
    // Tried again when it is asked for again.
    opened.catch(() => setups.delete(folder));
    return opened;
  };

  const beginWork = (folder: string, threadId: string): void => {
    const given = work;
    if (given === undefined || given.signal?.aborted || workers.has(folder)) return;
    const failed = (error: unknown) => {
      if (given.signal?.aborted) return;
      onTrouble?.(error);
      setTimeout(() => workers.delete(folder), NEXT_TRY_MS).unref();
    };
    const working = async () => {
      folderOf(dataFolder, threadId);
      await (await setupOf(folder)).runner.work(given);
    };
    workers.set(folder, working().catch(failed));
  };

  /** The runner for a thread. A thread without a note is new: it is about the folder of this program. */
  const runnerOf = async (threadId: string): Promise<Runner> => {
    const folder = folderOf(dataFolder, threadId);
    if (folder === undefined) noteThread(dataFolder, threadId, { folder: home.folder });
    return (await setupOf(folder ?? home.folder)).runner;
  };

  /** The same; any runner if that folder is not there. */
  const anyRunnerOf = (threadId: string): Promise<Runner> => runnerOf(threadId).catch(() => base);

  const own: Partial<Record<string, unknown>> = {
    async answer(...[id, answer, given]: Parameters<Runner["answer"]>) {
      const item = (await requestOf(base, id))?.threadId;
      return (item === undefined ? base : await runnerOf(item)).answer(id, answer, given);
    },
    async work(given: WorkOptions = {}) {
      work = given;
      try {
        await base.work(given);
      } finally {
        await Promise.all(workers.values());
      }
    },
    async fork(...[threadId, given]: Parameters<Runner["fork"]>) {
      const as = given.as ?? randomUUID();
      const about = readNote(dataFolder, threadId)?.folder ?? home.folder;
      noteThread(dataFolder, as, { folder: about });
      return (await setupOf(about)).runner.fork(threadId, { ...given, as });
    },
    async delete(threadId: string) {
      await (await anyRunnerOf(threadId)).delete(threadId);
      forgetThread(dataFolder, threadId);
    },
    async *events(...[threadId, given]: Parameters<Runner["events"]>) {
      yield* (await anyRunnerOf(threadId)).events(threadId, given);
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
        const of = ANYWHERE.has(name) ? anyRunnerOf : runnerOf;
        const at = threadId === undefined ? target : await of(threadId);
        return (Reflect.get(at, name, at) as (...args: unknown[]) => unknown).call(at, threadId, ...rest);
      };
    },
  });

  return {
    runner,
    setup: home,
    async close() {
      const opened = await Promise.all(setups.values());
      await Promise.all(opened.filter((setup) => setup !== given).map((setup) => setup.close()));
    },
  };
}

/** Returns the folder of a thread; undefined if the thread has no note. A folder that has moved is an error of the runner. */
function folderOf(dataFolder: string, threadId: string): string | undefined {
  try {
    return readFolder(dataFolder, threadId);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const [message = error.message, hint = ""] = peopleWords(error, en);
    throw new BelayError("INVALID_STATE", message, hint, { threadId, problem: error.code });
  }
}

async function requestOf(runner: Runner, id: string): Promise<{ readonly threadId: string } | undefined> {
  return (await runner.request(id))?.item;
}
