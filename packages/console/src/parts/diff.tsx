// A diff in ink: removed lines are grey, added lines have an edge; red stays free for danger.

import { diffLines, diffWords } from "diff";
import { useMemo } from "react";
import { useTexts } from "../texts/texts.ts";
import { SeenText } from "./seen-text.tsx";

const CONTEXT = 3;
const MOST_LINES = 600;

interface Line {
  readonly kind: "same" | "del" | "add" | "skip";
  readonly number: number | undefined;
  readonly words: readonly { readonly text: string; readonly changed: boolean }[];
}

export function Diff({ name, before, after }: { name?: string; before: string; after: string }) {
  const t = useTexts();
  const { lines, changes } = useMemo(() => linesOf(before, after), [before, after]);
  return <DiffLines name={name} lines={lines} note={t.card.changes(changes)} />;
}

/** A diff that came as text in the unified format. */
export function UnifiedDiff({ name, text }: { name?: string | undefined; text: string }) {
  const t = useTexts();
  const { lines, changes } = useMemo(() => unified(text), [text]);
  return <DiffLines name={name} lines={lines} note={t.card.changes(changes)} />;
}

function DiffLines({ name, lines, note }: { name: string | undefined; lines: readonly Line[]; note: string }) {
  return (
    <div className="diff" tabIndex={0}>
      <div className="diff-head">
        <span className="cut">{name !== undefined && <SeenText text={name} />}</span>
        <span className="faint ml-auto whitespace-nowrap">{note}</span>
      </div>
      {lines.slice(0, MOST_LINES).map(({ kind, number, words }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one diff never move.
        <div className={`diff-line ${kind}`} key={at}>
          <span className="n">{number ?? "⋯"}</span>
          <span aria-hidden={kind === "same"}>{kind === "del" ? "−" : kind === "add" ? "+" : ""}</span>
          <span>
            {words.map(({ text, changed }, word) =>
              changed ? (
                // biome-ignore lint/suspicious/noArrayIndexKey: the words of one line never move.
                <b key={word}>
                  <SeenText text={text} />
                </b>
              ) : (
                // biome-ignore lint/suspicious/noArrayIndexKey: the words of one line never move.
                <SeenText key={word} text={text} />
              ),
            )}
          </span>
        </div>
      ))}
    </div>
  );
}

const split = (text: string) => text.replace(/\n$/, "").split("\n");
const plain = (text: string) => [{ text, changed: false }];

function linesOf(before: string, after: string): { lines: readonly Line[]; changes: number } {
  const parts = diffLines(before, after);
  const lines: Line[] = [];
  let changes = 0;
  let [a, b] = [1, 1];
  for (const [at, part] of parts.entries()) {
    const own = split(part.value);
    const next = parts[at + 1];
    if (part.removed === true) {
      const added = next?.added === true ? split(next.value) : [];
      const removes = own.map(
        (text, i): Line => ({ kind: "del", number: a++, words: words(text, added[i], "removed") }),
      );
      const adds = added.map((text, i): Line => ({ kind: "add", number: b++, words: words(text, own[i], "added") }));
      // As many lines as before: each is read beside the one that it replaces.
      const pairs = removes.length === adds.length;
      changes += pairs ? removes.length : 1;
      lines.push(...(pairs ? removes.flatMap((line, i) => [line, adds[i]!]) : [...removes, ...adds]));
    } else if (part.added === true) {
      if (parts[at - 1]?.removed === true) continue;
      changes += 1;
      for (const text of own) lines.push({ kind: "add", number: b++, words: plain(text) });
    } else {
      const [head, tail] = [at === 0 ? 0 : CONTEXT, next === undefined ? 0 : CONTEXT];
      const skipped = own.length > head + tail;
      for (const [i, text] of own.entries()) {
        if (!skipped || i < head || i >= own.length - tail) lines.push({ kind: "same", number: b, words: plain(text) });
        else if (i === head && lines.length > 0) lines.push({ kind: "skip", number: undefined, words: [] });
        a += 1;
        b += 1;
      }
    }
  }
  return { lines, changes };
}

function words(text: string, other: string | undefined, side: "removed" | "added"): Line["words"] {
  if (other === undefined || text.length > 2_000 || other.length > 2_000) return plain(text);
  const [was, now] = side === "removed" ? [text, other] : [other, text];
  return diffWords(was, now)
    .filter((part) => (side === "removed" ? !part.added : !part.removed))
    .map((part) => ({ text: part.value, changed: part[side] === true }));
}

function unified(text: string): { lines: readonly Line[]; changes: number } {
  const lines: Line[] = [];
  let [a, b, changes] = [1, 1, 0];
  for (const line of split(text)) {
    if (/^(?:diff |index |--- |\+\+\+ )/.test(line)) continue;
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (hunk !== null) {
      [a, b] = [Number(hunk[1]), Number(hunk[2])];
      if (lines.length > 0) lines.push({ kind: "skip", number: undefined, words: [] });
    } else if (line.startsWith("-")) {
      if (lines.at(-1)?.kind !== "del") changes += 1;
      lines.push({ kind: "del", number: a++, words: plain(line.slice(1)) });
    } else if (line.startsWith("+")) {
      const last = lines.at(-1)?.kind;
      if (last !== "del" && last !== "add") changes += 1;
      lines.push({ kind: "add", number: b++, words: plain(line.slice(1)) });
    } else {
      lines.push({ kind: "same", number: b, words: plain(line.slice(1)) });
      a += 1;
      b += 1;
    }
  }
  return { lines, changes };
}
