// The stops of one tenure: interrupt(), pause(), drain(), close() and terminate(). They set the signal, and
// the tenure ends by itself; it reads the circumstances of its end here. Invariants:
// 1. All stops are one interrupt with one receipt (S2).
// 2. Stops merge: now dominates later, the earliest deadline wins, and none goes back (S6).
// 3. A stop with an id, or one that came by a row of the store, is recorded with the end.

import type { Clock } from "../../clock.ts";
import type { BelayError } from "../../error.ts";
import type { FramePlace } from "../../frame.ts";
import { overriding, type Stop, StopSignal, withdrawing } from "../../interrupt/stop-signal.ts";
import { isKept, type SignalCommand } from "../decide/command.ts";
import type { Circumstances, Receipt } from "../decide/ending.ts";
import { commandFact } from "../decide/facts.ts";
import type { InterruptOptions } from "../given/options.ts";

/** Merges the stops of one tenure, sets its signal, and holds the receipt that they share. */
export class Stops {
  readonly #clock: Clock;
  readonly signal = new StopSignal();
  /** The receipt that all stops share. It resolves when the tenure is over. */
  readonly receipt: Promise<Receipt>;
  #settle!: (receipt: Receipt) => void;
  #asked: Stop | undefined;
  /** The caller of pause(). */
  #pausedBy: string | undefined;
  #intent: "terminate" | "close" | undefined;
  /** The commands to record with the end. */
  readonly #commands: { readonly key: string; readonly by: string; readonly refusal: BelayError | undefined }[] = [];
  #deadline: { readonly due: number; readonly timer: unknown } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.receipt = new Promise((resolve) => (this.#settle = resolve));
  }

  /** Returns the merged stop of all calls of interrupt(); it decides the kind of pause. */
  get asked(): Stop | undefined {
    return this.#asked;
  }

  /** Returns whether the thread is to be terminated, or closed in this process. */
  get intent(): "terminate" | "close" | undefined {
    return this.#intent;
  }

  /** Takes a stop, a pause or a termination. The signal is set before this returns. */
  take(command: SignalCommand): Promise<Receipt> {
    if (isKept(command)) this.record(command.key, command.by);
    const { stop, options } = command;
    switch (command.do) {
      case "stop":
        return this.#interrupt(stop, options);
      case "pause":
        this.#pausedBy ??= command.by;
        return this.#haltAtBoundary();
      case "terminate":
        this.#intent = "terminate";
        this.signal.raise(stop);
        if (options.force) this.signal.force();
        return this.receipt;
      default:
        return command.do satisfies never;
    }
  }

  /** Merges a stop with the earlier ones. */
  #interrupt(stop: Stop, { mode = "now", timeoutMs, force = false }: InterruptOptions): Promise<Receipt> {
    const now = mode === "now" || force;
    this.#asked = this.#merge(stop, now);
    if (now) this.signal.raise(this.#asked);
    else this.signal.haltAt(mode);
    if (force) this.signal.force();
    if (timeoutMs !== undefined) this.#escalateAfter(timeoutMs);
    return this.receipt;
  }

  #merge(stop: Stop, now: boolean): Stop {
    const asked = this.#asked;
    if (asked === undefined) return stop;
    if (now && this.signal.stop === undefined) return overriding(asked, stop);
    if (!asked.keepsRequests || stop.keepsRequests) return asked;
    this.signal.withdraw();
    return withdrawing(asked);
  }

  #escalateAfter(ms: number): void {
    const due = this.#clock.now() + ms;
    if (this.#deadline !== undefined && this.#deadline.due <= due) return;
    this.#clearDeadline();
    const timer = this.#clock.setTimeout(() => this.#asked && this.signal.raise(this.#asked), ms);
    this.#deadline = { due, timer };
  }

  #clearDeadline(): void {
    if (this.#deadline !== undefined) this.#clock.clearTimeout(this.#deadline.timer);
  }

  /** Records a stop under its key with the end. With `refusal`, it had no effect. The first one under a key counts. */
  record(key: string, by: string, refusal?: BelayError): void {
    if (!this.#commands.some((command) => command.key === key)) this.#commands.push({ key, by, refusal });
  }

  /** Returns true if the stop with this key was for an earlier segment. Sent again, it is not for this one either. */
  hasMissed(key: string): boolean {
    return this.#commands.some((command) => command.key === key && command.refusal !== undefined);
  }

  /** Closes at the next boundary. */
  drain(): Promise<Receipt> {
    this.#intent ??= "close";
    return this.#haltAtBoundary();
  }

  #haltAtBoundary(): Promise<Receipt> {
    this.signal.haltAt("after-model");
    this.signal.haltAt("after-tools");
    return this.receipt;
  }

  /** Stops now and lets go of the thread. A termination stays one. */
  close(stop: Stop): Promise<Receipt> {
    this.#intent ??= "close";
    this.signal.raise(stop);
    return this.receipt;
  }

  /**
   * Returns the circumstances of the end, for the append that records it. `isAsked`: requests are open. A stop that arrives
   * later joins the receipt and does not change the end.
   */
  atEnd(
    place: FramePlace,
    isAsked: boolean,
  ): Pick<Circumstances, "intent" | "asked" | "kept" | "pausedBy" | "by" | "commands"> {
    const asked = this.#asked;
    const by = this.signal.stop?.by ?? "user";
    const isStopped = asked !== undefined || this.#pausedBy !== undefined;
    const commands = this.#commands.map((command) => commandFact(place, command, command.refusal));
    // A stop or a pause is recorded as such, also if the thread is closed at the same time.
    const letGo = isStopped ? undefined : "let-go";
    const intent = this.#intent === "close" ? letGo : this.#intent;
    // A stop that keeps requests, and finds some, is recorded as a pause.
    if (isAsked && asked?.keepsRequests) {
      return { intent, asked: undefined, kept: asked, pausedBy: asked.by, by, commands };
    }
    return { intent, asked, kept: undefined, pausedBy: this.#pausedBy, by, commands };
  }

  /** Hands out the receipt. No deadline is due any more. */
  over(receipt: Receipt): void {
    this.#clearDeadline();
    this.#settle(receipt);
  }
}
