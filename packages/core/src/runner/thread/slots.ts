// How many threads this process runs at once for work(), enqueue() and send(). A thread that has a slot may take it again: a
// worker that moves a thread, and the input that it starts there, are one.

export class Slots {
  readonly limit: number;
  /** How often each thread has its slot. */
  readonly #held = new Map<string, number>();
  /** Work that waits for a slot, the oldest first. By thread, or, as several waits of `free()` may be for one thread, by itself. */
  readonly #waiting = new Map<string | (() => void), () => unknown>();

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Takes the slot of a thread. Returns the function that gives it back, or undefined if none is free. */
  take(threadId: string): (() => void) | undefined {
    const held = this.#held.get(threadId) ?? 0;
    if (held === 0 && this.#held.size >= this.limit) return undefined;
    this.#held.set(threadId, held + 1);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#giveBack(threadId);
    };
  }

  /**
   * Calls `begin` when a slot is free. A thread waits once. If `begin` has taken no slot when its promise resolves, the next one
   * that waits has its turn: the input that was to be started may be gone.
   */
  later(threadId: string, begin: () => unknown): void {
    if (!this.#waiting.has(threadId)) this.#waiting.set(threadId, begin);
  }

  /** Resolves to the function that gives the slot back. */
  async free(threadId: string): Promise<() => void> {
    for (;;) {
      const taken = this.take(threadId);
      if (taken !== undefined) return taken;
      await new Promise<void>((freed) => this.#waiting.set(freed, freed));
    }
  }

  #giveBack(threadId: string): void {
    const held = this.#held.get(threadId)! - 1;
    if (held > 0) return void this.#held.set(threadId, held);
    this.#held.delete(threadId);
    void this.#callNext();
  }

  async #callNext(): Promise<void> {
    while (this.#held.size < this.limit) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const [name, begin] = next;
      this.#waiting.delete(name);
      await begin();
    }
  }
}
