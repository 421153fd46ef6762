// The text of a page as a person would read it, without the parts for browsers. No parser: it accepts any input, and takes
// time in proportion to it.

const BLOCKS =
  /^(?:address|article|aside|blockquote|br|dd|div|dl|dt|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|table|tr|ul)$/;
const SILENT = /^(?:script|style|noscript|template|svg|title|head|iframe)$/;

const names: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  mdash: "—",
  ndash: "–",
  hellip: "…",
  copy: "©",
  laquo: "«",
  raquo: "»",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
};

export function htmlToText(html: string): string {
  const lower = html.toLowerCase();
  let out = titleOf(html, lower);
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    if (open < 0) {
      out += decode(html.slice(at));
      break;
    }
    out += decode(html.slice(at, open));
    if (lower.startsWith("<!--", open)) {
      at = after(lower, "-->", open);
      continue;
    }
    const end = html.indexOf(">", open);
    if (end < 0) break;
    const tag = /^<\/?([a-z][a-z0-9]*)/.exec(lower.slice(open, open + 20))?.[1];
    at = end + 1;
    // A sign of its own, not a tag.
    if (tag === undefined && !/^<[!/?]/.test(lower.slice(open, open + 2))) {
      out += "<";
      at = open + 1;
      continue;
    }
    if (tag === undefined) continue;
    if (SILENT.test(tag) && lower[open + 1] !== "/") {
      at = after(
        lower,
        ">",
        Math.max(at, lower.indexOf(`</${tag}`, at) < 0 ? html.length : lower.indexOf(`</${tag}`, at)),
      );
    } else if (BLOCKS.test(tag)) {
      out += lower[open + 1] === "/" ? "\n" : opening(tag);
    } else if (tag === "td" || tag === "th") {
      out += " ";
    }
  }
  return tidy(out);
}

function titleOf(html: string, lower: string): string {
  const open = lower.indexOf("<title");
  const from = open < 0 ? -1 : lower.indexOf(">", open);
  const to = from < 0 ? -1 : lower.indexOf("</title", from);
  return to < 0 ? "" : `${decode(html.slice(from + 1, to)).trim()}\n\n`;
}

function opening(tag: string): string {
  if (tag === "li") return "\n- ";
  const heading = /^h([1-6])$/.exec(tag);
  return heading ? `\n\n${"#".repeat(Number(heading[1]))} ` : tag === "p" ? "\n\n" : "\n";
}

function after(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found < 0 ? text.length : found + mark.length;
}

function decode(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi, (whole, dec, hex, name) => {
      if (name !== undefined) return names[name.toLowerCase()] ?? whole;
      const code = dec === undefined ? Number.parseInt(hex, 16) : Number(dec);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : "";
    });
}

function tidy(text: string): string {
  return text
    .split("\n")
    .map((line) => line.replace(/[ \t]+/g, " ").trim())
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}
