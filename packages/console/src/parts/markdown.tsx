// What people and models say. Plain until the parser is loaded, and while the text streams: only a finished message is
// parsed, and a text too long to parse stays plain.

import { memo, useEffect, useState } from "react";
import { SeenText } from "./seen-text.tsx";

const MOST = 100_000;
const MARKS = /[*_`#>[\]|~<\\]|^\s*(?:[-+]|\d+\.)\s|https?:|\n\n/m;

let render: ((text: string) => string) | undefined;
const loading = () => import("./render-markdown.ts").then((module) => (render = module.renderMarkdown));

export const Markdown = memo(function Markdown({ text, children }: { text: string; children?: React.ReactNode }) {
  const isPlain = text.length > MOST || !MARKS.test(text);
  const [ready, setReady] = useState(render !== undefined);
  useEffect(() => {
    if (!isPlain && !ready) void loading().then(() => setReady(true));
  }, [isPlain, ready]);
  if (isPlain || !ready) return <PlainText text={text}>{children}</PlainText>;
  return (
    <div className="md">
      {/* biome-ignore lint/security/noDangerouslySetInnerHtml: sanitised by DOMPurify in render-markdown.ts */}
      <div className="contents" dangerouslySetInnerHTML={{ __html: render!(text) }} />
      {children}
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
