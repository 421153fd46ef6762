// For tests only: an emulated screen as a picture that is text.

import type { Terminal } from "@xterm/headless";
import { width as columnsIn } from "../terminal/width.ts";

const CELL = { width: 8.4, height: 17 };
const PAD = 14;

/** The colours of a terminal: its paper, its ink, and the sixteen that have names. */
interface Paper {
  readonly paper: string;
  readonly ink: string;
  readonly colours: readonly string[];
}

export const DARK: Paper = {
  paper: "#121519",
  ink: "#eceff2",
  colours: [
    ...["#121519", "#e4574a", "#98a2ad", "#f4bb55", "#7db8fb", "#b3bbc5", "#8d97a3", "#eceff2"],
    ...["#505a65", "#ff968a", "#b3bbc5", "#f4bb55", "#7db8fb", "#b3bbc5", "#b3bbc5", "#ffffff"],
  ],
};
export const LIGHT: Paper = {
  paper: "#ffffff",
  ink: "#14181d",
  colours: [
    ...["#14181d", "#a92318", "#59636f", "#c37d0c", "#155fb5", "#474f59", "#646d78", "#eceff2"],
    ...["#868f99", "#c62f23", "#59636f", "#f0a51e", "#2371d6", "#474f59", "#474f59", "#ffffff"],
  ],
};

/** Rows from the first to the last that has something on it; `change` makes equal what differs from run to run. */
export function screenSvg(
  screen: Terminal,
  title: string,
  change: (text: string) => string,
  colours: Paper = DARK,
): string {
  const { active } = screen.buffer;
  const rows = Array.from({ length: screen.rows }, (_, at) => runsOf(screen, active.baseY + at, change, colours));
  while (rows.length > 1 && rows.at(-1)!.length === 0) rows.pop();
  const width = Math.ceil(screen.cols * CELL.width + 2 * PAD);
  const height = rows.length * CELL.height + 2 * PAD;
  const lines = rows.flatMap((runs, y) =>
    runs.flatMap(({ x, text, style, paper }) => {
      const left = (PAD + x * CELL.width).toFixed(1);
      const length = (columnsIn(text) * CELL.width).toFixed(1);
      const top = PAD + y * CELL.height;
      const below =
        paper === undefined
          ? []
          : [`  <rect x="${left}" y="${top}" width="${length}" height="${CELL.height}" fill="${paper}"/>`];
      if (text.trim() === "") return below;
      return [...below, `  <text x="${left}" y="${top + 13}" textLength="${length}" ${style}>${escaped(text)}</text>`];
    }),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `  <title>${escaped(title)}</title>`,
    // Browsers do not read xml:space any more.
    "  <style>text { white-space: pre }</style>",
    `  <rect width="100%" height="100%" rx="8" fill="${colours.paper}"/>`,
    '  <g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="14">',
    ...lines,
    "  </g>",
    "</svg>",
    "",
  ].join("\n");
}

interface Run {
  readonly x: number;
  readonly text: string;
  readonly style: string;
  /** The colour behind it, if it is not the terminal's own. */
  readonly paper: string | undefined;
}

/** Runs of one style; blanks at the end are none, unless they are coloured. */
function runsOf(screen: Terminal, row: number, change: (text: string) => string, colours: Paper): readonly Run[] {
  const line = screen.buffer.active.getLine(row);
  const runs: { x: number; text: string; style: string; paper: string | undefined }[] = [];
  for (let x = 0; line !== undefined && x < screen.cols; x += 1) {
    const cell = line.getCell(x);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const text = cell.getChars() || " ";
    const fg = colourOf(cell.isFgRGB(), cell.isFgPalette(), cell.getFgColor(), colours) ?? colours.ink;
    const paper = colourOf(cell.isBgRGB(), cell.isBgPalette(), cell.getBgColor(), colours);
    const style = [
      `fill="${fg}"`,
      ...(cell.isBold() ? ['font-weight="bold"'] : []),
      ...(cell.isItalic() ? ['font-style="italic"'] : []),
      ...(cell.isUnderline() ? ['text-decoration="underline"'] : []),
      ...(cell.isDim() ? ['opacity="0.6"'] : []),
    ].join(" ");
    const last = runs.at(-1);
    // A wide character ends a run: its font may be another one.
    const wide = cell.getWidth() === 2 || (last !== undefined && columnsIn(last.text) !== [...last.text].length);
    if (last !== undefined && last.style === style && last.paper === paper && !wide) last.text += text;
    else runs.push({ x, text, style, paper });
  }
  return runs
    .map((run) => ({ ...run, text: run.paper === undefined ? change(run.text).trimEnd() : change(run.text) }))
    .filter(({ text, paper }) => text.trim() !== "" || paper !== undefined);
}

function colourOf(isRgb: boolean, isPalette: boolean, value: number, { colours }: Paper): string | undefined {
  if (isRgb) return `#${value.toString(16).padStart(6, "0")}`;
  if (!isPalette) return undefined;
  if (value < 16) return colours[value];
  const steps = [0, 95, 135, 175, 215, 255];
  const level = 8 + (value - 232) * 10;
  const rgb =
    value >= 232
      ? [level, level, level]
      : [Math.floor((value - 16) / 36), Math.floor(((value - 16) % 36) / 6), (value - 16) % 6].map((at) => steps[at]!);
  return `#${rgb.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
