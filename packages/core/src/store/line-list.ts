// The lines of one thread in memory, as tightly as they go: what an idle thread weighs is its lines. Text is kept flat
// and by itself, numbers in one array; an object for each line is made only for who reads it.

import type { Line } from "../journal/codec.ts";

export class LineList {
  readonly #bodies: string[] = [];
  /** Of each line its first seq and its time. */
  readonly #numbers: number[] = [];
  #head = 0;

  /** The seq of the last fact. */
  get head(): number {
    return this.#head;
  }

  push(count: number, at: number, body: string): void {
    flatten(body);
    this.#bodies.push(body);
    this.#numbers.push(this.#head + 1, at);
    this.#head += count;
  }

  /** The lines that hold facts after `after`. */
  after(after: number): Line[] {
    const lines: Line[] = [];
    for (let i = this.#firstAfter(after); i < this.#bodies.length; i++) {
      const seq = this.#seq(i);
      lines.push({ seq, count: this.#seq(i + 1) - seq, at: this.#numbers[2 * i + 1]!, body: this.#bodies[i]! });
    }
    return lines;
  }

  #seq(index: number): number {
    return this.#numbers[2 * index] ?? this.#head + 1;
  }

  #firstAfter(after: number): number {
    let low = 0;
    let high = this.#bodies.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#seq(middle + 1) - 1 <= after) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** JSON.stringify gives a tree of pieces, half as large again as the text; looking at one character makes it one piece. */
function flatten(text: string): void {
  text.charCodeAt(0);
}
