// A stop in this process: of what runs, or of a thread that only waits for people; and pause().

import { type BelayError, belayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import { isRequest } from "../../interrupt/interrupt.ts";
import type { Stop } from "../../interrupt/stop-signal.ts";
import type { ThreadState } from "../../journal/state.ts";
import { keyOf } from "../../journal/taken.ts";
import { sayOfIdleStop } from "../decide/after-stop.ts";
import { interruptOf, newHandle, type Receipt } from "../decide/ending.ts";
import { commandFact, stateFact } from "../decide/facts.ts";
import { alsoStopped, stopWaiting } from "../decide/idle.ts";
import { waitingCalls } from "../decide/requests.ts";
import { isStale } from "../decide/stale.ts";
import type { GuardOptions } from "../given/command-options.ts";
import { type InterruptOptions, readStop } from "../given/options.ts";
import type { Standing } from "../read/recall.ts";
import type { GoingOn } from "./going-on.ts";
import type { LiveThread, RestingStop } from "./live-thread.ts";
import { recordedReceipt, stopElsewhere } from "./stop-elsewhere.ts";
import { eitherOf } from "./stops.ts";

/** How long a stop waits for who goes on by a handle, and has asked to before it: a store need not give word of that at all. */
const BEGIN_MS = 1_000;

/**
 * Stops the work in this process. The signal is set before this returns (S1). Throws if the options are invalid. `before`: the
 * resumes that were asked for before the stop and have not begun.
 */
export function stopHere(
  thread: LiveThread,
  options: InterruptOptions,
  before = thread.host.goingOn(thread.key.threadId),
): Promise<Receipt> {
  const { tenure, setup } = thread;
  const stop = readStop(options, setup.clock.now(), setup.maxBytes);
  return unlessMet(thread, options, before, stop, () => {
    const receipt = tenure?.interrupt(stop, options);
    const stopped =
      receipt === undefined
        ? stopResting(thread, stop, options, notAccepted(thread))
        : receipt.then((told) => {
            const left = !stop.keepsRequests && tenure?.keptRequests;
            return told.accepted && !left ? told : stopPaused(thread, stop, options, told);
          });
    const { id } = options;
    return id === undefined ? stopped : stopped.then((told) => onRecord(thread, id, stop.by, told));
  });
}

/** Pauses the run in this process. As a stop, it is for a segment that was asked for before it. */
export function pauseHere(
  thread: LiveThread,
  options: GuardOptions,
  before = thread.host.goingOn(thread.key.threadId),
): Promise<Receipt> {
  return unlessMet(thread, options, before, undefined, () => {
    return thread.tenure?.pause(options) ?? Promise.resolve(notAccepted(thread));
  });
}

/**
 * Calls `act`, unless the command is on record or for another segment. If a resume was asked for before and has not begun, it
 * waits for that; a `stop` ends answered calls at once.
 */
function unlessMet(
  thread: LiveThread,
  options: GuardOptions,
  [goingOn, ...others]: readonly GoingOn[],
  stop: Stop | undefined,
  act: () => Promise<Receipt>,
): Promise<Receipt> {
  const { tenure, running, recall, setup } = thread;
  const { id, segment } = options;
  if (id !== undefined && (running?.state ?? recall.now()).taken?.has(keyOf.stop(id))) {
    return orBehind(thread, recordedReceipt(setup.store, thread.key, id));
  }
  if (id !== undefined && thread.live?.hasMissed(id)) return Promise.resolve(notAccepted(thread));
  const at = running?.run ?? thread.standing;
  // It begins another segment than the present one.
  if (goingOn !== undefined && running === undefined && segment !== at.segment) {
    const ofCalls = stop && tenure?.interrupt(stop, options);
    const again = (left: readonly GoingOn[]) =>
      stop === undefined ? pauseHere(thread, options, left) : stopHere(thread, options, left);
    return eitherOf(
      whenBegun(thread, goingOn, (hasBegun) => again(hasBegun ? others : [])),
      ofCalls,
    )!;
  }
  return isStale(options, at) ? Promise.resolve(notAccepted(thread)) : act();
}

/** Stops in the tick in which it begins; also where it is refused, or does not begin for long. */
function whenBegun(
  { setup: { clock } }: LiveThread,
  goingOn: GoingOn,
  stop: (hasBegun: boolean) => Promise<Receipt>,
): Promise<Receipt> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const over = (hasBegun: boolean) => {
      if (isOver) return;
      isOver = true;
      clock.clearTimeout(timer);
      try {
        resolve(stop(hasBegun));
      } catch (error) {
        reject(error);
      }
    };
    const timer = clock.setTimeout(() => over(false), BEGIN_MS);
    goingOn.whenOver(() => over(true));
  });
}

