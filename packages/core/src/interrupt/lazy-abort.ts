// An AbortSignal costs more than a whole turn of the loop, and an error more than most appends. Most models and tools never
// read theirs: both are created on first read.

export class LazyAbort {
  #controller: AbortController | undefined;
  #reason: (() => unknown) | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason());
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  /** Aborts the signal, once. `reason` makes the reason of it. */
  abort(reason: () => unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason());
  }
}
