// The points that a person may go back to: before each of their messages; and the effects since, which a rewind does not undo.

import { type Message, messageText, type Runner, type Session } from "@belay/core";
import { callLabel } from "../view/call-label.ts";
import type { RewindItem } from "../view/view.ts";

/** They look, and change nothing. */
const LOOKING = ["read", "list", "search", "fetch", "ask_user"];

/** Returns the points of the whole thread, also those of another terminal: opening the thread reads new facts. */
export async function listRewind(runner: Pick<Runner, "open">, session: Session): Promise<readonly RewindItem[]> {
  const fresh = await runner.open(session.threadId).catch(() => session);
  return rewindItems(fresh.messages);
}

function rewindItems(messages: readonly Message[]): readonly RewindItem[] {
  const items: { messageId: string; text: string; calls: string[] }[] = [];
  const labels = new Map<string, string>();
  for (const message of messages) {
    const text = messageText(message);
    if (message.role === "user" && message.origin === "person" && text.trim() !== "") {
      items.push({ messageId: message.id, text, calls: [] });
    }
    for (const part of message.parts) {
      if (part.type === "call" && !LOOKING.includes(part.tool)) {
        labels.set(part.id, callLabel(part.tool, part.ranArgs ?? part.args));
      }
      if (part.type !== "result" || part.outcome === "rejected" || part.outcome === "not-executed") continue;
      const label = labels.get(part.id);
      if (label !== undefined) for (const item of items) item.calls.push(label);
    }
  }
  return items;
}

export function effectLabels({ calls }: Pick<RewindItem, "calls">): string {
  return calls.map((call) => `· ${call}`).join("\n");
}
