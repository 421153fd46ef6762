import { expect, test } from "vitest";
import type { Key } from "../keys/decoder.ts";
import { type Editor, edit, emptyEditor } from "./editor.ts";

/** Names of keys; anything else is typed. `|` shows the cursor. */
function typed(...keys: readonly (string | Key)[]): string {
  let editor: Editor = emptyEditor;
  for (const key of keys) {
    const each = typeof key === "string" ? { name: key } : key;
    editor = edit(editor, each) ?? edit(editor, { name: "text", text: each.name }) ?? editor;
  }
  return `${editor.text.slice(0, editor.cursor)}|${editor.text.slice(editor.cursor)}`;
}

test.each([
  [["one two", "left", "left", "x"], "one tx|wo"],
  [["岩🧗‍♀️", "left", "left", "right", "backspace"], "|🧗‍♀️"],
  [["one two three", "ctrl-w", "ctrl-w"], "one |"],
  [["one two", "alt-b", "alt-b", "alt-f"], "one| two"],
  [["one two", "home", "delete", "end", "!"], "ne two!|"],
  [["one", "alt-enter", "two", "newline", "three", "up", "up", "x"], "onex|\ntwo\nthree"],
  [["one", "newline", "two", "home", "ctrl-k", "ctrl-u"], "one|"],
  [["one two", "alt-b", "ctrl-k"], "one |"],
  [["one two three", "ctrl-w", "ctrl-w", "home", "ctrl-y", "!"], "two three!|one "],
  [["one two", "alt-b", "ctrl-u", "ctrl-k", "ctrl-y", "ctrl-y"], "one twoone two|"],
  [["one two", "ctrl-w", "x", "ctrl-w", "ctrl-y"], "one x|"],
  [["one", "ctrl-y"], "one|"],
])("%j gives %s", (keys, shown) => {
  expect(typed(...(keys as string[]))).toBe(shown);
});

test("pasted text keeps its lines and loses escape sequences", () => {
  expect(typed({ name: "paste", text: "a\u001b[31mb\nc\u0007" })).toBe("ab\nc|");
});

test("up on the first line and down on the last are for others", () => {
  expect(edit({ text: "one", cursor: 1 }, { name: "up" })).toBeUndefined();
  expect(edit({ text: "one", cursor: 1 }, { name: "down" })).toBeUndefined();
  expect(edit(emptyEditor, { name: "page-up" })).toBeUndefined();
});
