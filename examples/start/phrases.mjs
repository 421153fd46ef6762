// Small things to say.

export function count(n, one, many = `${one}s`) {
  return `${n} ${n === 1 ? one : many}`;
}

export function bytes(n) {
  return n < 1024
    ? count(n, "byte")
    : n < 1024 * 1024
      ? `${(n / 1024).toFixed(1)} kB`
      : `${(n / 1024 / 1024).toFixed(1)} MB`;
}

export function extension(path) {
  const name = path.split("/").at(-1);
  return name.includes(".") ? name.slice(name.lastIndexOf(".")) : name;
}

/** Each item with how often it occurs, the most frequent first. */
export function frequent(items) {
  const counts = new Map();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/** The first paragraph of a page that is prose. */
export function paragraph(text) {
  const paragraphs = text.split(/\n\s*\n/).map((each) => each.replace(/\s+/g, " ").trim());
  const prose = paragraphs.find((each) => /^[\p{L}*_“"]/u.test(each)) ?? paragraphs[0] ?? "";
  return prose.length > 300 ? `${prose.slice(0, 299).toWellFormed()}…` : prose;
}
