// Words of a model, a tool, a file or a server on their way to the screen. Invariants:
// 1. Nothing that a terminal obeys comes out: no escape sequence in its 7- or 8-bit form, no control or direction character.
// 2. However the text is split into pieces, the same comes out.
// 3. A sequence that never ends hides a bounded part of the text, not the rest of it.

const ESC = 0x1b;
const BEL = 0x07;
const ST = 0x9c;
/** The longest title or link that is taken out whole. */
const MOST_HIDDEN = 4_096;

/** Most text needs no look at its characters. Tags are not all of a class of their own. */
const suspect = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u{e0000}-\u{e007f}]/u;
/** Characters that reorder or hide their neighbours. Joiners stay: scripts and emoji need them. */
const unwanted = /[\p{Bidi_Control}\u180e\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;

/** The state of the reader between two characters. */
type Place = "text" | "escape" | "intermediate" | "csi" | "string" | "string-escape";

/** For text that comes in pieces: a sequence may begin in one and end in the next. */
export function sanitizer(): (piece: string) => string {
  let place: Place = "text";
  let hidden = 0;
  let afterReturn = false;
  let half = "";

  const visible = (character: string, code: number): string => {
    const wasReturn = afterReturn;
    afterReturn = code === 0x0d;
    if (code === 0x0a) return wasReturn ? "" : "\n";
    if (code === 0x0d || code === 0x2028 || code === 0x2029) return "\n";
    if (code === 0x09) return "  ";
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return "";
    if (code >= 0xd800 && code < 0xe000 && character.length === 1) return "\ufffd";
    return unwanted.test(character) ? "" : character;
  };

  const step = (character: string): string => {
    const code = character.codePointAt(0)!;
    if (place !== "text") hidden += 1;
    if (hidden > MOST_HIDDEN) {
      hidden = 0;
      place = "text";
    }
    // A new sequence ends an open one.
    if (code === ESC && place !== "string") return begin("escape");
    switch (place) {
      case "text":
        if (code === 0x9b) return begin("csi");
        if (code === 0x90 || code === 0x98 || (code >= 0x9d && code <= 0x9f)) return begin("string");
        return visible(character, code);
      case "escape":
        if (code === 0x5b) return begin("csi");
        if (code === 0x5d || code === 0x50 || code === 0x58 || code === 0x5e || code === 0x5f) return begin("string");
        if (code >= 0x20 && code <= 0x2f) return begin("intermediate");
        return ended(code >= 0x30 && code <= 0x7e, character, code);
      case "intermediate":
        if (code >= 0x20 && code <= 0x2f) return "";
        return ended(code >= 0x30 && code <= 0x7e, character, code);
      case "csi":
        if (code >= 0x20 && code <= 0x3f) return "";
        return ended(code >= 0x40 && code <= 0x7e, character, code);
      case "string":
        if (code === ESC) return begin("string-escape");
        if (code === BEL || code === ST || code === 0x18 || code === 0x1a) return ended(true, character, code);
        // No title has a new line in it: it was not one.
        return code === 0x0a ? ended(false, character, code) : "";
      case "string-escape":
        if (code === 0x5c) return ended(true, character, code);
        place = "escape";
        return step(character);
      default:
        return place satisfies never;
    }
  };
  const begin = (next: Place): string => {
    place = next;
    return "";
  };
  /** `own`: the character is the end of the sequence; else it is text after a broken one. */
  const ended = (own: boolean, character: string, code: number): string => {
    place = "text";
    hidden = 0;
    return own ? "" : visible(character, code);
  };

  return (piece) => {
    if (place === "text" && half === "" && !afterReturn && !suspect.test(piece)) return piece;
    let text = half + piece;
    half = "";
    const last = text.charCodeAt(text.length - 1);
    if (last >= 0xd800 && last < 0xdc00) {
      half = text.slice(-1);
      text = text.slice(0, -1);
    }
    let out = "";
    for (const character of text) out += step(character);
    return out;
  };
}

/** The same for a whole text. */
export function sanitize(text: string): string {
  return suspect.test(text) ? sanitizer()(text.toWellFormed()) : text;
}

/** The same on one row, cut to `most` characters. */
export function sanitizeLine(text: string, most: number): string {
  const line = sanitize(text.slice(0, most * 8))
    .replace(/\s+/g, " ")
    .trim();
  return line.length > most ? `${line.slice(0, most - 1).toWellFormed()}…` : line;
}

const unseen = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns text for a decision of a person: complete, with invisible characters and escape sequences spelt out. */
export function spell(text: string): string {
  return text.toWellFormed().replace(unseen, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}
