// Databases end text at NUL and bend half characters: such text is kept as its JSON, which has neither.

const QUOTE = 34;

export function toText(text: string): string {
  return text.isWellFormed() && !text.includes("\0") && !text.startsWith('"') ? text : JSON.stringify(text);
}

export function fromText(text: string): string {
  return text.charCodeAt(0) === QUOTE ? (JSON.parse(text) as string) : text;
}
