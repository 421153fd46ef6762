// session.observe(): something an agent is to know, and not to answer. It is a command like a steer, so that it is never
// lost; where nothing runs and nothing is open, it becomes part of the history at once.

import type { Definition } from "../../agent.ts";
import { type BelayError, belayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import { type HookHost, lookOn, runBefore, spoken } from "../../hooks/call-hooks.ts";
import { hooksNamed, type Spoken } from "../../hooks/hooks.ts";
import { StopSignal } from "../../interrupt/stop-signal.ts";
import type { Message } from "../../message.ts";
import type { Command, Store, ThreadKey } from "../../store/store.ts";
import type { IdleFacts } from "../decide/idle.ts";
import { type InputMail, inputFactsOf, read } from "../decide/mail.ts";
import { checkSend, type SendOptions } from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
import type { LiveThread } from "./live-thread.ts";
import { send } from "./send.ts";

/** Resolves to its id when nothing can lose it; to none where a hook let it go. */
export async function observe(
  thread: LiveThread,
  given: string | Pick<Message, "parts">,
  options: SendOptions,
): Promise<string | undefined> {
  thread.refuseIfClosed();
  // Before hooks are asked.
  checkSend(options, "observe()");
  const hooks = new ObserveHooks(thread.setup, thread.agent, thread.resting(), thread.deps);
  const made = await hooks.before(readObserved(given));
  if (made === null) return undefined;
  const id = await send(thread, "observe", [made], options);
  await takeObserved(thread);
  await hooks.after(id, made);
  return id;
}

/** What waits to be known enters a history that rests. Refused means that somebody takes it along. */
export async function takeObserved(thread: LiveThread): Promise<void> {
  const { setup, key } = thread;
  const rests = () => !thread.isWriting && (thread.state === "initialized" || thread.state === "completed");
  // Others may have moved it since.
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

/** The text and files of it; of other messages, such as an agent's reply, the rest is left out. */
function readObserved(given: string | Pick<Message, "parts">): Spoken {
  const parts = typeof given === "string" ? undefined : (given?.parts ?? []);
  if (parts !== undefined && !Array.isArray(parts))
    throw belayError("INPUT_INVALID", { problem: "its parts are no list" });
  const said = orInvalid(() => spoken(typeof given === "string" ? given : { parts: parts!.filter(isSayable) }));
  if (said === undefined) throw belayError("INPUT_INVALID", { problem: "there is nothing in it to observe" });
  return said;
}

/** Hooks are told by a TypeError what is wrong with their message. A caller gets a typed refusal. */
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

/** What hooks have to say around it. */
class ObserveHooks {
  readonly #host: HookHost;
  readonly #agent: Definition;

  constructor(setup: Setup, agent: Definition, place: FramePlace, deps: unknown) {
    this.#host = { place, signal: new StopSignal(), clock: setup.clock, deps, desk: setup };
    this.#agent = agent;
  }

  /** What they make of it; null where they let it go. Rejects with HOOK_FAILED. */
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

/** What waits to be known, oldest first. */
async function observedIn(store: Store, key: ThreadKey): Promise<readonly Command[]> {
  const loaded = await store.load(key, Number.MAX_SAFE_INTEGER);
  return (loaded?.commands ?? []).filter(
    (command) => command.kind === "steer" && read<InputMail>(key, command).observed === true,
  );
}

/** Lets it into a history that rests; a thread that does not takes it along when it goes on. */
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
