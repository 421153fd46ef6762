// The receipt of a stop in one line: stopped, finished, not started and late calls.

import type { Message, Receipt } from "@belay/core";
import { sanitizeLine } from "../terminal/sanitize.ts";
import type { Texts } from "../texts/texts.ts";

/** Calls are named by their tools. */
export function receiptLine(
  receipt: Receipt,
  { messages }: { readonly messages: readonly Message[] },
  { stop }: Texts,
): string {
  const tools = new Map<string, string>();
  for (const { parts } of messages) {
    for (const part of parts) if (part.type === "call") tools.set(part.id, part.tool);
  }
  const named = (ids: readonly string[]) => ids.map((id) => sanitizeLine(tools.get(id) ?? id, 64)).join(", ");
  const { stopped, finished, notStarted, late } = receipt;
  return [
    stop.interrupted,
    ...(stopped.length > 0 ? [stop.stopped(named(stopped))] : []),
    ...(finished.length > 0 ? [stop.finished(named(finished))] : []),
    ...(notStarted.length > 0 ? [stop.notStarted(named(notStarted))] : []),
    ...(late.length > 0 ? [stop.late(named(late))] : []),
  ].join(" ");
}
