// The title and the labels of a thread.

import type { LabelEvent } from "../event.ts";
import { type Message, messageText } from "../message.ts";
import type { ThreadState } from "./state.ts";

/** The most characters of an input that become a title. */
const TITLE = 80;

type Labels = Readonly<Record<string, string>>;

/** Returns the title that an input makes: its first characters. Blank text makes none. */
export function titleOf(message: Pick<Message, "parts">): string | undefined {
  const text = messageText(message);
  if (text.trim() === "") return undefined;
  if (text.length <= TITLE) return text;
  // Twice as many code units hold that many characters: a long input is not taken apart.
  return [...text.slice(0, 2 * TITLE)].slice(0, TITLE).join("");
}

/** Returns the labels after a change; `null` removes one. */
export function mergeLabels(before: Labels | undefined, change: NonNullable<LabelEvent["labels"]>): Labels {
  const labels: Record<string, string> = Object.assign(Object.create(null), before);
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete labels[key];
    else labels[key] = value;
  }
  // As an own property each, also `__proto__`.
  return Object.fromEntries(Object.entries(labels));
}

/** Returns the title and labels that lists show. Without `titles` an input makes no title. */
export function namedAs(
  { title, labels = {}, beginning }: Pick<ThreadState, "title" | "labels" | "beginning">,
  titles: boolean,
): { readonly title?: string; readonly labels: Labels } {
  const shown = title === undefined && titles ? beginning : title;
  return shown == null ? { labels } : { title: shown, labels };
}
