// The line a person is typing.
import { characters } from "./text.mjs";

const MOST_CHARACTERS = 2000;

export class Editor {
  #characters = [];
  #cursor = 0;
  #past = [];
  /** Where in the past the person is looking; past.length is the present. */
  #looking = 0;

  get text() {
    return this.#characters.join("");
  }

  get beforeCursor() {
    return this.#characters.slice(0, this.#cursor).join("");
  }

  /** Puts a line there, to be changed. */
  fill(text) {
    this.#set(text);
  }

  /** Returns the line and begins a new one. */
  take() {
    const { text } = this;
    if (text.trim() !== "" && text !== this.#past.at(-1)) this.#past.push(text);
    this.#looking = this.#past.length;
    this.#set("");
    return text;
  }

  /** True when the key was one for editing. */
  key(name, text) {
    switch (name) {
      case "text": {
        const room = MOST_CHARACTERS - this.#characters.length;
        const typed = characters(text).slice(0, Math.max(0, room));
        this.#characters.splice(this.#cursor, 0, ...typed);
        this.#cursor += typed.length;
        return true;
      }
      case "backspace":
        if (this.#cursor > 0) this.#characters.splice(--this.#cursor, 1);
        return true;
      case "delete":
        this.#characters.splice(this.#cursor, 1);
        return true;
      case "left":
        this.#cursor = Math.max(0, this.#cursor - 1);
        return true;
      case "right":
        this.#cursor = Math.min(this.#characters.length, this.#cursor + 1);
        return true;
      case "home":
        this.#cursor = 0;
        return true;
      case "end":
        this.#cursor = this.#characters.length;
        return true;
      case "clear":
        this.#set("");
        return true;
      case "erase-word":
        this.#eraseWord();
        return true;
      case "up":
        this.#look(-1);
        return true;
      case "down":
        this.#look(1);
        return true;
      default:
        return false;
    }
  }

  #set(text) {
    this.#characters = characters(text);
    this.#cursor = this.#characters.length;
  }

  #look(step) {
    const to = this.#looking + step;
    if (to < 0 || to > this.#past.length) return;
    this.#looking = to;
    this.#set(this.#past[to] ?? "");
  }

  #eraseWord() {
    let from = this.#cursor;
    while (from > 0 && this.#characters[from - 1] === " ") from -= 1;
    while (from > 0 && this.#characters[from - 1] !== " ") from -= 1;
    this.#characters.splice(from, this.#cursor - from);
    this.#cursor = from;
  }
}
