// The present work of the model, from the drafts of the thread: waiting for another try or a summary, reasoning, writing the
// arguments of a call.

import type { DraftAnswer, DraftView } from "@belay/client";
import { ownAnswer } from "./from-thread.ts";
import type { View } from "./view.ts";

export interface ModelWork {
  readonly wait?: Pick<NonNullable<DraftView["wait"]>, "reason" | "retry">;
  /** The call that is being written: the beginning of its arguments, and how long they are so far. */
  readonly writing?: { readonly tool: string; readonly head: string; readonly bytes: number };
}

/** Enough of the arguments to find a path in them. */
const MOST_HEAD = 2_000;
/** Of longer reasoning, the beginning is kept in the transcript. */
const MOST_REASONING = 100_000;

export function modelWork({ thread }: View): ModelWork {
  const { wait } = thread.draft;
  const input = ownAnswer(thread)?.inputs.at(-1);
  return {
    ...(wait !== undefined && !wait.runPath.includes("/") && { wait }),
    ...(input !== undefined && {
      writing: { tool: input.tool, head: input.text.slice(0, MOST_HEAD), bytes: Buffer.byteLength(input.text) },
    }),
  };
}

/** Returns the reasoning of an answer that is not in the transcript yet. */
export function newReasoning({ thought }: View, answer: DraftAnswer | undefined): string {
  if (answer === undefined) return "";
  const shown = thought?.messageId === answer.messageId ? thought.length : 0;
  // Most pieces of an answer are words after its reasoning: a slice of a long text would copy it each time.
  return answer.reasoning.length === shown ? "" : answer.reasoning.slice(shown, shown + MOST_REASONING);
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
