// The output of a command: the beginning and the end are kept, a long middle is left out.

const MOST = 30_000;
/** Passed on while it runs; the rest is only counted. */
const MOST_TOLD = 200_000;

export class OutputTail {
  #head = "";
  #tail = "";
  #left = 0;
  #fresh = "";
  #told = 0;

  add(text: string): void {
    const room = MOST / 2 - this.#head.length;
    this.#head += text.slice(0, Math.max(0, room));
    this.#tail += text.slice(Math.max(0, room));
    const over = this.#tail.length - MOST / 2;
    if (over > 0) {
      this.#left += over;
      this.#tail = this.#tail.slice(over);
    }
    if (this.#told < MOST_TOLD) this.#fresh += text.slice(0, MOST_TOLD - this.#told - this.#fresh.length);
  }

  /** Something came since it was last asked for. */
  get waits(): boolean {
    return this.#fresh !== "";
  }

  /** Returns the output since the last call. */
  take(): string {
    const fresh = this.#fresh;
    this.#fresh = "";
    this.#told += fresh.length;
    return fresh.toWellFormed();
  }

  /** Ends with a line break, unless it is empty. */
  all(): string {
    const gap = this.#left === 0 ? "" : `\n[${this.#left} characters left out]\n`;
    const text = (this.#head + gap + this.#tail).toWellFormed();
    return text === "" || text.endsWith("\n") ? text : `${text}\n`;
  }
}
