// The shapes that rows are put into: a gutter of two columns, a band, a rule, a frame, two sides of one row. With columns
// without end there is no layout, only words: so they are read out.

import { fit, type Row, type Span, width } from "../terminal/width.ts";

export const GUTTER = 2;

export function widthOf(row: Row): number {
  return row.reduce((sum, { text }) => sum + width(text), 0);
}

/** Puts a mark of two columns before the first row, and blanks before the others. */
export function gutter(mark: Span, rows: readonly Row[]): Row[] {
  return rows.map((row, at) => (at === 0 ? [mark, ...row] : widthOf(row) === 0 ? [] : [{ text: "  " }, ...row]));
}

/** `right` at the right edge; only `left` if there is no room for both. */
export function sides(left: Row, right: Row, columns: number): Row {
  const used = widthOf(right);
  if (used === 0) return left;
  if (columns === Number.POSITIVE_INFINITY) return [...left, { text: " " }, ...right];
  const blanks = columns - widthOf(left) - used;
  return blanks < 2 ? left : [...left, { text: " ".repeat(blanks) }, ...right];
}

/** The row on a band of its style that reaches to the right edge. */
export function band(row: Row, columns: number, style: string): Row {
  const styled = row.map(({ text }) => ({ text, style }));
  const left = columns === Number.POSITIVE_INFINITY ? 0 : Math.max(0, columns - widthOf(row));
  return [...styled, { text: " ".repeat(left), style }];
}

interface RuleOptions {
  readonly words?: string;
  readonly right?: string;
  readonly style: string;
}

/** Returns a line across the screen, with words near its left end and optional words near its right one. */
export function rule(columns: number, { words = "", right = "", style }: RuleOptions): Row {
  if (columns === Number.POSITIVE_INFINITY) return [{ text: words, style }];
  const begin = words === "" ? "" : `── ${fit(words, columns - 6)} `;
  const end = right === "" || width(begin) + width(right) + 6 > columns ? "" : ` ${right} ──`;
  return [{ text: `${begin}${"─".repeat(Math.max(0, columns - width(begin) - width(end)))}${end}`, style }];
}

/** The rows in a frame, its title in the upper edge and its foot in the lower one; without a foot there is no lower edge. */
export function framed(title: Row, rows: readonly Row[], foot: string | undefined, columns: number): Row[] {
  const style = "frame";
  const inner = columns - 4;
  const fill = (used: number) => "─".repeat(Math.max(0, columns - used - 2));
  const head = title.map(({ text, ...rest }) => ({ text, ...rest }));
  const top: Row = [{ text: "╭─ ", style }, ...head, { text: ` ${fill(widthOf(head) + 3)}╮`, style }];
  const sided = rows.map(
    (row): Row => [
      { text: "│ ", style },
      ...row,
      { text: " ".repeat(Math.max(0, inner - widthOf(row))) },
      { text: " │", style },
    ],
  );
  if (foot === undefined) return [top, ...sided];
  const said = fit(foot, columns - 6);
  const bottom: Row =
    said === ""
      ? [{ text: `╰${fill(0)}╯`, style }]
      : [
          { text: "╰─ ", style },
          { text: said, style: "dim" },
          { text: ` ${fill(width(said) + 3)}╯`, style },
        ];
  return [top, ...sided, bottom];
}
