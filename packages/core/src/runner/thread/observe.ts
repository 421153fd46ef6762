// session.observe(): a message that an agent is to know, and not to answer. It is a row like a steer, so that it is never lost.
// If nothing runs and no request is open, it enters the history at once.

import type { Definition } from "../../agent.ts";
import { type BelayError, belayError } from "../../error.ts";
import { type HookHost, lookOn, runBefore, spoken } from "../../hooks/call-hooks.ts";
import { hooksNamed, type Spoken } from "../../hooks/hooks.ts";
import { StopSignal } from "../../interrupt/stop-signal.ts";
import type { Message } from "../../message.ts";
import { inputCommand } from "../decide/command.ts";
import type { IdleFacts } from "../decide/idle.ts";
import { type InputMail, inputFactsOf, type Known, steersFor } from "../decide/mail.ts";
import { checkOptions } from "../given/check.ts";
import { SEND, type SendOptions } from "../given/options.ts";
import type { LiveThread } from "./live-thread.ts";
import { sendInput } from "./send.ts";

/** Sends a message to observe. Resolves to its id when the store has it; to undefined if a hook dropped it. */
export async function observe(
  thread: LiveThread,
  given: string | Pick<Message, "parts">,
  options: SendOptions,
): Promise<string | undefined> {
  thread.refuseIfClosed();
  // Before hooks are asked.
  checkOptions("observe()", options, SEND);
  const { setup, agent, deps } = thread;
  const host: HookHost = { place: thread.resting(), signal: new StopSignal(), clock: setup.clock, deps, desk: setup };
  const message = await afterHooks(host, agent, readObserved(given));
  if (message === null) return undefined;
  const { id } = await sendInput(thread, inputCommand("observe", [message], options, thread));
  await takeObserved(thread);
  const hooks = hooksNamed(setup.hooks, agent.hooks, "afterObserve");
  if (hooks !== undefined) await lookOn(host, "afterObserve", hooks, { id, message });
  return id;
}

/** Adds the messages that wait to the history of a thread at rest. If another process has the thread, it adds them. */
export async function takeObserved(thread: LiveThread): Promise<void> {
  const { setup, key } = thread;
  const isIdle = () => thread.state === "initialized" || thread.state === "completed";
  const rests = () => !thread.isWriting && isIdle();
  if (isIdle()) await thread.stopped();
  // Another process may have moved the thread since.
  await thread.refresh().catch(() => {});
  if (!rests() || !thread.host.accepts() || thread.closing !== undefined) return;
  try {
    const steers = await steersFor(setup.store, key);
    const messages = steers.filter(({ mail }) => mail.observed);
    if (messages.length > 0 && rests()) await thread.append(observed(messages, setup.clock.now()));
  } catch (error) {
    const { code } = error as Partial<BelayError>;
    if (code !== "INVALID_STATE" && code !== "STORE_CONFLICT" && code !== "THREAD_BUSY") throw error;
  }
}

/** Returns the text and the files of a message. The other parts, of an agent's reply for example, are left out. */
function readObserved(given: string | Pick<Message, "parts">): Spoken {
  const parts = typeof given === "string" ? [{ type: "text", text: given } as const] : (given?.parts ?? []);
  if (!Array.isArray(parts)) throw belayError("INPUT_INVALID", { problem: "its parts are no list" });
  let said: Spoken | undefined;
  try {
    said = spoken({ parts: parts.filter(isSayable) });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // It has the words for a hook.
    throw belayError("INPUT_INVALID", { problem: error.message.replace(/^it gave /, "it has ") });
  }
  if (said === undefined) throw belayError("INPUT_INVALID", { problem: "there is nothing in it to observe" });
  return said;
}

function isSayable(part: Message["parts"][number]): boolean {
  const type = part?.type;
  return type === "text" || type === "file";
}

/** Returns the message after the `beforeObserve` hooks; null if one dropped it. Rejects with HOOK_FAILED. */
async function afterHooks(host: HookHost, { hooks }: Definition, given: Spoken): Promise<Spoken | null> {
  let message: Spoken | null = given;
  const info = (value: Spoken | null) => ({ message: value });
  const take = (_: Spoken | null, made: unknown) => (made === null ? null : (spoken(made) ?? null));
  for (const hook of hooksNamed(host.desk.hooks, hooks, "beforeObserve") ?? []) {
    message = await runBefore(host, "beforeObserve", [hook], message, info, take);
    if (message === null) return null;
  }
  return message;
}

/** Adds the messages to a history at rest. A thread that runs takes them at its next boundary. */
function observed(messages: readonly Known<InputMail>[], now: number): IdleFacts {
  return (place, { state, threadId }) => {
    if (state !== "initialized" && state !== "completed") {
      throw belayError("INVALID_STATE", { threadId, state, action: "observe()" });
    }
    return messages.flatMap(({ key, mail }) => inputFactsOf(place, key, "observe", mail, now));
  };
}
