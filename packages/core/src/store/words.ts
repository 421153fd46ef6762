// The words that threads are found by. A store keeps them as they are made here, and a search is made of the same.

import type { Named } from "./store.ts";

/** Made when it is first used: importing the package stays cheap. */
let segmenter: Intl.Segmenter | undefined;

/** Longer words are cut, so that an index can hold them. A search is cut as they are. */
const MOST_CHARACTERS = 64;

/** Returns the words of a text, each once, in one case. Quotes, blanks, control characters and symbols are in none. */
export function wordsIn(text: string): readonly string[] {
  const words = new Set<string>();
  segmenter ??= new Intl.Segmenter("und", { granularity: "word" });
  for (const { segment, isWordLike } of segmenter.segment(folded(text)))
    if (isWordLike) words.add(segment.slice(0, MOST_CHARACTERS).toWellFormed());
  return [...words];
}

/** Returns the words of a thread's title and of the values of its labels. */
export function wordsOf({ title, labels }: Named): readonly string[] {
  // A line break keeps the last word of one text from joining the first of the next.
  return wordsIn([title ?? "", ...Object.values(labels)].join("\n"));
}

/** Upper case first: `ß` and `SS` are one, and so are the two small sigmas. */
function folded(text: string): string {
  return text.toWellFormed().normalize("NFKC").toUpperCase().toLowerCase().replaceAll("ς", "σ");
}

/** Whether each beginning is that of a word. */
export function haveWords(words: readonly string[], beginnings: readonly string[]): boolean {
  return beginnings.every((beginning) => words.some((word) => word.startsWith(beginning)));
}

/** Letters and digits of which none is ever parted from the next one. */
const PLAIN = /^[a-z0-9]+$/;

/**
 * Returns those of the beginnings that the names may or may not have as words; undefined if they surely lack one. A quick look at
 * a thread that an index has found: to make its words again would take longer than to find it.
 */
export function doubtfulWords({ title, labels }: Named, beginnings: readonly string[]): readonly string[] | undefined {
  const text = folded([title ?? "", ...Object.values(labels)].join("\n"));
  if (!beginnings.every((beginning) => text.includes(beginning))) return undefined;
  // A word begins after a blank.
  const begins = (word: string) => text.startsWith(word) || text.includes(` ${word}`) || text.includes(`\n${word}`);
  return beginnings.filter((beginning) => !PLAIN.test(beginning) || !begins(beginning));
}

/** Returns the first text, in the order of its UTF-8 bytes, that does not begin with `beginning` and follows all that do. */
export function beyond(beginning: string): string {
  return `${beginning}\u{10ffff}`;
}
