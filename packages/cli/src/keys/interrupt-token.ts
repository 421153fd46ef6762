// The bridge from keys and signals to a session. Invariants:
// 1. trigger() does nothing if no session is bound, or the bound session has nothing to stop.
// 2. Until clear(), trigger() stops once: a second one only ends all grace.
// 3. Text typed during a run is kept until it is taken, once, or cleared.

import type { InterruptOptions, Receipt, Session } from "@belay/core";

/** The part of a session that the token needs. */
export type Stoppable = Pick<Session, "interrupt">;

export class InterruptToken {
  #session: Stoppable | undefined;
  #stopping: Promise<Receipt> | undefined;
  #typed = "";
  #pending: string[] = [];
  #waiting = new Set<() => void>();

  /** From now on trigger() stops this session. An earlier trigger does not count for it. */
  bind(session: Stoppable): void {
    this.#session = session;
    this.#stopping = undefined;
  }

  unbind(): void {
    this.#session = undefined;
    this.#stopping = undefined;
  }

  get isBound(): boolean {
    return this.#session !== undefined;
  }

  /** A stop was asked for, and not cleared since. */
  get isTriggered(): boolean {
    return this.#stopping !== undefined;
  }

  /**
   * Stops the session's run. The signal is set before this returns; the receipt comes when the work has stopped. Asked again
   * before clear(), it is the same stop, and no longer waits for tools. Returns undefined if no session is bound.
   */
  trigger(options: InterruptOptions = {}): Promise<Receipt> | undefined {
    const session = this.#session;
    if (session === undefined) return undefined;
    if (this.#stopping === undefined) {
      this.#stopping = session.interrupt(options);
      for (const wake of this.#waiting) wake();
      this.#waiting.clear();
    } else session.interrupt({ ...options, force: true }).catch(() => {});
    return this.#stopping;
  }

  /**
   * Waits for a stop: resolves to true once one is triggered, to false if `timeoutMs` pass first. Without it, waits as long as
   * it takes.
   */
  wait(timeoutMs?: number): Promise<boolean> {
    if (timeoutMs !== undefined && !(timeoutMs >= 0)) {
      throw new RangeError(`wait() takes a number of milliseconds, 0 or more, not ${String(timeoutMs)}`);
    }
    if (this.isTriggered) return Promise.resolve(true);
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const late = () => {
        this.#waiting.delete(wake);
        resolve(false);
      };
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      this.#waiting.add(wake);
    });
  }

  /** Prepares for the next stop; typed and handed-in text is dropped. */
  clear(): void {
    this.#stopping = undefined;
    this.#typed = "";
    this.#pending = [];
  }

  /** Types at the end of the buffer. */
  type(text: string): void {
    this.#typed += text;
  }

  /** Takes back the last character that a person sees as one. */
  backspace(): void {
    const characters = Array.from(new Intl.Segmenter().segment(this.#typed), ({ segment }) => segment);
    this.#typed = characters.slice(0, -1).join("");
  }

  /** The text typed while the run continued. */
  get buffer(): string {
    return this.#typed;
  }

  /** The same, which is then empty: it stands on the next prompt, once. */
  takeBuffer(): string {
    const typed = this.#typed;
    this.#typed = "";
    return typed;
  }

  /** Submits the typed text for the time after the stop; false if it is empty. */
  submit(): boolean {
    const typed = this.takeBuffer().trim();
    if (typed !== "") this.#pending.push(typed);
    return typed !== "";
  }

  /** Takes the submitted texts, in order. */
  takePending(): readonly string[] {
    const pending = this.#pending;
    this.#pending = [];
    return pending;
  }
}
