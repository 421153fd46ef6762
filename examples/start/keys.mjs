// Bytes of a terminal in, keys out. ESC is also how an arrow key begins, and its bytes may come in several pieces: a lone
// ESC is the key only when nothing follows it for a moment.
import { StringDecoder } from "node:string_decoder";

const WAIT_MS = 50;
const MOST_PASTED = 1_000_000;
const ESC = "\u001b";
const PASTE_END = `${ESC}[201~`;

const named = {
  "\r": "enter",
  "\n": "enter",
  "\u007f": "backspace",
  "\b": "backspace",
  "\u0001": "home",
  "\u0003": "ctrl-c",
  "\u0004": "ctrl-d",
  "\u0005": "end",
  "\u0015": "clear",
  "\u0017": "erase-word",
};

const sequences = {
  "[A": "up",
  "[B": "down",
  "[C": "right",
  "[D": "left",
  "[H": "home",
  "[F": "end",
  "[1~": "home",
  "[3~": "delete",
  "[4~": "end",
  OA: "up",
  OB: "down",
  OC: "right",
  OD: "left",
  OH: "home",
  OF: "end",
};

/** What follows ESC in a key of several bytes, whole and cut short. */
const finished = /^(?:\[[0-9;:<=>?]*[ -/]*[@-~]|O[ -~])/;
const unfinished = /^(?:|\[[0-9;:<=>?]*[ -/]*|O)$/;

/** Calls `onKey(name, text)`: one of the names above, "escape", or "text" with what was typed or pasted. */
export class Keys {
  #decoder = new StringDecoder("utf8");
  #pending = "";
  #timer;
  #due;
  #onKey;

  constructor(onKey) {
    this.#onKey = onKey;
  }

  feed(chunk) {
    this.stop();
    this.#pending += this.#decoder.write(chunk);
    while (this.#pending !== "") {
      const taken = this.#take(this.#pending);
      if (taken === 0) break;
      this.#pending = this.#pending.slice(taken);
    }
    if (this.#pending.startsWith(ESC) && !this.#pending.startsWith(`${ESC}[200~`)) {
      // Bytes that came while this process was busy are read before the moment counts as over.
      this.#timer = setTimeout(() => (this.#due = setImmediate(() => this.#giveUp())), WAIT_MS);
    }
  }

  /** Forgets a key that is not complete. */
  stop() {
    clearTimeout(this.#timer);
    clearImmediate(this.#due);
  }

  /** Hands out the first key; returns how much of `text` it took, 0 when more has to come. */
  #take(text) {
    if (text[0] === ESC) return this.#takeSequence(text);
    const name = named[text[0]];
    if (name !== undefined) {
      this.#onKey(name);
      return 1;
    }
    const typed = /^\P{Cc}+/u.exec(text)?.[0];
    if (typed !== undefined) this.#onKey("text", typed);
    return typed?.length ?? 1;
  }

  #takeSequence(text) {
    if (text.startsWith(`${ESC}[200~`)) {
      const end = text.indexOf(PASTE_END);
      if (end < 0) return text.length < MOST_PASTED ? 0 : text.length;
      this.#onKey("text", text.slice(6, end).replace(/\s+/g, " "));
      return end + PASTE_END.length;
    }
    // Some terminals write Alt with an arrow as ESC ESC [ A.
    const doubled = text[1] === ESC;
    const body = text.slice(doubled ? 2 : 1);
    if (unfinished.test(body)) return 0;
    const sequence = finished.exec(body)?.[0];
    if (sequence !== undefined) {
      if (!doubled && sequences[sequence] !== undefined) this.#onKey(sequences[sequence]);
      return (doubled ? 2 : 1) + sequence.length;
    }
    if (doubled) {
      this.#onKey("escape");
      return 1;
    }
    // Alt with a key: not ours.
    return 1 + String.fromCodePoint(body.codePointAt(0)).length;
  }

  /** Nothing followed: each ESC that is waiting was the key itself. */
  #giveUp() {
    const pending = this.#pending;
    this.#pending = "";
    for (const character of pending) if (character === ESC) this.#onKey("escape");
  }
}
