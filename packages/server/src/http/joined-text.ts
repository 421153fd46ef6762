// Pieces of one text that wait to be written, joined to one piece when they are.

import type { BelayEvent } from "@belay/core";
import { block } from "./block.ts";

/** A piece of text that says where in its message it belongs. */
export type Delta = Extract<BelayEvent, { type: "text-delta" | "reasoning-delta" }>;

/** By the first piece: the last one that was joined with it, and the block of both. */
const blocks = new WeakMap<Delta, { readonly last: Delta; readonly written: string }>();

export class JoinedText {
  readonly #first: Delta;
  readonly #texts: string[];
  #last: Delta;
  /** The number of characters so far. */
  length: number;

  constructor(first: Delta) {
    this.#first = first;
    this.#texts = [first.text];
    this.#last = first;
    this.length = first.text.length;
  }

  /** Adds a piece. Returns false if it is of another text, or does not follow the last piece. */
  add(next: Delta): boolean {
    const { type, messageId, attempt, offset } = this.#first;
    if (next.type !== type || next.messageId !== messageId || next.attempt !== attempt) return false;
    if (next.offset !== offset + this.length) return false;
    this.#texts.push(next.text);
    this.#last = next;
    this.length += next.text.length;
    return true;
  }

  /** Returns the block. All readers of a thread get the same pieces: those that joined the same ones share it. */
  block(): string {
    const known = blocks.get(this.#first);
    if (known?.last === this.#last) return known.written;
    const whole = this.#texts.length === 1 ? this.#first : { ...this.#first, text: this.#texts.join("") };
    const written = block(whole.type, whole);
    blocks.set(this.#first, { last: this.#last, written });
    return written;
  }
}
