// The commands sent to a thread, by this process or an earlier one, that are not part of it yet: as the screen shows them.

import { messageText, type Waiting } from "@belay/core";
import type { Happening } from "../view/view.ts";

/** `running` are the calls that were left behind and have not ended. */
export function waitingMail(
  waiting: readonly Waiting[],
  running: readonly string[],
): Extract<Happening, { type: "waiting" }> {
  const mail = waiting.flatMap((each) => {
    if (each.kind === "late" || each.kind === "observe") return [];
    const text = each.messages.map(messageText).join("\n");
    return [{ id: each.id, kind: each.kind === "input" ? ("queue" as const) : each.kind, text }];
  });
  return { type: "waiting", mail, late: waiting.flatMap((each) => (each.kind === "late" ? [each] : [])), running };
}