/** It came while the pause was being written, perhaps that of a stop which keeps what is asked: it is for the pause, and for what an answer has let run in it by now. */
async function stopPaused(thread: LiveThread, stop: Stop, options: InterruptOptions, told: Receipt): Promise<Receipt> {
  const { tenure, running, standing } = thread;
  const isSame = standing.runId === told.runId && standing.segment === told.segment;
  const ofCalls = isSame && running === undefined ? await tenure?.interrupt(stop, options) : undefined;
  // It came to rest before it heard of the stop.
  if (ofCalls?.accepted === false) return stopPaused(thread, stop, options, told);
  const ofPause = ofCalls ?? (await stopResting(thread, stop, options, told));
  return told.accepted && !ofPause.accepted ? told : ofPause;
}

/** It joined another one when that was written, or nearly: its id is on record all the same, and hits nothing that comes later. */
export async function onRecord(thread: LiveThread, id: string, by: string, told: Receipt): Promise<Receipt> {
  if (!told.accepted || thread.isWriting || thread.recall.now().taken?.has(keyOf.stop(id))) return told;
  try {
    await thread.append(alsoStopped({ key: keyOf.stop(id), by }, told));
  } catch (error) {
    // Another one was faster. Where somebody has gone on since there is no such pause any more.
    if ((error as Partial<BelayError>).code === "STORE_CONFLICT") return onRecord(thread, id, by, told);
  }
  return told;
}

/** There was nothing to stop. */
export function notAccepted(thread: LiveThread): Receipt {
  const { runId, segment } = thread.standing;
  const none = { partialText: "", stopped: [], finished: [], notStarted: [], late: [...thread.behind] };
  return { accepted: false, runId, segment: runId === undefined ? undefined : segment, ...none };
}

/** Where nothing runs, and people are asked for something; else it is as `told`. */
function stopResting(thread: LiveThread, stop: Stop, options: InterruptOptions, told: Receipt): Promise<Receipt> {
  if (thread.isWriting || stop.keepsRequests) return Promise.resolve(told);
  const { stopping } = thread;
  const { runId, segment } = thread.standing;
  // Of what is asked in another stretch it knows nothing.
  if (stopping !== undefined && stopping.runId === runId && stopping.segment === segment) {
    if (options.id !== undefined) stopping.ids.add(options.id);
    if (options.force) {
      stopping.forced = true;
      thread.hot.force();
    }
    return stopping.receipt;
  }
  const waits = thread.state === "paused" && thread.standing.interrupts.some(isRequest);
  if (!waits) return Promise.resolve(told);
  const ids = new Set(options.id === undefined ? [] : [options.id]);
  const asked = { runId, segment, ids, forced: options.force ?? false };
  const receipt = stopAsking(thread, stop, options, asked).finally(() => {
    if (thread.stopping === begun) thread.stopping = undefined;
  });
  const begun = Object.assign(asked, { receipt });
  thread.stopping = begun;
  return receipt;
}

