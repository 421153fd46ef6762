// A value that React can follow, for the hooks.

const REDRAW_MS = 33;

/** A value that React can follow. Changes that come close together are drawn once. */
export class PageStore<Value> {
  #value: Value;
  readonly #listeners = new Set<() => void>();
  readonly #start: (store: PageStore<Value>) => () => void;
  #stop: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(value: Value, start: (store: PageStore<Value>) => () => void) {
    this.#value = value;
    this.#start = start;
  }

  readonly get = (): Value => this.#value;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    this.#stop ??= this.#start(this);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  };

  set(value: Value): void {
    this.#value = value;
    this.#timer ??= setTimeout(() => this.show(this.#value), REDRAW_MS);
  }

  /** Sets the value and draws it at once: the person has just done something. */
  show(value: Value): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#value = value;
    for (const listener of this.#listeners) listener();
  }
}
