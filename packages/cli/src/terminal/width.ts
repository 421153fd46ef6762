// The width of text on a screen, and its breaks into rows.

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const plain = /^[ -~]*$/;
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;

const betweenWords = /(?<= )(?! )/;
/**
 * Also between characters of scripts that have no blanks; a closing sign stays with the text before it, an opening one with the
 * text after it.
 */
const betweenWideOnes =
  /(?<= )(?! )|(?<=[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}、。，；：？！）」』》])(?=[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}（「『《])/u;

/** The characters that a person sees. */
export function characters(text: string): string[] {
  return plain.test(text) ? [...text] : Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Columns of one character. */
function cells(character: string): number {
  if (character.length === 1 && character >= " " && character <= "~") return 1;
  return invisible.test(character) ? 0 : wide.test(character) ? 2 : 1;
}

/** Columns of a row. */
export function width(text: string): number {
  if (plain.test(text)) return text.length;
  if (text.length === 1) return cells(text);
  let columns = 0;
  for (const character of characters(text)) columns += cells(character);
  return columns;
}

/** Returns the part that fits into `columns`, with … for the rest. */
export function fit(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let room = columns - 1;
  let kept = "";
  for (const character of characters(text)) {
    room -= cells(character);
    if (room < 0) break;
    kept += character;
  }
  return columns <= 0 ? "" : `${kept}…`;
}

/** A piece of text in one style. */
export interface Span {
  readonly text: string;
  readonly style?: string;
}

export type Row = readonly Span[];

/** Returns rows of at most `columns`, broken between words if possible; rows after the first begin with `hanging` blanks. */
export function wrap(line: Row, columns: number, hanging = 0): Row[] {
  const room = Math.max(1, columns);
  const total = line.reduce((sum, { text }) => sum + width(text), 0);
  if (total <= room) return [line];
  const indent = hanging < room - 8 ? hanging : 0;
  const rows: Row[] = [];
  let row: Span[] = [];
  let used = 0;
  const breakRow = () => {
    rows.push(trimmed(row));
    row = indent > 0 ? [{ text: " ".repeat(indent) }] : [];
    used = indent;
  };
  for (const { text, style } of line) {
    for (const word of text.split(plain.test(text) ? betweenWords : betweenWideOnes)) {
      if (word === "") continue;
      const bare = word.trimEnd();
      const wordWidth = width(bare);
      if (used > indent && used + wordWidth > room) breakRow();
      if (used + wordWidth <= room) {
        put(row, word, style);
        used += width(word);
        continue;
      }
      // A word that fits on no row is broken in place.
      let piece = "";
      for (const character of characters(word)) {
        const taken = cells(character);
        if (used + taken > room) {
          put(row, piece, style);
          piece = "";
          breakRow();
        }
        piece += character;
        used += taken;
      }
      put(row, piece, style);
    }
  }
  rows.push(trimmed(row));
  return rows;
}

/** Returns rows of at most `columns`, broken anywhere and complete: for a draft. */
export function chop(text: string, columns: number): string[] {
  const rows = [""];
  let used = 0;
  for (const character of characters(text)) {
    const taken = cells(character);
    if (used + taken > Math.max(2, columns)) {
      rows.push("");
      used = 0;
    }
    rows[rows.length - 1] += character;
    used += taken;
  }
  return rows;
}

/** Joins neighbours of the same style to one span. */
function put(row: Span[], text: string, style: string | undefined): void {
  const last = row.at(-1);
  if (last === undefined || last.style !== style) row.push(span(text, style));
  else row[row.length - 1] = span(last.text + text, style);
}

function span(text: string, style: string | undefined): Span {
  return style === undefined ? { text } : { text, style };
}

function trimmed(row: readonly Span[]): Row {
  const last = row.at(-1);
  if (last === undefined || !last.text.endsWith(" ")) return row;
  return [...row.slice(0, -1), span(last.text.trimEnd(), last.style)];
}
