// The options of send(), the chat box.

import { type KnownOptions, refuseUnknown } from "../../refuse-unknown.ts";
import { oneOf } from "./check.ts";
import { COMMAND, checkCaller } from "./command-options.ts";
import { checkGroups, checkSend, type SendOptions, type WhereOptions } from "./options.ts";

/** The options of `send()`. */
export interface ChatOptions extends SendOptions, WhereOptions {
  /** How the input enters while a run is under way: `"steer"` by default. */
  readonly whenRunning?: "steer" | "enqueue" | "interrupt" | undefined;
  /** The effect on open requests; by default each request's own `onNewInput`. */
  readonly whenAsked?: "withdraw" | "keep" | "answer" | undefined;
  /** Groups of the person beside those that the runner's `groups` names: for an input that answers. */
  readonly groups?: readonly string[] | undefined;
}

const CHAT: KnownOptions<ChatOptions> = { ...COMMAND, start: true, whenRunning: true, whenAsked: true, groups: true };

/** Checks the options of send(); `more` are those of runner.send() alone. */
export function checkChat(options: ChatOptions, more: Readonly<Record<string, true>> = {}): void {
  refuseUnknown("send()", options, { ...CHAT, ...more });
  checkCaller(options);
  oneOf("start", options.start, ["here", "worker"]);
  oneOf("whenRunning", options.whenRunning, ["steer", "enqueue", "interrupt"]);
  oneOf("whenAsked", options.whenAsked, ["withdraw", "keep", "answer"]);
  checkGroups(options.groups);
  if (options.id !== undefined) checkSend({ id: options.id }, "send()");
}
