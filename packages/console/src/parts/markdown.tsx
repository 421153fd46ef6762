// Text of people and models, as Markdown. Plain until the parser is loaded; a text too long to parse stays plain.

import { memo, useEffect, useState } from "react";
import { SeenText } from "./seen-text.tsx";

const MOST = 100_000;
/** Parsed again with each piece that arrives. */
const MOST_LIVE = 20_000;
const MARKS = /[*_`#>[\]|~<\\]|^\s*(?:[-+]|\d+\.)\s|https?:|\n\n/m;

let render: ((text: string) => string) | undefined;
const loading = () => import("./render-markdown.ts").then((module) => (render = module.renderMarkdown));

interface MarkdownProps {
  readonly text: string;
  /** The answer still streams, or a stop cut it: a mark follows its last word. */
  readonly end?: "live" | "cut" | undefined;
}

export const Markdown = memo(function Markdown({ text, end }: MarkdownProps) {
  const isPlain = text.length > (end === "live" ? MOST_LIVE : MOST) || !MARKS.test(text);
  const [ready, setReady] = useState(render !== undefined);
  useEffect(() => {
    if (!isPlain && !ready) void loading().then(() => setReady(true));
  }, [isPlain, ready]);
  if (isPlain || !ready) {
    return <PlainText text={text}>{end && <span className={end === "live" ? "caret" : "caret-cut"} />}</PlainText>;
  }
  return (
    <div className={`md ${end ? `md-${end}` : ""}`}>
      {/* biome-ignore lint/security/noDangerouslySetInnerHtml: sanitised by DOMPurify in render-markdown.ts */}
      <div className="contents" dangerouslySetInnerHTML={{ __html: render!(text) }} />
    </div>
  );
});

/** Text as it is, with its line breaks; `children` follow its last word. */
export function PlainText({ text, children }: { text: string; children?: React.ReactNode }) {
  return (
    <div className="md plain">
      <SeenText text={text} />
      {children}
    </div>
  );
}
