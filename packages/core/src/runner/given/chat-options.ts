// The options of send(), the chat box.

import { type Checks, names, oneOf } from "./check.ts";
import { SEND, type SendOptions, type WhereOptions, where } from "./options.ts";

/** The options of `send()`. */
export interface ChatOptions extends SendOptions, WhereOptions {
  /** How the input enters while a run is under way: `"steer"` by default. */
  readonly whenRunning?: "steer" | "enqueue" | "interrupt" | undefined;
  /** The effect on open requests; by default each request's own `onNewInput`. */
  readonly whenAsked?: "withdraw" | "keep" | "answer" | undefined;
  /** Groups of the person beside those that the runner's `groups` names: for an input that answers. */
  readonly groups?: readonly string[] | undefined;
}

export const CHAT: Checks<ChatOptions> = {
  ...SEND,
  start: where,
  whenRunning: oneOf("steer", "enqueue", "interrupt"),
  whenAsked: oneOf("withdraw", "keep", "answer"),
  groups: names,
};
