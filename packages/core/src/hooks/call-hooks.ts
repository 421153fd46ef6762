// Calling hooks. Invariants:
// 1. A hook delays no stop: the caller of a hook waits for it no longer than the stop allows.
// 2. A hook that fails before a step fails that step, with HOOK_FAILED; one that fails after it is logged, and the
//    step is recorded as it was.
// 3. A hook gets a frozen copy: it changes a value only by returning another.

import type { Clock } from "../clock.ts";
import { BelayError, belayError, errorText, UserInterrupt } from "../error.ts";
import { LazyAbort } from "../interrupt/lazy-abort.ts";
import type { StopSignal } from "../interrupt/stop-signal.ts";
import { frozen, type Json, toJson } from "../json.ts";
import type { Log } from "../log.ts";
import { fileProblem, isBlank, type Message, type Part } from "../message.ts";
import { point } from "../point.ts";
import type { Hook, HookName, HookTable, ReplyInput, Spoken } from "./hooks.ts";

/** The time that a stop gives to a hook that it waits for. */
export const GRACE_MS = 500;

/** Where hooks are called: the frame of an agent, or something like it. */
export interface HookHost {
  readonly place: {
    readonly threadId: string;
    readonly runId: string;
    readonly segment: number;
    readonly agentName: string;
    readonly runPath: string;
  };
  readonly signal: StopSignal;
  readonly clock: Clock;
  readonly deps: unknown;
  readonly desk: { readonly hooks: HookTable | undefined; readonly log: Log };
}

/** Calls the hook and resolves to its value. Rejects with HOOK_FAILED. */
export async function callHook(host: HookHost, name: HookName, hook: Hook, more: object): Promise<unknown> {
  const abort = new LazyAbort();
  const stopped = () => {
    const { stop } = host.signal;
    if (stop !== undefined) abort.abort(() => new UserInterrupt(stop.at, stop.reason));
  };
  const listener = { stopped };
  host.signal.on(listener);
  stopped();
  const { threadId, runId, segment, agentName, runPath } = host.place;
  const info = {
    threadId,
    runId,
    segment,
    agentName,
    runPath,
    deps: host.deps,
    get signal() {
      return abort.signal;
    },
    ...frozen(more),
  };
  point("hook:begin", name);
  try {
    return await hook(info as never);
  } catch (error) {
    throw hookFailed(host, name, errorText(error), error);
  } finally {
    host.signal.off(listener);
    point("hook:end", name);
  }
}

export function hookFailed({ place }: Pick<HookHost, "place">, hook: HookName, reason: string, cause?: unknown) {
  return belayError("HOOK_FAILED", { hook, agent: place.agentName, reason }, cause);
}

