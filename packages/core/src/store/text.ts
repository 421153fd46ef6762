// Databases end text at NUL and bend half characters: such text is kept as its JSON, which has neither.

const QUOTE = 34;

/** Returns `text` in a form that every database keeps as it is. */
export function toText(text: string): string {
  return text.isWellFormed() && !text.includes("\0") && !text.startsWith('"') ? text : JSON.stringify(text);
}

/** Returns the text that `toText()` was given. */
export function fromText(text: string): string {
  return text.charCodeAt(0) === QUOTE ? (JSON.parse(text) as string) : text;
}
