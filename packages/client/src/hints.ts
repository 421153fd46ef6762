// Hints over all threads for every reader of a page, on one line: a thread's stream carries them while one is open, and
// `/changes` does otherwise. Browsers allow few connections to one server, and each tab must do with one.

import { type Change, follow } from "./events.ts";
import type { Line } from "./request.ts";

export class Hints {
  readonly #line: Line;
  readonly #listeners = new Set<(change: Change) => void>();
  #carriers = 0;
  #own: AbortController | undefined;

  constructor(line: Line) {
    this.#line = line;
  }

  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    this.#balance();
    return () => {
      this.#listeners.delete(listener);
      this.#balance();
    };
  }

  tell(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** Another stream brings the hints until the returned function is called. */
  carry(): () => void {
    this.#carriers++;
    this.#balance();
    return () => {
      this.#carriers--;
      this.#balance();
    };
  }

  #balance(): void {
    const needed = this.#listeners.size > 0 && this.#carriers === 0;
    if (!needed) {
      this.#own?.abort();
      this.#own = undefined;
    } else if (this.#own === undefined) {
      this.#own = new AbortController();
      void this.#read(this.#own.signal);
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    for await (const event of follow(this.#line, "/changes", { restHidden: true, signal })) {
      if (event.type === "sync" || event.type === "change") this.tell(event);
    }
  }
}
