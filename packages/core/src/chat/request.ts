// The request of the next turn: the history as it is, and, to continue in the middle of an answer, that answer
// without its mark and a note that the history never has (R2).

import { belayError, errorText } from "../error.ts";
import { historyProblems } from "../history-problems.ts";
import { CONTINUE_NOTE, sendable } from "../journal/render.ts";
import type { Scope } from "../journal/state.ts";
import type { Message } from "../message.ts";
import { messageText } from "../message.ts";
import type { ChatDefinition } from "./definition.ts";
import { instructionsIn } from "./instructions.ts";

export const continueNote: Message = {
  id: "continue",
  role: "user",
  parts: [{ type: "text", text: CONTINUE_NOTE }],
  at: 0,
  origin: "runtime",
};

export function promptFor(
  scope: Scope,
  agent: Pick<ChatDefinition, "name" | "model" | "instructions" | "instruct" | "context">,
): Message[] {
  const { model, context } = agent;
  const instructions = instructionsIn(scope, agent);
  const history = context === undefined ? scope.prompt : chosen(agent.name, scope.prompt, context);
  const messages = instructions === undefined ? history.slice() : [instructions, ...history];
  if (scope.last !== "cut") return messages;
  const last = scope.messages.at(-1)!;
  const cut = messages.at(-1)?.id === last.id ? sendable(last, false) : undefined;
  if (cut !== undefined) messages[messages.length - 1] = cut;
  // A prefix that ends in blanks is refused by providers that know prefixes at all.
  const prefix = model.prefill === true && cut !== undefined && !/\s$/.test(messageText(cut));
  if (!prefix) messages.push(continueNote);
  return messages;
}

/** Returns the history as the agent's own `context` makes it; every provider must still take it (H4). */
function chosen(agent: string, prompt: readonly Message[], context: NonNullable<ChatDefinition["context"]>): Message[] {
  let messages: readonly Message[];
  try {
    messages = context(prompt.slice());
  } catch (error) {
    throw belayError("CONTEXT_INVALID", { agent, problem: `it threw: ${errorText(error)}` }, error);
  }
  if (!Array.isArray(messages)) {
    const what = (messages as unknown) instanceof Promise ? "a promise" : String(messages);
    throw belayError("CONTEXT_INVALID", { agent, problem: `it gave ${what}, not a list of messages` });
  }
  const problems = historyProblems(messages);
  if (messages.length === 0) problems.push("nothing is left of it");
  if (problems.length > 0) throw belayError("CONTEXT_INVALID", { agent, problem: problems.join("; ") });
  return messages.slice();
}
