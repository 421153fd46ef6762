// The line that is being typed: text and a cursor. Data in, data out.

import type { Key } from "../keys/decoder.ts";
import { sanitize } from "../terminal/sanitize.ts";
import { characters } from "../terminal/width.ts";

export interface Editor {
  readonly text: string;
  /** Between characters, counted in code units. */
  readonly cursor: number;
  /** What Ctrl-U, K and W have taken out last, one after the other: Ctrl-Y puts it in again. */
  readonly cut?: { readonly text: string; readonly grows: boolean };
}

export const emptyEditor: Editor = { text: "", cursor: 0 };

export function editorOf(text: string): Editor {
  return { text, cursor: text.length };
}

const CUTS: readonly string[] = ["ctrl-u", "ctrl-k", "ctrl-w", "alt-backspace", "ctrl-backspace"];

/** Returns the text after the key; undefined for keys that are not for typing. */
export function edit(editor: Editor, key: Key): Editor | undefined {
  const next = edited(editor, key);
  if (next === undefined) return undefined;
  const cut = cutBy(editor, next, key);
  return cut === undefined ? next : { ...next, cut };
}

function cutBy({ text, cut }: Editor, next: Editor, key: Key): Editor["cut"] {
  if (!CUTS.includes(key.name)) return cut && { ...cut, grows: false };
  const out = text.slice(next.cursor, next.cursor + text.length - next.text.length);
  const before = cut?.grows ? cut.text : "";
  return { text: key.name === "ctrl-k" ? before + out : out + before, grows: true };
}

function edited(editor: Editor, key: Key): Editor | undefined {
  const { text, cursor } = editor;
  const before = text.slice(0, cursor);
  const after = text.slice(cursor);
  const lineBegin = before.lastIndexOf("\n") + 1;
  const lineEnd = after.includes("\n") ? cursor + after.indexOf("\n") : text.length;
  switch (key.name) {
    case "text":
    case "paste":
      return inserted(editor, sanitize(key.text ?? ""));
    case "newline":
    case "alt-enter":
      return inserted(editor, "\n");
    case "backspace":
      return without(editor, cursor - lastOf(before).length, cursor);
    case "delete":
    case "ctrl-d":
      return without(editor, cursor, cursor + firstOf(after).length);
    case "left":
    case "ctrl-b":
      return { text, cursor: cursor - lastOf(before).length };
    case "right":
    case "ctrl-f":
      return { text, cursor: cursor + firstOf(after).length };
    case "home":
    case "ctrl-a":
      return { text, cursor: lineBegin };
    case "end":
    case "ctrl-e":
      return { text, cursor: lineEnd };
    case "ctrl-left":
    case "alt-left":
    case "alt-b":
      return { text, cursor: wordBegin(before) };
    case "ctrl-right":
    case "alt-right":
    case "alt-f":
      return { text, cursor: cursor + (/^\s*\S*/.exec(after)?.[0].length ?? 0) };
    case "ctrl-u":
      return without(editor, lineBegin === cursor ? Math.max(0, cursor - 1) : lineBegin, cursor);
    case "ctrl-k":
      return without(editor, cursor, lineEnd === cursor ? Math.min(text.length, cursor + 1) : lineEnd);
    case "ctrl-w":
    case "alt-backspace":
    case "ctrl-backspace":
      return without(editor, wordBegin(before), cursor);
    case "ctrl-y":
      return inserted(editor, editor.cut?.text ?? "");
    case "up":
      return lineBegin === 0 ? undefined : vertical(editor, lineBegin, -1);
    case "down":
      return lineEnd === text.length ? undefined : vertical(editor, lineBegin, 1);
    default:
      return undefined;
  }
}

function inserted({ text, cursor }: Editor, more: string): Editor {
  return { text: text.slice(0, cursor) + more + text.slice(cursor), cursor: cursor + more.length };
}

function without({ text }: Editor, from: number, to: number): Editor {
  return { text: text.slice(0, from) + text.slice(to), cursor: from };
}

/** To the line above or below, in the same column. */
function vertical({ text, cursor }: Editor, lineBegin: number, by: 1 | -1): Editor {
  const column = cursor - lineBegin;
  const begin = by < 0 ? text.lastIndexOf("\n", lineBegin - 2) + 1 : text.indexOf("\n", cursor) + 1;
  const next = text.indexOf("\n", begin);
  const end = next < 0 ? text.length : next;
  return { text, cursor: Math.min(begin + column, end) };
}

/** Looks only at the text near the cursor: a paste may be long. */
function lastOf(text: string): string {
  return characters(text.slice(-64)).at(-1) ?? "";
}

function firstOf(text: string): string {
  return characters(text.slice(0, 64))[0] ?? "";
}

function wordBegin(before: string): number {
  return before.length - (/\S*\s*$/.exec(before)?.[0].length ?? 0);
}
