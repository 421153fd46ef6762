// What a request asks, in the person's language. What our own tools ask is on record in English, since others read it too;
// everything else is somebody's words, and stays as it is.

import type { Texts } from "./texts/texts.ts";

export interface Asked {
  readonly kind: string;
  readonly tool?: string;
  readonly reason?: string;
}

export function requestWords({ kind, tool = "", reason }: Asked, { dialog }: Texts): string {
  if (kind === "unknown") return dialog.unknownOutcome(tool);
  if (reason === undefined) return kind === "approval" ? dialog.approve(tool) : dialog.question;
  if (kind !== "approval") return reason;
  const ways: Readonly<Record<string, readonly [RegExp, (what: string) => string][]>> = {
    write: [
      [/^(?:Create|Make) (.*)\?$/s, dialog.make],
      [/^Replace (.*)\?$/s, dialog.replace],
    ],
    edit: [[/^Edit (.*)\?$/s, dialog.change]],
    fetch: [[/^Fetch (.*)\?$/s, dialog.fetch]],
    shell: [[/^Run this command\?$/, () => dialog.run]],
  };
  for (const [pattern, say] of (Object.hasOwn(ways, tool) ? ways[tool] : undefined) ?? []) {
    const found = pattern.exec(reason);
    if (found !== null) return say(found[1] ?? "");
  }
  return reason;
}
