// Bytes of a terminal in, keys out. Invariants:
// 1. However the bytes are split over reads, the same keys come out.
// 2. ESC is a key only when nothing follows it for a moment: an arrow key begins with the same byte. ESC ESC is two keys.
//    A terminal that has reported the kitty keyboard protocol writes the ESC key as a sequence of its own: there a lone ESC
//    byte is always the beginning of a key.
// 3. If the rest of an arrow key comes after its ESC has become a key, the rest is dropped: it is never typed.
// 4. Pasted text is text, with any content; the reports of a terminal about itself are never typed. One exception: an ESC
//    in the paste that silence follows ends a paste without an end, and is the key.

import { StringDecoder } from "node:string_decoder";

/** "text" and "paste" carry the typed text; a "report" is the answer of a terminal to a question about itself. */
export interface Key {
  readonly name: string;
  readonly text?: string;
}

export interface KeyDecoderOptions {
  /** How long a lone ESC waits. Short: the person has pressed stop, and looks at the screen. */
  readonly escapeMs?: number;
}

const ESCAPE_MS = 60;
/** A sequence that began is not the ESC key any more: it may take its time. */
const SEQUENCE_MS = 500;
/** The rest of a sequence may come this long after its ESC. */
const LATE_MS = 1_000;
/** Silence in the middle of a paste: its end was lost. */
const PASTE_MS = 5_000;
/** Silence after an ESC in a paste: the person has pressed stop. */
const PASTE_ESCAPE_MS = 500;
const MOST_PASTED = 8_000_000;
const MOST_REPORTED = 4_096;

const ESC = "\u001b";
const PASTE_BEGIN = `${ESC}[200~`;
const PASTE_END = `${ESC}[201~`;

const controls: Readonly<Record<string, string>> = {
  "\r": "enter",
  "\n": "newline",
  "\t": "tab",
  "\u007f": "backspace",
  "\b": "backspace",
};

const finals: Readonly<Record<string, string>> = { A: "up", B: "down", C: "right", D: "left", H: "home", F: "end" };
const tildes: Readonly<Record<string, string>> = {
  1: "home",
  3: "delete",
  4: "end",
  5: "page-up",
  6: "page-down",
  7: "home",
  8: "end",
};
const codes: Readonly<Record<string, string>> = { 9: "tab", 13: "enter", 27: "escape", 127: "backspace" };
/** Ctrl with these is the same byte as a key of its own, on terminals that write bytes. */
const sameByte: Readonly<Record<string, string>> = {
  "[": "escape",
  i: "tab",
  j: "newline",
  m: "enter",
  h: "backspace",
};

