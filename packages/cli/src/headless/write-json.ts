// JSON on one line, safe to look at in a terminal: characters that a terminal would obey, or that would hide or reorder
// their neighbours, are written as escapes. A reader of the JSON gets the original characters.

const unsafe = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function writeJson(value: unknown): string {
  const spelt = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(unsafe, spelt);
}
