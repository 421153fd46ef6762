// What is sent for the next turn: the history as it is, and, to go on in the middle of an answer, that answer
// without its mark and a note that the history never sees (R2).

import { CONTINUE_NOTE, sendable } from "../journal/render.ts";
import type { Scope } from "../journal/state.ts";
import type { Message } from "../message.ts";
import { messageText } from "../message.ts";
import type { Model } from "../model/model.ts";

const note: Message = {
  id: "continue",
  role: "user",
  parts: [{ type: "text", text: CONTINUE_NOTE }],
  at: 0,
  origin: "runtime",
};

export function promptFor(scope: Scope, model: Model, instructions: Message | undefined): Message[] {
  const messages = instructions === undefined ? scope.prompt.slice() : [instructions, ...scope.prompt];
  if (scope.last !== "cut") return messages;
  const cut = sendable(scope.messages.at(-1)!, false);
  messages.pop();
  if (cut !== undefined) messages.push(cut);
  // A prefix that ends in blanks is refused by providers that know prefixes at all.
  const prefix = model.prefill === true && cut !== undefined && !/\s$/.test(messageText(cut));
  if (!prefix) messages.push(note);
  return messages;
}
