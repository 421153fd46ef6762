// A turn that says a text, and, asked to continue a cut answer, only the rest of it: so that an answer that was
// interrupted ends as it would have without.

import { CONTINUE_NOTE } from "../journal/render.ts";
import { messageText } from "../message.ts";
import type { ModelRequest } from "../model/model.ts";
import type { ScriptedPart } from "./scripted-model.ts";

/** Streams `text` word by word, or the missing rest of it. */
export function speak(text: string): (request: ModelRequest) => readonly ScriptedPart[] {
  return ({ messages }) => {
    const last = messages.at(-1);
    const asked = last !== undefined && messageText(last) === CONTINUE_NOTE;
    const cut = asked ? messages.at(-2) : last;
    const said = cut?.role === "assistant" ? messageText(cut) : "";
    const rest = text.startsWith(said) ? text.slice(said.length) : text;
    return [{ text: rest.match(/\S+\s*|\s+/g) ?? [] }];
  };
}
