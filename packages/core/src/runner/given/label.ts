import { belayError, shown } from "../../error.ts";
import type { LabelEvent } from "../../event.ts";
import { anything, type Checks, checkOptions } from "./check.ts";

/** A new title and new labels for a thread. Labels that are not named stay as they are; `null` removes one. */
export interface LabelChange {
  /** 1–256 characters. `null` removes the title. */
  readonly title?: string | null | undefined;
  /** A thread has at most 16. A key has 1–64 characters, a value 1–256; `null` removes the label. */
  readonly labels?: Readonly<Record<string, string | null>> | undefined;
}

/** A label change that was checked. */
export type Labelling = Pick<LabelEvent, "title" | "labels">;

const CHANGE: Checks<LabelChange> = { title: anything, labels: anything };

const KEY = 64;
const TEXT = 256;
/** Few changes name more labels than a thread may have; each one beyond that can only remove one. */
const MOST_NAMED = 64;

/** Returns the change. Throws `LABELS_INVALID`, and nothing is changed. */
export function readLabelChange(threadId: string, change: LabelChange): Labelling {
  const refuse = (problem: string) => belayError("LABELS_INVALID", { threadId, problem });
  checkOptions("label()", change, CHANGE);
  const { title, labels } = change;
  if (title === undefined && labels === undefined) throw refuse("neither a title nor labels are given");
  if (title !== undefined && title !== null) refuseText(refuse, "its title", title, TEXT);
  if (labels === undefined) return { title: title! };
  if (typeof labels !== "object" || labels === null || Array.isArray(labels))
    throw refuse(`labels is ${shown(labels)}, not texts by key`);
  const entries = Object.entries(labels).filter(([, value]) => value !== undefined);
  if (entries.length > MOST_NAMED) throw refuse(`${entries.length} labels are given at once`);
  for (const [key, value] of entries) {
    refuseText(refuse, "the key of a label", key, KEY);
    if (value !== null) refuseText(refuse, `label ${shown(key)}`, value, TEXT);
  }
  return { ...(title !== undefined && { title }), labels: Object.fromEntries(entries) };
}

function refuseText(refuse: (problem: string) => Error, what: string, text: unknown, most: number): void {
  if (typeof text !== "string") throw refuse(`${what} is ${shown(text)}, not text`);
  const length = text.length > 2 * most ? text.length : [...text].length;
  if (length === 0 || length > most) throw refuse(`${what} has ${length} characters, not 1–${most}`);
}
