// The calls of one turn. Invariants:
// 1. A start is recorded before the call starts, in the append of what made it possible: the message, or the end of
//    the call it waited for.
// 2. Nothing starts after a stop: whether one may start is decided when its append is written, and again when it starts.
// 3. `run` ends when every call that started has ended or was left behind (X3).

import { noCalls, type StoppedCalls } from "../agent.ts";
import type { Fact } from "../event.ts";
import type { Frame } from "../frame.ts";
import { point } from "../point.ts";
import { executeCall, type PreparedCall, type ReadyCall } from "../tool/call.ts";

export class TurnCalls {
  readonly #frame: Frame;
  readonly #graceMs: number;
  #waiting: PreparedCall[];
  /** Recorded as started, not started yet. */
  #due: ReadyCall[] = [];
  #running = 0;
  #serialRunning = false;
  readonly #stopped: string[] = [];
  readonly #finished: string[] = [];
  /** Recorded as started, and met by a stop before they did. */
  readonly #heldBack: PreparedCall[] = [];
  #resolve: () => void = () => {};

  constructor(frame: Frame, calls: readonly PreparedCall[], graceMs: number) {
    this.#frame = frame;
    this.#waiting = [...calls];
    this.#graceMs = graceMs;
  }

  /** Records `first` with the starts of all calls that can start, and runs the calls to their end. */
  async run(first: readonly Fact[]): Promise<void> {
    await this.#frame.record(() => [...first, ...this.#starts()]);
    if (this.#due.length === 0) return;
    await new Promise<void>((resolve) => {
      this.#resolve = resolve;
      this.#launch();
    });
  }

  /** True when every call has its result. */
  get complete(): boolean {
    return this.#waiting.length === 0 && this.#heldBack.length === 0;
  }

  /** What a stop must still record: calls whose start is on record go back to held. */
  holds(): Fact[] {
    return this.#heldBack.map(({ call }) =>
      this.#frame.toolEnd(call, call.cut ? "unknown" : "not-executed", null, true),
    );
  }

  summary(): StoppedCalls {
    const notStarted = [...this.#heldBack, ...this.#waiting].map(({ call }) => call.part.id);
    if (notStarted.length + this.#stopped.length + this.#finished.length === 0) return noCalls;
    return { stopped: this.#stopped, finished: this.#finished, notStarted };
  }

  #starts(): Fact[] {
    const facts: Fact[] = [];
    if (this.#frame.signal.halts("after-model")) return facts;
    while (this.#waiting.length > 0 && this.#canStart(this.#waiting[0]!)) {
      const next = this.#waiting.shift()!;
      facts.push(this.#frame.toolStart(next.call));
      if ("refusal" in next) {
        facts.push(this.#frame.toolEnd(next.call, "error", next.refusal, false));
        this.#finished.push(next.call.part.id);
        continue;
      }
      this.#due.push(next);
      if (next.tool.serial) this.#serialRunning = true;
    }
    return facts;
  }

  #canStart(next: PreparedCall): boolean {
    if (this.#serialRunning) return false;
    if ("refusal" in next || !next.tool.serial) return true;
    return this.#running + this.#due.length === 0;
  }

  #launch(): void {
    const due = this.#due;
    this.#due = [];
    for (const ready of due) {
      point("tool:start", ready.call);
      if (this.#frame.signal.stop !== undefined) {
        this.#heldBack.push(ready);
        if (ready.tool.serial) this.#serialRunning = false;
        continue;
      }
      this.#running += 1;
      void this.#execute(ready);
    }
    if (this.#running === 0) this.#resolve();
  }

  async #execute(ready: ReadyCall): Promise<void> {
    const { outcome, output } = await executeCall(this.#frame, ready, this.#graceMs);
    await this.#frame.record(() => {
      this.#running -= 1;
      if (ready.tool.serial) this.#serialRunning = false;
      (outcome === "interrupted" ? this.#stopped : this.#finished).push(ready.call.part.id);
      return [this.#frame.toolEnd(ready.call, outcome, output, false), ...this.#starts()];
    });
    this.#launch();
  }
}