/** The ESC key at the end of a text, as either kind of terminal writes it. */
const escapeAtEnd = new RegExp(`(?:${ESC}|${ESC}\\[27(?:;1)?u)$`);
/** The rest of a key after a lone ESC: of CSI, or the two bytes of SS3. */
const lateRest = /^(?:\[[0-9;]*[A-Za-z~]|O[A-HM]$)/;
/** The answer of a terminal that knows the kitty keyboard protocol: the flags that are on. */
const kittyReport = /^\?(\d+)$/;

/** The bytes after ESC. */
const csi = /^\[([0-9;:<=>?]*)[ -/]*([@-~])/;
const csiBegun = /^\[[0-9;:<=>?]*[ -/]*$/;
/** Window titles, colours, answers to questions: up to BEL or ESC \. */
const STRINGS = "]PX^_";
const stringEnd = new RegExp(`\u0007|${ESC}\\\\|\u009c`);

export class KeyDecoder {
  readonly #utf8 = new StringDecoder("utf8");
  readonly #onKey: (key: Key) => void;
  readonly #escapeMs: number;
  #pending = "";
  /** The pasted text so far. */
  #pasted: string[] | undefined;
  #pastedLength = 0;
  #timer: NodeJS.Timeout | undefined;
  #due: NodeJS.Immediate | undefined;
  /** The terminal writes the ESC key as a sequence. */
  #kitty = false;
  /** When an ESC last became a key because nothing followed it. */
  #lonelyAt = Number.NEGATIVE_INFINITY;

  constructor(onKey: (key: Key) => void, options: KeyDecoderOptions = {}) {
    this.#onKey = onKey;
    this.#escapeMs = options.escapeMs ?? ESCAPE_MS;
  }

  feed(bytes: Buffer | string): void {
    this.#forget();
    let text = typeof bytes === "string" ? bytes : this.#utf8.write(bytes);
    if (this.#pending === "" && this.#pasted === undefined && performance.now() - this.#lonelyAt < LATE_MS)
      text = text.replace(lateRest, "");
    this.#lonelyAt = Number.NEGATIVE_INFINITY;
    this.#pending += text;
    this.#takeAll();
    if (this.#pending === "" && this.#pasted === undefined) return;
    // Bytes that came while this process was busy are read before the moment counts as over.
    this.#timer = setTimeout(() => (this.#due = setImmediate(() => this.flush())), this.#waitMs());
  }

  /** Ends the wait: the bytes so far are the key. */
  flush(): void {
    this.#forget();
    const pending = this.#pending;
    this.#pending = "";
    if (this.#pasted !== undefined) {
      this.#endPaste(pending.replace(escapeAtEnd, ""));
      if (escapeAtEnd.test(pending)) this.#onKey({ name: "escape" });
      return;
    }
    // A sequence without an end is dropped; each ESC that stands alone was the key.
    if (!onlyEscapes(pending)) return;
    this.#lonelyAt = performance.now();
    for (const _ of pending) this.#onKey({ name: "escape" });
  }

  /** Drops an incomplete sequence; it never becomes a key. */
  stop(): void {
    this.#forget();
    this.#pending = "";
    this.#pasted = undefined;
  }

  #forget(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#due);
  }

  #waitMs(): number {
    if (this.#pasted !== undefined) return escapeAtEnd.test(this.#pending) ? PASTE_ESCAPE_MS : PASTE_MS;
    const isKey = onlyEscapes(this.#pending) && !this.#kitty;
    return isKey ? this.#escapeMs : Math.max(SEQUENCE_MS, this.#escapeMs);
  }

  #takeAll(): void {
    while (this.#pending !== "") {
      const taken = this.#pasted === undefined ? this.#take(this.#pending) : this.#takePasted(this.#pending);
      if (taken === 0) return;
      this.#pending = this.#pending.slice(taken);
    }
  }

  /** Hands out the first key; returns how much of `text` it took, 0 when more has to come. */
  #take(text: string): number {
    const first = text[0]!;
    if (first === ESC) return this.#takeEscape(text);
    const typed = /^\P{Cc}+/u.exec(text)?.[0];
    if (typed !== undefined) {
      this.#onKey({ name: "text", text: typed });
      return typed.length;
    }
    const name = controlName(first);
    if (name !== undefined) this.#onKey({ name });
    return 1;
  }

  #takeEscape(text: string): number {
    if (text.startsWith(PASTE_BEGIN)) {
      this.#pasted = [];
      return PASTE_BEGIN.length;
    }
    const rest = text.slice(1);
    if (rest === "") return 0;
    if (rest[0] === ESC) return this.#takeDoubled(text);
    if (rest[0] === "[" || rest[0] === "O") {
      const taken = this.#takeSequence(rest, "");
      return taken === 0 ? 0 : taken + 1;
    }
    if (STRINGS.includes(rest[0]!)) return this.#takeString(text);
    const character = String.fromCodePoint(rest.codePointAt(0)!);
    const name = controlName(character) ?? (/\P{Cc}/u.test(character) ? character : undefined);
    if (name !== undefined) this.#onKey({ name: `alt-${name}` });
    return 1 + character.length;
  }

  /** ESC ESC: two of them, unless a key with Alt is written that way. */
  #takeDoubled(text: string): number {
    const rest = text.slice(2);
    if (rest === "") return 0;
    if (rest[0] === "[" || rest[0] === "O") {
      if (PASTE_BEGIN.startsWith(text.slice(1)) && text.length <= PASTE_BEGIN.length) return 0;
      // A report of the focus has no Alt: the ESC before it was the key.
      const isReport = rest[1] === "I" || rest[1] === "O";
      if (!text.startsWith(PASTE_BEGIN, 1) && !isReport) {
        const taken = this.#takeSequence(rest, "alt-");
        return taken === 0 ? 0 : taken + 2;
      }
    }
    this.#onKey({ name: "escape" });
    return 1;
  }

  /** `rest` begins with [ or O. */
  #takeSequence(rest: string, prefix: string): number {
    if (rest[0] === "O") {
      if (rest.length < 2) return 0;
      const name = rest[1] === "M" ? "enter" : finals[rest[1]!];
      if (name !== undefined) this.#onKey({ name: prefix + name });
      return 2;
    }
    const found = csi.exec(rest);
    if (found === null) {
      if (csiBegun.test(rest) && rest.length < MOST_REPORTED) return 0;
      // Not a sequence: ESC [ is dropped, and the rest is read as text.
      return 1;
    }
    const report = found[2] === "u" ? kittyReport.exec(found[1]!) : null;
    if (report !== null) this.#kitty = (Number(report[1]) & 1) === 1;
    const name = csiName(found[1]!, found[2]!, prefix);
    if (name !== undefined) this.#onKey(name.length === 1 ? { name: "text", text: name } : { name });
    return found[0].length;
  }

  #takeString(text: string): number {
    const end = stringEnd.exec(text.slice(2));
    if (end === null) return text.length < MOST_REPORTED ? 0 : text.length;
    this.#onKey({ name: "report", text: text.slice(1, 2 + end.index) });
    return 2 + end.index + end[0].length;
  }

  #takePasted(text: string): number {
    const end = text.indexOf(PASTE_END);
    if (end >= 0) {
      this.#endPaste(text.slice(0, end));
      return end + PASTE_END.length;
    }
    // Part of its end may have arrived.
    const whole = Math.max(0, text.length - PASTE_END.length + 1);
    if (whole === 0) return 0;
    this.#pasted!.push(text.slice(0, whole));
    this.#pastedLength += whole;
    if (this.#pastedLength > MOST_PASTED) this.#endPaste("");
    return whole;
  }

  #endPaste(last: string): void {
    const text = [...this.#pasted!, last].join("");
    this.#pasted = undefined;
    this.#pastedLength = 0;
    if (text !== "") this.#onKey({ name: "paste", text: text.replace(/\r\n?/g, "\n") });
  }
}

