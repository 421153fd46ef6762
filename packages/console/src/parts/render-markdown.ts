// Markdown from models, tools and people: marked, then DOMPurify. Nothing of it may load, run, style or leave the page.

import DOMPurify from "dompurify";
import { Marked } from "marked";

const marked = new Marked({ gfm: true, breaks: true });

const purify = DOMPurify(window);

purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  const href = node.getAttribute("href") ?? "";
  if (!/^(?:https?:|mailto:)/i.test(href)) return node.removeAttribute("href");
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer nofollow");
  // The words of a link may name another place than it leads to.
  const host = /^mailto:/i.test(href) ? href.slice(7) : new URL(href).host;
  if (!node.textContent?.includes(host)) node.append(` (${host})`);
});

const allowed = {
  ALLOWED_TAGS:
    "p br hr h1 h2 h3 h4 h5 h6 ul ol li strong em del code pre blockquote a table thead tbody tr th td s sup sub".split(
      " ",
    ),
  ALLOWED_ATTR: ["href", "start"],
  ALLOW_DATA_ATTR: false,
};

/** Returns HTML that is safe to insert. */
export function renderMarkdown(text: string): string {
  return purify.sanitize(marked.parse(text, { async: false }), allowed);
}
