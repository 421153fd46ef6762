// One stretch of a run in this process: takes the lease, runs the agent, records how it ended, gives the lease back.
// Invariants:
// 1. Whoever ends it ends the Run and every receipt handed out for it; every end is idempotent.
// 2. Input is appended first, then the stop is looked at: a stop in the same tick costs no model request.
// 3. The receipt of a stop comes when the work has stopped and that is recorded (X3).

import { createHash, randomBytes } from "node:crypto";
import type { Agent, Ended } from "../agent.ts";
import { noCalls } from "../agent.ts";
import { type BelayError, belayError, errorRecord, errorText } from "../error.ts";
import type { Fact } from "../event.ts";
import { Frame, type FramePlace } from "../frame.ts";
import { turnAddress } from "../interrupt/address.ts";
import type { Handle, Interrupt } from "../interrupt/interrupt.ts";
import { type Boundary, overriding, type Stop, StopSignal } from "../interrupt/stop-signal.ts";
import type { ThreadState } from "../journal/state.ts";
import type { PauseType } from "../lifecycle.ts";
import { addUsage } from "../message.ts";
import type { ThreadKey } from "../store/store.ts";
import { Drive, type DriveSetup, storeError } from "./drive.ts";
import { interruptedFact, runEnd, stateFact, turnEnd } from "./facts.ts";
import type { Feed } from "./feed.ts";
import type { LiveRun, RunResult } from "./run.ts";

/** What a stop did. Call ids in `stopped` (cut off), `finished`, `notStarted` (held) and `late` (left behind, still running). */
export interface Receipt {
  readonly accepted: boolean;
  readonly runId: string | undefined;
  readonly segment: number | undefined;
  /** The text of the cut answer, as it is kept. */
  readonly partialText: string;
  readonly stopped: readonly string[];
  readonly finished: readonly string[];
  readonly notStarted: readonly string[];
  readonly late: readonly string[];
}

export interface ExecutionHost {
  readonly setup: DriveSetup;
  readonly key: ThreadKey;
  readonly agent: Agent<unknown, never>;
  readonly deps: unknown;
  readonly feed: Feed;
  /** Calls of this thread that were left behind, by this stretch or an earlier one, and still run. */
  readonly behind: Set<string>;
  /** The thread as it is now; `fresh` reads what others have written. */
  load(fresh: boolean): Promise<ThreadState>;
  /** Called when the execution is on record, and when it is over: before anyone can see either. */
  opened(execution: Execution, state: ThreadState): void;
  ended(execution: Execution, state: ThreadState | undefined): void;
}

/** How the stretch begins: facts for the thread as it is, or a refusal (thrown). */
export type Opening = (state: ThreadState) => readonly Fact[];

const REOPEN_TRIES = 5;

export class Execution {
  readonly #host: ExecutionHost;
  readonly #place: FramePlace;
  readonly run: LiveRun;
  readonly signal = new StopSignal();
  /** Resolves when the stretch is on record, or to why it could not begin. */
  readonly opening: Promise<BelayError | undefined>;
  #opened: (error: BelayError | undefined) => void = () => {};
  #drive: Drive | undefined;
  #receipt: { readonly promise: Promise<Receipt>; readonly resolve: (receipt: Receipt) => void } | undefined;
  /** Who asked for a stop, where someone did: decides the kind of pause. */
  #asked: Stop | undefined;
  /** pause() was asked for. */
  #parking = false;
  #intent: "terminate" | "close" | undefined;
  #deadline: unknown;
  #over = false;