function onlyEscapes(text: string): boolean {
  return text !== "" && text.replaceAll(ESC, "") === "";
}

function controlName(character: string): string | undefined {
  const code = character.charCodeAt(0);
  if (controls[character] !== undefined) return controls[character];
  return code >= 1 && code <= 26 ? `ctrl-${String.fromCharCode(code + 96)}` : undefined;
}

/** Returns the name of a CSI sequence, with its modifiers; undefined if it is not a key. */
function csiName(params: string, final: string, prefix: string): string | undefined {
  const [first = "", second = "", third = ""] = params.split(";").map((param) => param.split(":")[0]!);
  if (final === "Z") return `${prefix}back-tab`;
  if (params === "" && (final === "I" || final === "O")) return final === "I" ? "focus-in" : "focus-out";
  if (finals[final] !== undefined) return held(second) + prefix + finals[final];
  if (final === "~" && first === "27") return charName(third, second, prefix);
  if (final === "~" && tildes[first] !== undefined) return held(second) + prefix + tildes[first];
  return final === "u" ? charName(first, second, prefix) : undefined;
}

/** A key named by its character's code, as newer terminals write it. */
function charName(code: string, modifiers: string, prefix: string): string | undefined {
  const named = codes[code];
  const mods = held(modifiers) + prefix;
  if (named === "enter" && mods === "shift-") return "newline";
  if (named === "tab" && mods === "shift-") return "back-tab";
  if (named !== undefined) return mods + named;
  const point = Number(code);
  if (!(point >= 32 && point < 0xe000)) return undefined;
  const character = String.fromCodePoint(point);
  if (mods === "ctrl-" && sameByte[character] !== undefined) return sameByte[character];
  return mods === "shift-" ? character : mods + character;
}

/** Shift is part of a character, and changes none of the keys that we know. */
function held(modifiers: string): string {
  const bits = Math.max(0, Number(modifiers || "1") - 1);
  if (bits & 4) return "ctrl-";
  if (bits & 2) return "alt-";
  return bits & 1 ? "shift-" : "";
}
