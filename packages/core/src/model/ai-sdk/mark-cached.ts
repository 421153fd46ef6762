// Marks for providers that cache only marked beginnings of a request: the end of the instructions, which tools stand before,
// and the end of the history, which the next request begins with.

import type { Json } from "../../json.ts";
import type { PromptMessage, PromptPart } from "./shape.ts";

const mark = { anthropic: { cacheControl: { type: "ephemeral" } } };

/** The prompt with marks. The messages that were given stay as they are: a later prompt holds them, too. */
export function markCached(prompt: readonly PromptMessage[]): PromptMessage[] {
  const marked = prompt.slice();
  const system = marked.findLastIndex(({ role }) => role === "system");
  for (const at of new Set([system, marked.length - 1])) {
    const message = marked[at];
    if (message !== undefined) marked[at] = withMark(message);
  }
  return marked;
}

function withMark(message: PromptMessage): PromptMessage {
  if (message.role === "system") return { ...message, providerOptions: merged(message.providerOptions) };
  const last = message.content.at(-1);
  // A part in the provider's own words goes back as it came.
  if (last === undefined || !("providerOptions" in last)) return message;
  const part = { ...last, providerOptions: merged(last.providerOptions) } as PromptPart;
  return { ...message, content: [...message.content.slice(0, -1), part] };
}

function merged(options: Json | undefined): Json {
  const given = (options ?? {}) as { readonly anthropic?: object };
  return { ...given, anthropic: { ...given.anthropic, ...mark.anthropic } } as Json;
}
