// The lines of one thread in memory, as small as possible: an idle thread costs its lines. Text is kept flat and apart,
// numbers in one array; an object for each line is made only for a reader.
//
// Lines that a fork shares are in a list of their own, which is never written, below both threads: it is freed with the last
// of them.

import type { Line } from "../journal/codec.ts";

export class LineList {
  /** The lines before these. */
  #base: LineList | undefined;
  #bodies: string[] = [];
  /** Of each line its first seq and its time. */
  #numbers: number[] = [];
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

  /** The lines that hold facts after `after`, and none after `to`. */
  after(after: number, to = Number.MAX_SAFE_INTEGER): Line[] {
    const lists: LineList[] = [this];
    for (let base = this.#base; base !== undefined && base.#head > after; base = base.#base) lists.push(base);
    const lines: Line[] = [];
    for (const list of lists.reverse()) list.#read(after, to, lines);
    return lines;
  }

  /** Returns a list that continues after `seq`; undefined if no line ends there. */
  fork(seq: number): LineList | undefined {
    if (seq === 0) return new LineList();
    const before = this.#base?.head ?? 0;
    if (seq < before) return this.#base?.fork(seq);
    if (seq > before && !this.#split(seq)) return undefined;
    const fork = new LineList();
    fork.#base = this.#base;
    fork.#head = seq;
    return fork;
  }

  /** Moves the lines up to `seq` below these; returns false, and moves none, if no line ends there. */
  #split(seq: number): boolean {
    const index = this.#firstAfter(seq);
    if (this.#seq(index) - 1 !== seq) return false;
    const base = new LineList();
    base.#base = this.#base;
    base.#bodies = this.#bodies.slice(0, index);
    base.#numbers = this.#numbers.slice(0, 2 * index);
    base.#head = seq;
    this.#base = base;
    this.#bodies = this.#bodies.slice(index);
    this.#numbers = this.#numbers.slice(2 * index);
    return true;
  }

  #read(after: number, to: number, lines: Line[]): void {
    for (let i = this.#firstAfter(after); i < this.#bodies.length; i++) {
      const seq = this.#seq(i);
      const next = this.#seq(i + 1);
      if (next > to + 1) return;
      lines.push({ seq, count: next - seq, at: this.#numbers[2 * i + 1]!, body: this.#bodies[i]! });
    }
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
