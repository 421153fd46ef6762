// Sends steers and inputs to a thread, in whatever state it is. They are rows of the store, and have no effect until an append
// consumes them.

import { type BelayError, belayError } from "../../error.ts";
import { hooksNamed } from "../../hooks/hooks.ts";
import { decode } from "../../journal/codec.ts";
import { readName } from "../../read-name.ts";
import type { Command, ThreadKey } from "../../store/store.ts";
import { initialized } from "../decide/idle.ts";
import type { InputMail, ResumeMail } from "../decide/mail.ts";
import { isStale, type Present, stale } from "../decide/stale.ts";
import { type Input, readInput } from "../given/input.ts";
import { checkSend, isOwnKey, type SteerOptions } from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread } from "../read/read-facts.ts";
import type { LiveThread } from "./live-thread.ts";
import type { Tenure } from "./tenure.ts";

/** How an input is sent: as a steer, for the next run, to be known only, or to resume a paused thread. */
type How = "steer" | "input" | "observe" | "resume";

/** The verb that a caller used, for errors. */
const verbOf: Readonly<Record<How, string>> = {
  steer: "steer()",
  input: "enqueue()",
  observe: "observe()",
  resume: "send()",
};

/** Sends an input to a thread. Resolves to its id when the store has it. `mode` is that of an input that resumes. */
export async function send(
  thread: LiveThread,
  how: How,
  input: Input,
  options: SteerOptions,
  mode?: ResumeMail["mode"],
): Promise<string> {
  thread.refuseIfClosed();
  checkSend(options, verbOf[how]);
  const { setup } = thread;
  const { threadId } = thread.key;
  const refusal = await whyNot(thread, how, options);
  if (refusal !== undefined) {
    if (options.id !== undefined && (await wasSent(thread, options.id))) return options.id;
    throw refusal;
  }
  const messages = readInput(input, setup.maxBytes);
  if (messages.length === 0) throw belayError("INPUT_EMPTY", { threadId });
  const { store, clock } = setup;
  const observed = how === "observe" ? { observed: true as const } : {};
  const mail: InputMail = { messages, ...(options.by !== undefined && { by: options.by }), ...observed };
  const kind = ({ steer: "steer", observe: "steer", input: "input", resume: "answer" } as const)[how];
  const resuming: ResumeMail | undefined =
    how === "resume" ? { do: "resume", ...mail, ...(mode !== undefined && { mode }) } : undefined;
  const body = JSON.stringify(resuming ?? mail);
  const command: Command = { key: options.id ?? clock.id(), kind, body, at: clock.now() };
  await onRecord(thread);
  if (!thread.isWriting) await thread.recall.read(Number.MAX_SAFE_INTEGER);
  const sent = await store.send(thread.key, command);
  // A tenure that has not begun yet finds it in the store.
  if (sent && thread.running?.state !== undefined) thread.running.deliver(command);
  return command.key;
}

/** Returns the refusal of a thread that has moved on or is terminated; undefined if it takes the input. */
async function whyNot(thread: LiveThread, how: How, options: SteerOptions): Promise<BelayError | undefined> {
  const { threadId } = thread.key;
  const { state } = thread;
  const isMeant = options.runId !== undefined || options.segment !== undefined;
  const present = isMeant ? await presentOf(thread) : undefined;
  if (present !== undefined && isStale(options, present)) return stale(threadId, options, present);
  if (state !== "terminated") return undefined;
  return belayError("INVALID_STATE", { threadId, state, action: verbOf[how] });
}

/** The segment that the thread is in: of this process, or as the store has it. */
async function presentOf({ running, state, setup, key }: LiveThread): Promise<Present> {
  if (running !== undefined) return { ...place(running.run), state };
  const end = await loadThread(setup.store, key, "rest");
  const last = end?.lines.at(-1);
  if (end === undefined || last === undefined) return { runId: undefined, segment: 0, state };
  return { ...place(decode(key.threadId, last).at(-1)!), state: end.row.state };
}

function place({ runId, segment }: Pick<Present & { readonly runId: string }, "runId" | "segment">) {
  return { runId, segment };
}

/** Returns true if an input was sent under this id before, whether or not it is consumed. */
async function wasSent({ setup, key }: LiveThread, id: string): Promise<boolean> {
  const loaded = await loadThread(setup.store, key);
  const facts = (loaded?.lines ?? []).flatMap((line) => decode(key.threadId, line));
  const isConsumed = facts.some((fact) => fact.type === "input-consumed" && fact.id === id);
  return isConsumed || (loaded?.commands.some((command) => command.key === id) ?? false);
}

/** Takes a steer or an input back. Resolves to false if it was consumed already, or if the id is that of another command. */
export async function withdraw({ store }: Pick<Setup, "store">, key: ThreadKey, id: string): Promise<boolean> {
  return !isOwnKey(readName("id", id)) && store.withdraw(key, id);
}

/** Puts a new thread on record, so that rows can wait for it. A run that begins meanwhile may do so first. */
async function onRecord(thread: LiveThread): Promise<void> {
  // Answered calls run: the thread is on record, and the run that waits for their end may begin long after.
  if (thread.tenure?.mayCallModel === false) return;
  // A `beforeReply` hook may be the sender. The run begins after the hook, so waiting for it would never end.
  if (hooksNamed(thread.setup.hooks, thread.agent.hooks, "beforeReply") === undefined) {
    for (let seen: Tenure | undefined | null = null; seen !== thread.running; ) {
      seen = thread.running;
      await thread.opening;
    }
  }
  if (thread.standing.state === "created") await initialize(thread);
}

/** Puts a new thread on record. A refusal means that another process has done so. */
async function initialize(thread: LiveThread): Promise<void> {
  await thread.append(initialized).catch((error) => {
    if (!["INVALID_STATE_TRANSITION", "STORE_CONFLICT", "THREAD_BUSY"].includes(error.code)) throw error;
  });
}
