// Small things to say.

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

export function extension(path: string): string {
  const name = path.split("/").at(-1) ?? "";
  return name.includes(".") ? name.slice(name.lastIndexOf(".")) : name;
}

/** Each item with how often it occurs, the most frequent first. */
export function frequent(items: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/** The first paragraph of a page that is prose. */
export function paragraph(text: string): string {
  const paragraphs = text.split(/\n\s*\n/).map((each) => each.replace(/\s+/g, " ").trim());
  const prose = paragraphs.find((each) => /^[\p{L}*_“"]/u.test(each)) ?? paragraphs[0] ?? "";
  return prose.length > 300 ? `${prose.slice(0, 299).toWellFormed()}…` : prose;
}

const small = new Set(
  "a an and are at be but by can could do does file files for from how i in instead is it its me my not of on only or please shall should so tell that the there these this those to us was we what when where which who why with would you your".split(
    " ",
  ),
);

/** Returns the subject of a question: its quote, else its longest meaningful word. */
export function term(text: string): string {
  const quoted = /["“'`]([^"”'`]+)["”'`]/.exec(text);
  if (quoted) return quoted[1]!.slice(0, 100);
  const words = text.match(/[\p{L}\p{N}_$@./-]+/gu) ?? [];
  const meaning = words
    .map((word) => word.replace(/^[./-]+|[./-]+$/g, ""))
    .filter((word) => word !== "" && !small.has(word.toLowerCase()));
  return (meaning.sort((a, b) => b.length - a.length)[0] ?? "").slice(0, 100);
}

/** A text as a pattern that finds it. */
export function asPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