/** Shows a piece of text to hooks that only look on. One that throws is reported once, and then left out by `muted`. */
export function showText(host: HookHost, hooks: readonly Hook[], muted: Set<Hook>, delta: string, of: TextPlace): void {
  const { threadId, runId, segment, agentName, runPath } = host.place;
  for (const hook of hooks) {
    if (muted.has(hook)) continue;
    const failed = (error: unknown) => {
      if (!muted.has(hook)) report(host, hookFailed(host, "onText", errorText(error), error));
      muted.add(hook);
    };
    const { messageId, offset } = of;
    const info = { threadId, runId, segment, agentName, runPath, deps: host.deps, messageId, offset };
    try {
      const given: unknown = hook(delta as never, info as never);
      if (given instanceof Promise) given.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

/** The message that a piece of text belongs to. */
export interface TextPlace {
  readonly messageId: string;
  readonly offset: number;
}

/** Calls the hooks in order: each gets the value that the one before it returned. Rejects with HOOK_FAILED. */
export async function runBefore<T>(
  host: HookHost,
  name: HookName,
  hooks: readonly Hook[],
  first: T,
  info: (value: T) => object,
  take: (value: T, given: unknown) => T,
): Promise<T> {
  let value = first;
  for (const hook of hooks) {
    const given = await callHook(host, name, hook, info(value));
    if (given !== undefined) value = taken(host, name, () => take(value, given));
  }
  return value;
}

/** The same for hooks that come after a step: never rejects, and one that fails changes nothing. */
export async function runAfter<T>(
  host: HookHost,
  name: HookName,
  hooks: readonly Hook[],
  first: T,
  info: (value: T) => object,
  take: (value: T, given: unknown) => T,
): Promise<T> {
  let value = first;
  for (const hook of hooks) {
    try {
      const given = await callHook(host, name, hook, info(value));
      if (given !== undefined) value = taken(host, name, () => take(value, given));
    } catch (error) {
      report(host, error);
    }
  }
  return value;
}

/** Calls hooks that only look on. Waits for them unless there is a stop. Never rejects. */
export async function lookOn(host: HookHost, name: HookName, hooks: readonly Hook[], info: object): Promise<void> {
  await host.signal.orStopped(
    runAfter(
      host,
      name,
      hooks,
      undefined,
      () => info,
      () => undefined,
    ),
  );
}

function taken<T>(host: HookHost, name: HookName, take: () => T): T {
  try {
    return take();
  } catch (error) {
    throw hookFailed(host, name, errorText(error), error);
  }
}

/** Logs an error. A log that fails, too, cannot be helped. */
export function report({ place, desk }: Pick<HookHost, "place" | "desk">, error: unknown): void {
  if (!(error instanceof BelayError)) return;
  const { threadId, runId, agentName, runPath } = place;
  try {
    desk.log({ level: "warn", error, threadId, runId, agentName, runPath });
  } catch {
    // As said.
  }
}

/**
 * Resolves to the value of `work`, or to undefined if it takes longer than a stop can wait: from the stop, or, with `graceMs`,
 * from now.
 */
export function withinGrace<T>(
  { signal, clock }: Pick<HookHost, "signal" | "clock">,
  work: Promise<T>,
  graceMs?: number,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const over = () => resolve(undefined);
    let timer: unknown = graceMs === undefined ? undefined : clock.setTimeout(over, graceMs);
    const listener = {
      stopped: () => {
        // Accept a value that needs no time.
        if (signal.forced) setImmediate(over);
        else timer ??= clock.setTimeout(over, signal.stop?.graceMs ?? GRACE_MS);
      },
    };
    const done = () => {
      signal.off(listener);
      clock.clearTimeout(timer);
    };
    signal.on(listener);
    work.then(resolve, reject);
    work.then(done, done);
    if (signal.forced || signal.stop !== undefined) listener.stopped();
  });
}

/** Returns the input that a `beforeReply` hook made of another. */
export function takeInput(was: ReplyInput, given: unknown): ReplyInput {
  if (typeof given === "string") {
    return "value" in was ? { value: given } : { messages: [spoken(given)].flatMap((each) => each ?? []) };
  }
  const { messages, value } = (given ?? {}) as { readonly messages?: unknown; readonly value?: unknown };
  if (Array.isArray(messages)) return { messages: messages.flatMap((each) => spoken(each) ?? []) };
  if (value !== undefined) return { value: toJson(value, "An input") };
  throw new TypeError(`it gave ${show(given)}, neither text nor { messages } nor { value }`);
}

/** Returns a text, or the text and files of a message; undefined if it is empty. */
export function spoken(given: unknown): Spoken | undefined {
  if (typeof given === "string") return isBlank(given) ? undefined : { parts: [{ type: "text", text: given }] };
  const parts: unknown = (given as Partial<Message> | null)?.parts;
  if (!Array.isArray(parts)) throw new TypeError(`it gave ${show(given)}, neither text nor a message with parts`);
  const said = (toJson(parts, "A message of a hook") as unknown as readonly Part[]).filter(isSaid);
  return said.length === 0 ? undefined : { parts: said };
}

function isSaid(part: Part): boolean {
  if (part?.type === "text" && typeof part.text === "string") return !isBlank(part.text);
  if (part?.type === "file") {
    const problem = fileProblem(part);
    if (problem === undefined) return true;
    throw new TypeError(`it gave a file that ${problem}`);
  }
  throw new TypeError(`it gave a part of type ${show(part?.type)}; text and file can be said`);
}

export function show(value: unknown): string {
  try {
    return JSON.stringify(value as Json) ?? String(value);
  } catch {
    return String(value);
  }
}
