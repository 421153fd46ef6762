// session.observe(): a message that an agent is to know, and not to answer. It is a row like a steer, so that it is never lost.
// If nothing runs and no request is open, it enters the history at once.

import type { Definition } from "../../agent.ts";
import { type BelayError, belayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import { type HookHost, lookOn, runBefore, spoken } from "../../hooks/call-hooks.ts";
import { hooksNamed, type Spoken } from "../../hooks/hooks.ts";
import { StopSignal } from "../../interrupt/stop-signal.ts";
import type { Message } from "../../message.ts";
import type { Command, Store, ThreadKey } from "../../store/store.ts";
import { inputCommand } from "../decide/command.ts";
import type { IdleFacts } from "../decide/idle.ts";
import { type InputMail, inputFactsOf, read } from "../decide/mail.ts";
import { checkOptions } from "../given/check.ts";
import { SEND, type SendOptions } from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
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
  const hooks = new ObserveHooks(thread.setup, thread.agent, thread.resting(), thread.deps);
  const made = await hooks.before(readObserved(given));
  if (made === null) return undefined;
  const { id } = await sendInput(thread, inputCommand("observe", [made], options, thread));
  await takeObserved(thread);
  await hooks.after(id, made);
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
    const commands = await observedIn(setup.store, key);
    if (commands.length > 0 && rests()) await thread.append(observed(key, commands, setup.clock.now()));
  } catch (error) {
    const { code } = error as Partial<BelayError>;
    if (code !== "INVALID_STATE" && code !== "STORE_CONFLICT" && code !== "THREAD_BUSY") throw error;
  }
}

/** Returns the text and the files of a message. The other parts, of an agent's reply for example, are left out. */
function readObserved(given: string | Pick<Message, "parts">): Spoken {
  const parts = typeof given === "string" ? undefined : (given?.parts ?? []);
  if (parts !== undefined && !Array.isArray(parts))
    throw belayError("INPUT_INVALID", { problem: "its parts are no list" });
  const said = orInvalid(() => spoken(typeof given === "string" ? given : { parts: parts!.filter(isSayable) }));
  if (said === undefined) throw belayError("INPUT_INVALID", { problem: "there is nothing in it to observe" });
  return said;
}

/** Returns the message of a hook's TypeError as a refusal with a code. */
function orInvalid<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw belayError("INPUT_INVALID", { problem: error.message.replace(/^it gave /, "it has ") });
  }
}

function isSayable(part: Message["parts"][number]): boolean {
  const type = part?.type;
  return type === "text" || type === "file";
}

/** The hooks around an observed message. */
class ObserveHooks {
  readonly #host: HookHost;
  readonly #agent: Definition;

  constructor(setup: Setup, agent: Definition, place: FramePlace, deps: unknown) {
    this.#host = { place, signal: new StopSignal(), clock: setup.clock, deps, desk: setup };
    this.#agent = agent;
  }

  /** Returns the message after the hooks; null if one dropped it. Rejects with HOOK_FAILED. */
  async before(message: Spoken): Promise<Spoken | null> {
    const hooks = hooksNamed(this.#host.desk.hooks, this.#agent.hooks, "beforeObserve") ?? [];
    for (const hook of hooks) {
      const take = (_: Spoken | null, given: unknown) => (given === null ? null : (spoken(given) ?? null));
      const made = await runBefore(this.#host, "beforeObserve", [hook], message as Spoken | null, info, take);
      if (made === null) return null;
      message = made;
    }
    return message;
  }

  async after(id: string, message: Spoken): Promise<void> {
    const hooks = hooksNamed(this.#host.desk.hooks, this.#agent.hooks, "afterObserve");
    if (hooks !== undefined) await lookOn(this.#host, "afterObserve", hooks, { id, message });
  }
}

function info(message: Spoken | null): object {
  return { message };
}

/** Returns the messages that wait to be observed, the oldest first. */
async function observedIn(store: Store, key: ThreadKey): Promise<readonly Command[]> {
  const loaded = await store.load(key, Number.MAX_SAFE_INTEGER);
  return (loaded?.commands ?? []).filter(
    (command) => command.kind === "steer" && read<InputMail>(key, command).observed === true,
  );
}

/** Adds the messages to a history at rest. A thread that runs takes them at its next boundary. */
function observed(key: ThreadKey, commands: readonly Command[], now: number): IdleFacts {
  return (place, { state, threadId }) => {
    if (state !== "initialized" && state !== "completed") {
      throw belayError("INVALID_STATE", { threadId, state, action: "observe()" });
    }
    return commands.flatMap((command): readonly Fact[] =>
      inputFactsOf(place, command.key, "observe", read<InputMail>(key, command), now),
    );
  };
}
