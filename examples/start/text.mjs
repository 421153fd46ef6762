// Text on its way to a screen: made harmless, measured, and broken into rows.
const ESC = "\u001b";
const BEL = "\u0007";
/** What a terminal obeys: CSI …, strings such as a window title, and short sequences; each in its 7- and 8-bit form. */
const csi = `(?:${ESC}\\[|\u009b)[0-?]*[ -/]*`;
const string = `(?:${ESC}[\\]PX^_]|[\u0090\u0098\u009d-\u009f])[^${BEL}${ESC}\u009c]*`;
const sequences = new RegExp(`${csi}[@-~]|${string}(?:${BEL}|${ESC}\\\\|\u009c)|${ESC}[ -/]*[0-~]`, "g");
const unfinished = new RegExp(`(?:${csi}|${string}${ESC}?|${ESC}[ -/]*)$`);
const MOST_HELD = 256;

/** Words of a model, a tool or a file name: no escape sequence, control or direction character reaches the terminal. */
export function clean(text) {
  return text
    .toWellFormed()
    .replace(sequences, "")
    .replace(/\r\n?|\p{Zl}|\p{Zp}/gu, "\n")
    .replace(/\t/g, "  ")
    .replace(/(?!\n)[\p{Cc}\p{Bidi_Control}]/gu, "");
}

/** The same for text that comes in pieces: a sequence may begin in one and end in the next. */
export function cleaner() {
  let held = "";
  return (piece) => {
    const text = held + piece;
    const at = unfinished.exec(text)?.index ?? text.length;
    held = text.length - at > MOST_HELD ? "" : text.slice(at);
    return clean(held === "" ? text : text.slice(0, at));
  };
}

/** The same on one row, cut to `most` characters. */
export function cleanLine(text, most) {
  const line = clean(text).replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1).toWellFormed()}…` : line;
}

/** For what a person decides about: nothing is left out, and what would not be seen, or would obey, is spelt. */
export function spell(text) {
  const hidden = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
  return text.toWellFormed().replace(hidden, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** What a person sees as its characters. */
export function characters(text) {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

const plain = /^[ -~]*$/;
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;

/** How many columns it takes. */
export function width(text) {
  if (plain.test(text)) return text.length;
  let columns = 0;
  for (const character of characters(text)) columns += invisible.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return columns;
}

/** Rows of at most `columns`, broken between words where that is possible. */
export function wrap(line, columns) {
  const rows = [];
  let row = "";
  for (const word of line.split(/(?<= )(?! )/)) {
    const wordWidth = width(word.trimEnd());
    // A word that fits on no row is broken where it stands.
    if (row !== "" && wordWidth <= columns && width(row) + wordWidth > columns) {
      rows.push(row.trimEnd());
      row = "";
    }
    row += word;
    if (width(row.trimEnd()) > columns) {
      const pieces = chop(row, columns);
      row = pieces.pop();
      rows.push(...pieces);
    }
  }
  return [...rows, row];
}

/** Rows of at most `columns`, broken anywhere. */
export function chop(line, columns) {
  const rows = [""];
  for (const character of characters(line)) {
    if (width(rows.at(-1)) + width(character) > columns) rows.push("");
    rows[rows.length - 1] += character;
  }
  return rows;
}
