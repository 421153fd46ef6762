// A list that only grows, and costs nothing to grow: lists with the same beginning share it.

export interface List<T> {
  readonly length: number;
  at(index: number): T;
  slice(from: number): readonly T[];
}

class Shared<T> implements List<T> {
  readonly #items: T[];
  readonly length: number;

  constructor(items: T[], length: number) {
    this.#items = items;
    this.length = length;
  }

  at(index: number): T {
    return this.#items[index]!;
  }

  slice(from: number): readonly T[] {
    return this.#items.slice(from, this.length);
  }

  with(item: T): Shared<T> {
    // Another list has grown from here with other items.
    const items = this.#items.length === this.length ? this.#items : this.#items.slice(0, this.length);
    items.push(item);
    return new Shared(items, this.length + 1);
  }
}

export const emptyList: List<never> = new Shared<never>([], 0);

/** The list with one more at its end; the one given stays as it is. */
export function append<T>(list: List<T>, item: T): List<T> {
  if (list.length === 0) return new Shared<T>([item], 1);
  return (list as Shared<T>).with(item);
}
