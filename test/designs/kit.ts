// Shared by the tests of the four designs.

import { type BelayEvent, jsonSchema, type Message, messageText, type Run, type ToolContext, tool } from "@belay/core";

/** A tool that takes anything. */
export function toolOf(name: string, execute: (args: Record<string, unknown>, ctx: ToolContext) => unknown, more = {}) {
  const input = jsonSchema<Record<string, unknown>>({ type: "object" });
  return tool({ name, description: name, input, execute, ...more });
}

/** The history as the designs write it: a role and its content, calls and results by name. */
export function history(messages: readonly Message[]): string[] {
  return messages.flatMap(({ role, parts }) => {
    const text = messageText({ parts });
    const calls = parts.flatMap((part) => (part.type === "call" ? [`${role} calls ${part.tool}`] : []));
    const results = parts.flatMap((part) => (part.type === "result" ? [`tool: ${part.outcome}`] : []));
    return [...(text === "" ? [] : [`${role}: ${text}`]), ...calls, ...results];
  });
}

/** Resolves at the first event that fits. */
export async function until(run: Run<unknown>, fits: (event: BelayEvent) => boolean): Promise<BelayEvent> {
  for await (const event of run) if (fits(event)) return event;
  throw new Error("the run ended before that");
}

export const isText = (event: BelayEvent) => event.type === "text-delta";
