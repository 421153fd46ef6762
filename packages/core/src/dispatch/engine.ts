// The parts that every adapter of an engine needs: the name of a wake, one delivery, a bound on waiting, and slots.
import { belayError, errorText } from "../error.ts";
import type { Moved, ThreadRef } from "./dispatcher.ts";

/** An engine has to confirm a wake in this time. A caller of `wake` gets its error within five seconds. */
const CONFIRM_MS = 4_000;

/** A wake as an engine carries it: no message, no secret, only which thread to look at. */
export interface EngineWake {
  readonly thread: ThreadRef;
  /** An engine keeps one wake of a name until its delivery has ended. */
  readonly name: string;
}

/** A process that stands still may hold a name for hours. A wake for now gets another name after this time. */
const NAMED_MS = 30_000;

/**
 * Returns a name for a wake: the same for the same thread and cause, and a new one without a cause. It has only characters
 * that fit a header of HTTP and a key of Redis, and no colon.
 */
export function wakeName(
  { tenant, threadId }: ThreadRef,
  { id = globalThis.crypto.randomUUID(), at }: { readonly id?: string | undefined; readonly at?: number | undefined },
): string {
  const period = at === undefined ? Math.floor(Date.now() / NAMED_MS).toString(36) : "";
  return [tenant, threadId, id, period].map((each) => encodeURIComponent(each.toWellFormed())).join(",");
}

/**
 * Calls `move` for one wake. If the thread needs another look, sends that wake before it resolves: an engine that
 * forgets this delivery only afterwards loses nothing by a crash in between.
 */
export async function deliver(
  { thread, name }: EngineWake,
  move: (thread: ThreadRef) => Promise<Moved>,
  send: (wake: EngineWake, at: number) => Promise<void>,
): Promise<void> {
  // An engine stores the words and the stack of a failure: it gets none of the thread. The runner's log has them.
  const { again, id } = await move(thread).catch((): never => {
    const failed = new Error("The thread could not be moved.");
    failed.stack = String(failed);
    throw failed;
  });
  if (again === undefined) return;
  const next = wakeName(thread, { id, at: again });
  // The engine still holds the name of this delivery, and would drop its twin.
  await send({ thread, name: next === name ? `${next}~` : next }, again);
}

/** Waits for an engine to confirm; rejects with `ENGINE_AWAY` if it refuses, or takes too long. */
export async function confirmed<T>(engine: string, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${CONFIRM_MS} ms`)), CONFIRM_MS);
  });
  try {
    return await Promise.race([work, late]);
  } catch (cause) {
    throw belayError("ENGINE_AWAY", { engine, reason: errorText(cause) }, cause);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}

/** Returns how long to wait before a delivery that has failed `failures` times is tried again: 0.1 s, doubled up to 30 s. */
export function retryPause(failures: number): number {
  return Math.min(30_000, 100 * 2 ** Math.min(20, failures - 1));
}

/** So many deliveries at once; those that wait are refused when the signal fires. */
export interface Slots {
  /** Runs `work` in a slot. Rejects, without a call of `work`, if the signal fires first. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when no slot is in use. */
  idle(): Promise<void>;
}

/** Returns `count` slots, for an engine that does not itself bound the deliveries of one process. */
export function slots(count: number, signal: AbortSignal): Slots {
  let used = 0;
  const waiting: { go: () => void; refuse: (reason: unknown) => void }[] = [];
  let whenIdle: (() => void)[] = [];
  const free = () => {
    const next = waiting.shift();
    // The next one takes over the slot: it is never free in between.
    if (next !== undefined) return next.go();
    used -= 1;
    if (used > 0) return;
    for (const resolve of whenIdle) resolve();
    whenIdle = [];
  };
  signal.addEventListener("abort", () => {
    for (const { refuse } of waiting.splice(0)) refuse(signal.reason);
  });
  return {
    async run(work) {
      signal.throwIfAborted();
      if (used < count) used += 1;
      else await new Promise<void>((go, refuse) => waiting.push({ go, refuse }));
      try {
        return await work();
      } finally {
        free();
      }
    },
    idle: () => (used === 0 ? Promise.resolve() : new Promise((resolve) => whenIdle.push(resolve))),
  };
}

/** Resolves after that time, or when the signal fires. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
