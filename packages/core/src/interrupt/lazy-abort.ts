// An AbortSignal costs more than a whole turn of the loop, and most models and tools never read theirs. It is created
// on first read.

export class LazyAbort {
  #controller: AbortController | undefined;
  #reason: { readonly value: unknown } | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason.value);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  abort(reason: unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = { value: reason };
    this.#controller?.abort(reason);
  }
}
