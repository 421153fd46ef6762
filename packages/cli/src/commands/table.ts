// Columns that line up, for people. Their content is untrusted: it is sanitized and cut here.

import { sanitizeLine } from "../terminal/sanitize.ts";
import { fit, width } from "../terminal/width.ts";

/** The last column takes the rest of the row. */
export function table(rows: readonly (readonly string[])[], columns: number): string {
  const clean = rows.map((row) => row.map((cell) => sanitizeLine(cell, 400)));
  const count = Math.max(0, ...clean.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, at) => Math.max(...clean.map((row) => width(row[at] ?? ""))));
  const pad = (cell: string, at: number) => cell + " ".repeat(Math.max(0, widths[at]! - width(cell)));
  return clean
    .map((row) => row.map((cell, at) => (at === count - 1 ? cell : pad(cell, at))).join("  "))
    .map((line) => `${fit(line, columns).trimEnd()}\n`)
    .join("");
}

export function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}
