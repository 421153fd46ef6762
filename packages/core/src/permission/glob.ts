// Text patterns. Invariants:
// 1. `*` matches any text, also none and newlines. Everything else matches itself. Backslashes count only
//    directly before a star: `\*` is a star, `\\*` is a backslash and then any text.
// 2. Matching takes time in proportion to pattern plus text, for any input: models write the texts.
// 3. An escaped text matches that text and no other.

export function matchesGlob(pattern: string, text: string): boolean {
  const parts = literalsOf(pattern);
  const first = parts[0]!;
  if (parts.length === 1) return text === first;
  const last = parts.at(-1)!;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let at = first.length;
  // The leftmost match of each part leaves the most room for the next, so there is no backtracking.
  for (const part of parts.slice(1, -1)) {
    at = endOfFirst(part, text, at, end);
    if (at < 0) return false;
  }
  return at <= end;
}

export function escapeGlob(text: string): string {
  const pieces = text.split("*");
  const last = pieces.pop()!;
  return [...pieces.map((piece) => `${piece}${trailingBackslashes(piece)}\\`), last].join("*");
}

/** Returns the literals between the wildcards; one more than there are wildcards. */
function literalsOf(pattern: string): string[] {
  const parts: string[] = [];
  let part = "";
  let from = 0;
  let backslashes = 0;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === "\\") {
      backslashes++;
      continue;
    }
    if (char === "*") {
      part += pattern.slice(from, at - Math.ceil(backslashes / 2));
      from = at + 1;
      if (backslashes % 2 === 1) {
        part += "*";
      } else {
        parts.push(part);
        part = "";
      }
    }
    backslashes = 0;
  }
  return [...parts, part + pattern.slice(from)];
}

function trailingBackslashes(text: string): string {
  let at = text.length;
  while (at > 0 && text[at - 1] === "\\") at--;
  return text.slice(at);
}

/** Returns the end of the first `part` in text[from, end), or -1. Knuth, Morris and Pratt. */
function endOfFirst(part: string, text: string, from: number, end: number): number {
  if (part === "") return from;
  if (end - from < part.length) return -1;
  const fallback = fallbacksOf(part);
  let matched = 0;
  for (let at = from; at < end; at++) {
    while (matched > 0 && text[at] !== part[matched]) matched = fallback[matched - 1]!;
    if (text[at] === part[matched]) matched++;
    if (matched === part.length) return at + 1;
  }
  return -1;
}

/** Returns, for each prefix of `part`, the length of its longest proper suffix that is also a prefix. */
function fallbacksOf(part: string): Uint32Array {
  const fallback = new Uint32Array(part.length);
  let matched = 0;
  for (let at = 1; at < part.length; at++) {
    while (matched > 0 && part[at] !== part[matched]) matched = fallback[matched - 1]!;
    if (part[at] === part[matched]) matched++;
    fallback[at] = matched;
  }
  return fallback;
}
