// Databases end text at NUL and bend half characters: such text is kept as its JSON, which has neither.

export function toText(text: string): string {
  return text.isWellFormed() && !text.includes("\0") && !text.startsWith('"') ? text : JSON.stringify(text);
}

export function fromText(text: string): string {
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
}