/** Nothing runs, and people are asked for something: they need not answer any more (S9). */
async function stopAsking(
  thread: LiveThread,
  stop: Stop,
  options: InterruptOptions,
  asked: Omit<RestingStop, "receipt">,
  words?: readonly Fact[],
): Promise<Receipt> {
  const { clock, tokenTtlMs } = thread.setup;
  // As the store has it: who has gone on since this stretch means it, whatever is asked by now.
  let of: Pick<InterruptOptions, "runId" | "segment"> = { runId: options.runId, segment: options.segment };
  const known = thread.standing;
  let isAnother = false;
  const told = (place: FramePlace, state: ThreadState) => {
    const { threadId, runId, segment } = place;
    isAnother = (of.runId ?? runId) !== runId || (of.segment ?? segment) !== segment;
    if (isAnother) throw belayError("INVALID_STATE", { threadId, state: state.state, action: "interrupt()" });
    of = { runId, segment };
    const turn = state.scopes.get(place.runPath)?.turn ?? 0;
    const calls = waitingCalls(state);
    return interruptOf(place, turn, calls, { asked: stop, late: [...thread.behind], now: clock.now() });
  };
  let said = words;
  let receipt = notAccepted(thread);
  try {
    // Hooks are asked once, however often it has to be written.
    said ??= await sayOfIdleStop(thread, thread.resting(), stop, () => thread.recall.load(true), told);
    await thread.append(
      stopWaiting(
        thread.agent,
        stop,
        (place) => [...asked.ids].map((id) => stopFact(place, id, stop.by)),
        said,
        (place, state) => {
          const calls = waitingCalls(state);
          const interrupt = told(place, state);
          const { token } = newHandle(place, "user_interrupt", { now: clock.now(), tokenTtlMs });
          receipt = { ...receipt, accepted: true, runId: place.runId, segment: place.segment, ...calls };
          const more = { pauseType: "user_interrupt" as const, interrupts: [interrupt], ...token };
          return { interrupt, fact: stateFact(place, "paused", more) };
        },
      ),
    );
  } catch (error) {
    const { code } = error as Partial<BelayError>;
    // Somebody was faster: it runs, here or elsewhere, or something was answered, perhaps the last that was asked.
    if (code !== "INVALID_STATE" && code !== "STORE_CONFLICT" && code !== "THREAD_BUSY") throw error;
    // Who goes on after a stop means it.
    if (isAnother || thread.running !== undefined) return notAccepted(thread);
    const again = { ...options, ...of };
    if (thread.tenure === undefined && code === "STORE_CONFLICT") return stopAsking(thread, stop, again, asked, said);
    const told = await orBehind(thread, stopAnswered(thread, stop, { ...again, force: asked.forced }, known));
    // It came to rest before it heard of the stop.
    return told.accepted || !(await asksStill(thread, told)) ? told : stopAsking(thread, stop, again, asked, said);
  }
  thread.hot.dropAll();
  if (asked.forced) thread.hot.force();
  await thread.hot.gone;
  return receipt;
}

function stopFact(place: FramePlace, id: string, by: string): Fact {
  return commandFact(place, { key: keyOf.stop(id), by });
}

/** Of the calls that an answer let run meanwhile, in the stretch that the stop is for, or that was known when it came. */
function stopAnswered(
  thread: LiveThread,
  stop: Stop,
  options: InterruptOptions,
  { runId, segment }: Standing,
): Promise<Receipt> {
  const here = thread.tenure?.interrupt(stop, options);
  return (
    here ??
    stopElsewhere(thread.setup, thread.key, {
      do: "stop",
      options: { ...options, runId: options.runId ?? runId, segment: options.segment ?? segment },
    })
  );
}

/** As the store has it: nobody runs it, it has not failed, and people are asked for something in the stretch that the stop is for. */
async function asksStill(thread: LiveThread, of: Receipt): Promise<boolean> {
  const loaded = await thread.recall.read(Number.MAX_SAFE_INTEGER);
  if (loaded === undefined || loaded.row.lease !== undefined) return false;
  await thread.refresh();
  const { runId, segment, interrupts } = thread.standing;
  const isSame = of.runId === runId && of.segment === segment;
  return isSame && thread.state === "paused" && interrupts.some(isRequest);
}

/** Adds the calls that still run in this process: another process, which had the stop, does not know of them. */
export async function orBehind(thread: LiveThread, told: Promise<Receipt>): Promise<Receipt> {
  const receipt = await told;
  return { ...receipt, late: [...new Set([...receipt.late, ...thread.behind])] };
}
