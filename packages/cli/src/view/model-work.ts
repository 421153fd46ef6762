// The present work of the model, from its drafts: waiting for another try or a summary, reasoning, writing the arguments
// of a call.

import type { BelayEvent } from "@belay/core";

type EventOf<T extends BelayEvent["type"]> = Extract<BelayEvent, { type: T }>;

export interface ModelWork {
  /** The time of the last event of the model, or of the last request to it. */
  readonly heardAt: number;
  readonly wait?: Pick<EventOf<"model-wait">, "reason" | "retry">;
  /** The call that is being written: the beginning of its arguments, and how long they are so far. */
  readonly writing?: { readonly tool: string; readonly head: string; readonly bytes: number };
  readonly reasoning?: { readonly text: string; readonly startedAt: number };
}

/** Enough of the arguments to find a path in them. */
const MOST_HEAD = 2_000;
/** Reasoning beyond this is shown by its end while it streams, and by its beginning afterwards. */
const MOST_REASONING = 100_000;

export const noWork: ModelWork = { heardAt: 0 };

/** The work after an event of the agent itself; reasoning stays until it is taken. */
export function workAfter(work: ModelWork, event: BelayEvent): ModelWork {
  const { at } = event;
  const { reasoning } = work;
  const kept = { heardAt: at, ...(reasoning && { reasoning }) };
  switch (event.type) {
    case "turn-start":
    case "superseded":
      return { heardAt: at };
    case "model-wait":
      return { ...kept, wait: event };
    case "reasoning-delta": {
      const { text = "", startedAt = at } = reasoning ?? {};
      const room = Math.max(0, MOST_REASONING - text.length);
      return { heardAt: at, reasoning: { text: text + event.text.slice(0, room), startedAt } };
    }
    case "text-delta":
    case "message":
    case "tool-start":
    case "run-end":
      return kept;
    case "tool-input-delta": {
      // An empty piece begins another call.
      const before = event.text === "" ? undefined : work.writing;
      const head = ((before?.head ?? "") + event.text).slice(0, MOST_HEAD);
      const bytes = (before?.bytes ?? 0) + Buffer.byteLength(event.text);
      return { ...kept, writing: { tool: event.tool, head, bytes } };
    }
    case "state":
      return event.state === "running" ? kept : { heardAt: at };
    default:
      return work;
  }
}

/** The path that arguments begin with, or the tool's name. */
export function writtenWhat({ tool, head }: NonNullable<ModelWork["writing"]>): string {
  const found = /"path"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(head)?.[1];
  if (found === undefined) return tool;
  try {
    return String(JSON.parse(found));
  } catch {
    return tool;
  }
}
