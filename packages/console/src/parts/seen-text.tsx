// Text from models, tools and names, for reading the work of a machine: characters that cannot be seen, or that turn the
// order of others, stand there as their code. Very long text is cut until a person asks for all of it.

import { Fragment, useState } from "react";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";

/** Control and format characters but line breaks and tabs, and letters without a shape. */
const UNSEEN = /(?![\n\t])(?:[\p{Cc}\p{Cf}\u115f\u1160\u17b4\u17b5]|\u034f)/gu;
const MOST = 4_000;

export function hasUnseen(text: string): boolean {
  return text.search(UNSEEN) !== -1;
}

export function SeenText({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  const t = useTexts();
  const times = useTimes();
  const cut = !all && text.length > MOST;
  return (
    <>
      <bdi>{marked(cut ? text.slice(0, MOST) : text)}</bdi>
      {cut && (
        <>
          {" … "}
          <button type="button" className="link faint" onClick={() => setAll(true)}>
            {t.all.showAll(times.number(text.length))}
          </button>
        </>
      )}
    </>
  );
}

/** The same as plain text, and not long: for places that take no elements. */
export function seenText(text: string): string {
  return text.slice(0, 200).replace(UNSEEN, codeOf);
}

function marked(text: string) {
  if (!hasUnseen(text)) return text;
  const parts: (string | { readonly code: string })[] = [];
  let from = 0;
  for (const found of text.matchAll(UNSEEN)) {
    parts.push(text.slice(from, found.index), { code: codeOf(found[0]) });
    from = found.index + found[0].length;
  }
  parts.push(text.slice(from));
  return parts.map((part, at) =>
    typeof part === "string" ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never move.
      <Fragment key={at}>{part}</Fragment>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never move.
      <span className="unseen" key={at}>
        {part.code}
      </span>
    ),
  );
}

function codeOf(char: string): string {
  return `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}
