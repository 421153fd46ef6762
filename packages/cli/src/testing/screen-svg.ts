// For tests only: what an emulated screen shows, as a picture that is text.

import type { Terminal } from "@xterm/headless";

const CELL = { width: 8.4, height: 18 };
const PAD = 14;
const COLOURS = ["#1d2026", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0"];
const BRIGHT = ["#5c6370", "#ef7f88", "#a9d489", "#f0d08b", "#74bcff", "#d38ceb", "#6bc7d3", "#ffffff"];

/** Rows from the first to the last that has something on it; `change` makes what differs each time the same. */
export function screenSvg(screen: Terminal, title: string, change: (text: string) => string): string {
  const { active } = screen.buffer;
  const rows = Array.from({ length: screen.rows }, (_, at) => runsOf(screen, active.baseY + at, change));
  while (rows.length > 1 && rows.at(-1)!.length === 0) rows.pop();
  const width = Math.ceil(screen.cols * CELL.width + 2 * PAD);
  const height = rows.length * CELL.height + 2 * PAD;
  const lines = rows.flatMap((runs, y) =>
    runs.map(({ x, text, style }) => {
      const left = (PAD + x * CELL.width).toFixed(1);
      const length = (columnsOf(text) * CELL.width).toFixed(1);
      return `  <text x="${left}" y="${PAD + y * CELL.height + 13}" textLength="${length}" ${style}>${escaped(text)}</text>`;
    }),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `  <title>${escaped(title)}</title>`,
    `  <rect width="100%" height="100%" rx="8" fill="${COLOURS[0]}"/>`,
    '  <g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" xml:space="preserve" lengthAdjust="spacing">',
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
}

/** Stretches of one style; blanks at the end are none. */
function runsOf(screen: Terminal, row: number, change: (text: string) => string): readonly Run[] {
  const line = screen.buffer.active.getLine(row);
  const runs: { x: number; text: string; style: string }[] = [];
  for (let x = 0; line !== undefined && x < screen.cols; x += 1) {
    const cell = line.getCell(x);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const text = cell.getChars() || " ";
    const colour = cell.isFgPalette() ? paletteColour(cell.getFgColor()) : COLOURS[7];
    const style = [
      `fill="${colour}"`,
      ...(cell.isBold() ? ['font-weight="bold"'] : []),
      ...(cell.isItalic() ? ['font-style="italic"'] : []),
      ...(cell.isDim() ? ['opacity="0.6"'] : []),
    ].join(" ");
    const last = runs.at(-1);
    if (last !== undefined && last.style === style) last.text += text;
    else runs.push({ x, text, style });
  }
  return runs.map((run) => ({ ...run, text: change(run.text).trimEnd() })).filter(({ text }) => text.trim() !== "");
}

function paletteColour(index: number): string {
  return (index < 8 ? COLOURS[index] : BRIGHT[index - 8]) ?? COLOURS[7]!;
}

function columnsOf(text: string): number {
  return [...text].length;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
