// The words of a request in the person's language. Requests of our own tools are on record in English, since others read them
// too; all other words are untrusted, and stay as they are.

import type { Texts } from "./texts/texts.ts";

export interface Asked {
  readonly kind: string;
  readonly tool?: string;
  readonly reason?: string;
}

type Way = readonly [RegExp, (what: string, leadsTo: string, why: string) => string];

export function requestWords({ kind, tool = "", reason }: Asked, { dialog }: Texts): string {
  if (kind === "unknown") return dialog.unknownOutcome(tool);
  if (reason === undefined) return kind === "approval" ? dialog.approve(tool) : dialog.question;
  if (kind !== "approval") return reason;
  const changed: Way = [/^(.*) has changed since you saw it\. Change it like this\?$/s, dialog.changed];
  const look: Way = [/^(?:Read|List|Search) (.*)\?(?: It leads to (.*)\.)?(?: \((.*)\))?$/s, dialog.look];
  const ways: Readonly<Record<string, readonly Way[]>> = {
    read: [look],
    list: [look],
    search: [look],
    write: [[/^(?:Create|Make) (.*)\?$/s, dialog.make], [/^Replace (.*)\?$/s, dialog.replace], changed],
    edit: [[/^Edit (.*)\?$/s, dialog.change], changed],
    fetch: [[/^Fetch (.*)\?$/s, dialog.fetch]],
    shell: [[/^Run this command\?$/, () => dialog.run]],
  };
  for (const [pattern, say] of (Object.hasOwn(ways, tool) ? ways[tool] : undefined) ?? []) {
    const found = pattern.exec(reason);
    if (found !== null) return say(found[1] ?? "", found[2] ?? "", found[3] ?? "");
  }
  return reason;
}