  constructor(host: ExecutionHost, place: FramePlace, run: LiveRun) {
    this.#host = host;
    this.#place = place;
    this.run = run;
    this.opening = new Promise((resolve) => (this.#opened = resolve));
  }

  /** The thread's state once the stretch is on record. */
  get state(): ThreadState | undefined {
    return this.#drive?.state;
  }

  async start(opening: Opening): Promise<void> {
    let state: ThreadState;
    try {
      state = await this.#open(opening);
    } catch (error) {
      return this.#fail(storeError(this.#host.key, error));
    }
    const ended = await this.#runAgent(state);
    if (this.#over) return;
    await this.#close(ended, state);
  }

  async #open(opening: Opening): Promise<ThreadState> {
    const host = this.#host;
    let state = await host.load(false);
    for (let tries = 1; ; tries++) {
      if (this.#intent === "close") throw belayError("SESSION_CLOSED", { threadId: host.key.threadId });
      const facts = await this.#begin(opening, state);
      const { setup, key, agent, feed, behind } = host;
      const drive = new Drive(setup, key, agent.name, state, feed, (error) => this.#fail(error), behind);
      const from = state.head;
      const refusal = await drive.open(facts, () => {
        this.#drive = drive;
        host.feed.live = true;
        host.opened(this, state);
        this.run.began(from);
      });
      if (refusal === undefined) break;
      if (refusal.why === "busy") throw busy(host.key.threadId, refusal.owner, refusal.until);
      if (tries === REOPEN_TRIES) {
        throw belayError("STORE_CONFLICT", { threadId: host.key.threadId, expected: from, found: state.head });
      }
      state = await host.load(true);
    }
    this.#opened(undefined);
    return state;
  }

  /** The facts to begin with. What the thread's state does not allow is THREAD_BUSY while someone else moves it. */
  async #begin(opening: Opening, state: ThreadState): Promise<readonly Fact[]> {
    try {
      return opening(state);
    } catch (refusal) {
      const { key, setup } = this.#host;
      const lease = (await setup.store.load(key, state.head))?.row.lease;
      throw lease === undefined ? refusal : busy(key.threadId, lease.owner, lease.until);
    }
  }

  async #runAgent(state: ThreadState): Promise<Ended> {
    const { agent, deps, setup } = this.#host;
    const scope = state.scopes.get(this.#place.runPath)!;
    const frame = new Frame(this.#place, scope, this.signal, setup.clock, deps, this.#drive!);
    try {
      return await agent.run(frame);
    } catch (error) {
      const failure = belayError("AGENT_FAILED", { agent: agent.name, reason: errorText(error) }, error);
      return { how: "failed", facts: [], error: failure };
    }
  }

  /** Asks for a stop; the receipt is the same for all who do. */
  interrupt(stop: Stop, mode: "now" | Boundary, timeoutMs: number | undefined, force: boolean): Promise<Receipt> {
    const now = mode === "now" || force;
    if (this.#asked === undefined) this.#asked = stop;
    else if (now && this.signal.stop === undefined) this.#asked = overriding(this.#asked, stop);
    if (now) this.signal.raise(this.#asked);
    else this.signal.haltAt(mode);
    if (force) this.signal.force();
    if (timeoutMs !== undefined) this.#escalateAfter(timeoutMs);
    return this.#waitForReceipt();
  }

  /** Parks at the next boundary, whichever it is. */
  pause(): Promise<Receipt> {
    this.#parking = true;
    this.signal.haltAt("after-model");
    this.signal.haltAt("after-tools");
    return this.#waitForReceipt();
  }

  terminate(stop: Stop): Promise<Receipt> {
    this.#intent = "terminate";
    this.signal.raise(stop);
    return this.#waitForReceipt();
  }

  /** Lets go of the thread: work in flight is aborted, what it gave is recorded, and the thread reads paused / crash. */
  close(stop: Stop): Promise<Receipt> {
    this.#intent ??= "close";
    this.signal.raise(stop);
    return this.#waitForReceipt();
  }

  /** Makes the lease last longer; a lost one ends the execution. */
  async renew(): Promise<void> {
    const drive = this.#drive;
    if (drive === undefined || this.#over) return;
    const { store, leaseTtlMs } = this.#host.setup;
    let kept: boolean;
    try {
      kept = await store.renew(this.#host.key, drive.fence, leaseTtlMs);
    } catch {
      return; // The next append tells whether the store is gone; the lease is not lost before its time.
    }
    if (!kept && !this.#over) {
      drive.abandon();
      this.#fail(belayError("FENCED", { threadId: this.#host.key.threadId }));
    }
  }

  #escalateAfter(ms: number): void {
    const { clock } = this.#host.setup;
    const due = clock.now() + ms;
    const set = this.#deadline as { due: number; timer: unknown } | undefined;
    if (set !== undefined && set.due <= due) return;
    if (set !== undefined) clock.clearTimeout(set.timer);
    const timer = clock.setTimeout(() => this.#asked && this.signal.raise(this.#asked), ms);
    this.#deadline = { due, timer };
  }

  #waitForReceipt(): Promise<Receipt> {
    if (this.#receipt === undefined) {
      let resolve: (receipt: Receipt) => void = () => {};
      const promise = new Promise<Receipt>((r) => (resolve = r));
      this.#receipt = { promise, resolve };
    }
    return this.#receipt.promise;
  }

  async #close(ended: Ended, state: ThreadState): Promise<void> {
    let token: string | undefined;
    let interrupt: Interrupt | undefined;
    let type: PauseType | undefined;
    /** How many facts end the stretch. */
    let tail = 2;
    const make = (): readonly Fact[] => {
      const usage = addUsage(state.run?.usage, usageOf(ended.facts));
      if (this.#intent === "terminate") {
        return [...ended.facts, runEnd(this.#place, "terminated", usage), stateFact(this.#place, "terminated")];
      }
      switch (ended.how) {
        case "completed": {
          const end = runEnd(this.#place, "completed", usage, { finish: ended.finish });
          return [...ended.facts, end, stateFact(this.#place, "completed")];
        }
        case "failed": {
          const end = runEnd(this.#place, "failed", usage, { error: errorRecord(ended.error) });
          return [...ended.facts, end, stateFact(this.#place, "error", { attempt: ended.attempt ?? 1 })];
        }
        case "stopped": {
          if (this.#intent === "close" && this.#asked === undefined && !this.#parking) {
            tail = 0;
            return ended.facts;
          }
          type = this.#asked === undefined ? "manual" : "user_interrupt";
          interrupt = this.#interrupt(ended.turn ?? state.scopes.get(this.#place.runPath)?.turn ?? 0);
          token = randomBytes(32).toString("hex");
          const tokenHash = hashToken(token);
          const pause = { pauseType: type, interrupts: [interrupt], tokenHash, attempt: ended.attempt };
          return [...ended.facts, interruptedFact(this.#place, interrupt), stateFact(this.#place, "paused", pause)];
        }
        default:
          return ended satisfies never;
      }
    };
    const released = () => {
      const handle = type === undefined || token === undefined ? undefined : this.#handle(type, token);
      this.#finish(state, this.#result(ended, state, handle, interrupt), this.#receiptFor(ended));
    };
    // The turn ends after its own facts and before those that end the stretch.
    const { turn } = ended;
    const now = this.#host.setup.clock.now();
    const draft = turn === undefined ? undefined : { event: turnEnd(this.#place, turn, now), before: () => tail };
    await this.#drive!.release(make, released, draft);
  }

  #interrupt(turn: number): Interrupt {
    const { runId, segment, runPath } = this.#place;
    const { clock } = this.#host.setup;
    const stop = this.#asked;
    const address = turnAddress(runPath, turn);
    return {
      id: `${runId}.${segment}`,
      kind: stop === undefined ? "manual" : "user",
      address,
      raisedAt: stop?.at ?? clock.now(),
      by: stop?.by ?? "user",
      ...(stop?.reason !== undefined && { reason: stop.reason }),
      ...(stop?.message !== undefined && { message: stop.message }),
    };
  }

  #handle(interruptType: PauseType, token: string): Handle {
    const { threadId, runId, segment } = this.#place;
    return { threadId, runId, segment, token, interruptType, restartBlock: interruptType === "user_interrupt" };
  }

  #result(
    ended: Ended,
    state: ThreadState,
    handle: Handle | undefined,
    interrupt: Interrupt | undefined,
  ): RunResult<never> {
    const { runId, segment, threadId } = this.#place;
    const place = { runId, segment, usage: state.run?.usage ?? addUsage(undefined, undefined) };
    if (this.#intent === "terminate") return { ...place, status: "terminated" };
    switch (ended.how) {
      case "completed":
        return { ...place, status: "completed", output: ended.output as never, text: ended.text, finish: ended.finish };
      case "failed":
        return { ...place, status: "failed", error: ended.error };
      case "stopped": {
        if (handle === undefined || interrupt === undefined) {
          return { ...place, status: "failed", error: belayError("SESSION_CLOSED", { threadId }) };
        }
        const { interruptType } = handle;
        const { partialText } = ended;
        return {
          ...place,
          status: "interrupted",
          interruptType,
          handle,
          interrupts: [interrupt],
          interrupt,
          partialText,
        };
      }
      default:
        return ended satisfies never;
    }
  }

  #receiptFor(ended: Ended | undefined): Receipt {
    const { runId, segment } = this.#place;
    const late = [...this.#host.behind];
    if (ended?.how !== "stopped") return { accepted: false, runId, segment, partialText: "", ...noCalls, late };
    const { partialText, calls } = ended;
    return { accepted: true, runId, segment, partialText, ...calls, late };
  }

  /** Nothing more can be recorded: everything in flight is aborted, and the thread is as the store has it. */
  #fail(error: BelayError): void {
    if (this.#over) return;
    const { runId, segment } = this.#place;
    const usage = this.state?.run?.usage ?? addUsage(undefined, undefined);
    this.#drive?.abandon();
    // First, so that receipts tell what is left behind by it.
    const { clock } = this.#host.setup;
    const blank = { reason: error.code, message: undefined, rollbackPartial: true, graceMs: 0 };
    this.signal.raise({ at: clock.now(), by: "error", ...blank });
    this.signal.force();
    this.#finish(undefined, { runId, segment, usage, status: "failed", error }, this.#receiptFor(undefined));
    this.#host.feed.lookAgain();
    this.#opened(error);
  }

  #finish(state: ThreadState | undefined, result: RunResult<never>, receipt: Receipt): void {
    if (this.#over) return;
    this.#over = true;
    const deadline = this.#deadline as { timer: unknown } | undefined;
    if (deadline !== undefined) this.#host.setup.clock.clearTimeout(deadline.timer);
    this.#host.feed.live = false;
    this.#host.ended(this, state);
    this.run.ended(this.state?.head ?? 0, result);
    this.#receipt?.resolve(receipt);
  }
}

function usageOf(facts: readonly Fact[]): ReturnType<typeof addUsage> | undefined {
  let usage: ReturnType<typeof addUsage> | undefined;
  for (const fact of facts)
    if (fact.type === "message" && fact.message.usage) usage = addUsage(usage, fact.message.usage);
  return usage;
}

export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

export function busy(threadId: string, owner: string, until: number): BelayError {
  return belayError("THREAD_BUSY", { threadId, owner, until: new Date(until).toISOString() });
}
