// The values that a custom agent yields to speak or to ask. Other yielded values are custom actions.

import { belayError, shown } from "../error.ts";
import { type Request, readRequest } from "../interrupt/request.ts";
import { type AskOptions, readAskOptions } from "../steps/steps.ts";

export class Say {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** `T` is the type of its answer. */
export class Ask<T = unknown> {
  readonly request: Request<T>;
  readonly options: AskOptions;

  constructor(request: Request<T>, options: AskOptions) {
    this.request = request;
    this.options = options;
  }
}

/**
 * Makes a custom agent speak: `yield say("Looking…")` streams the text as a `text-delta` and records it as a message of the
 * agent. Blank text says nothing.
 */
export function say(text: string): Say {
  if (typeof text === "string") return new Say(text);
  throw belayError("OPTION_INVALID", { option: "say()", value: shown(text), needed: "a text" });
}

/** Makes a custom agent ask: `const answer = yield ask(humanInput("Which?"))` is `await ctx.ask(…)`. */
export function ask<T>(request: Request<T>, options: AskOptions = {}): Ask<T> {
  readRequest(request);
  readAskOptions(options, "ask()");
  return new Ask(request, options);
}
