// The chat box: one input for a thread in whatever state it is. It is made of the other verbs. Each look at the store decides
// which verb; a verb that is refused because the thread has moved on leads to another look. Invariants:
// 1. It resolves when the input is on record, or waits in the store as a row: no input is lost.
// 2. Under an id that is on record it changes nothing, and returns how the first one was taken.

import { type BelayError, belayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import { type Answer, respond } from "../../interrupt/answer.ts";
import { type Interrupt, isRequest } from "../../interrupt/interrupt.ts";
import { decode } from "../../journal/codec.ts";
import { keyOf } from "../../journal/taken.ts";
import type { ThreadKey } from "../../store/store.ts";
import { inputCommand, signalCommand } from "../decide/command.ts";
import { afterFailure } from "../decide/idle.ts";
import { stale } from "../decide/stale.ts";
import type { ChatOptions } from "../given/chat-options.ts";
import { type Input, readInput } from "../given/input.ts";
import type { EnqueueOptions, ResumeOptions, RunOptions } from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread } from "../read/read-facts.ts";
import type { Run } from "../read/run.ts";
import { type Door, doorOf } from "../thread/door.ts";
import type { LiveThread } from "../thread/live-thread.ts";
import { withdraw } from "../thread/send.ts";
import type { Slots } from "../thread/slots.ts";
import { submit } from "../thread/submit.ts";
import { answerRequest } from "./answer.ts";
import { type Look, lookAtThread } from "./look-at-thread.ts";

/** How an input was taken, and the id by which withdraw() takes it back while it waits. */
export interface Sent {
  readonly how: "run" | "resume" | "steer" | "enqueue" | "interrupt" | "answer";
  /** The run that it is part of, or waits for. */
  readonly runId?: string;
  readonly id: string;
}

/** The thread that it is for, as a session or a runner reaches it. `run` and `resume` resolve when the segment is on record. */
export interface Chat {
  readonly door: Door;
  /** Bounds the threads that this process runs. */
  readonly slots: Slots;
  /** Asks the thread, whichever process has it. */
  on<T>(ask: (thread: LiveThread) => Promise<T>): Promise<T>;
  run(input: Input, options: RunOptions): Promise<Run<unknown>>;
  resume(options: ResumeOptions): Promise<Run<unknown>>;
  enqueue(input: Input, options: EnqueueOptions): Promise<unknown>;
}

/** Refusals of a verb that was chosen by an older state of the thread. */
const MOVED_ON: readonly string[] = [
  "ALREADY_RUNNING",
  "NEED_RESUME",
  "INVALID_STATE",
  "INVALID_PAUSE_TYPE",
  "STALE",
  "TOKEN_SPENT",
  "THREAD_BUSY",
  "STORE_CONFLICT",
  "ANSWER_TAKEN",
  "ANSWER_UNKNOWN",
  "ANSWER_WITHDRAWN",
  "ANSWER_EXPIRED",
];

const TRIES = 20;
const WAIT_MS = 25;

export async function sendTo(chat: Chat, input: Input, options: ChatOptions): Promise<Sent> {
  const { setup, key } = chat.door;
  const { threadId } = key;
  if (readInput(input, setup.maxBytes).length === 0) throw belayError("INPUT_EMPTY", { threadId });
  const id = options.id ?? setup.clock.id();
  for (let tries = 1; ; tries++) {
    if (options.id !== undefined) {
      const known = await sentBefore(setup, key, id);
      if (known !== undefined) return known;
    }
    const look = await lookAtThread(setup, key);
    if (look?.state === "terminated") {
      throw belayError("INVALID_STATE", { threadId, state: look.state, action: "send()" });
    }
    try {
      return { ...(await sendNow(chat, look, input, { ...options, id })), id };
    } catch (error) {
      const { code } = error as Partial<BelayError>;
      if (code === undefined || !MOVED_ON.includes(code) || tries === TRIES) throw error;
      // Two senders that meet look again at different times.
      await new Promise<void>((done) => setup.clock.setTimeout(done, WAIT_MS * tries * Math.random()));
    }
  }
}

/** An input was left for a worker: if the thread has ended since, none would take it. It is taken back, and refused with STALE. */
async function refuseIfEnded({ setup, key }: Door, id: string): Promise<void> {
  const { state, runId, segment = 0 } = (await lookAtThread(setup, key)) ?? { state: "created" };
  if (state === "paused" || state === "running" || !(await withdraw(setup, key, id))) return;
  throw stale(key.threadId, {}, { runId, segment, state });
}

async function sendNow(
  chat: Chat,
  look: Look | undefined,
  input: Input,
  options: ChatOptions & { readonly id: string },
): Promise<Omit<Sent, "id">> {
  const { door } = chat;
  const { id, by, groups, start = door.setup.start, whenRunning = "steer", whenAsked } = options;
  const byWorker = start === "worker" || door.byWorker === true;
  const caller = { id, by };
  const present = look?.runId === undefined ? {} : { runId: look.runId };
  const waits = async (as: "steer" | "resume", mode?: "rethink") => {
    await chat.on((thread) => submit(doorOf(thread), inputCommand(as, input, caller, thread, mode)));
    return { how: "steer" as const, ...present };
  };
  const queues = async () => {
    await chat.enqueue(input, { ...caller, start: byWorker ? "worker" : "here" });
    return { how: "enqueue" as const, ...present };
  };
  /** Leaves the input for a worker, which resumes the thread with it. */
  const leaves = async (mode?: "rethink") => {
    const sent = await waits("resume", mode);
    await refuseIfEnded(door, id);
    return sent;
  };
  const runs = (how: Sent["how"]) => inSlot(chat, how, () => chat.run(input, caller));
  switch (look?.pauseType ?? look?.state) {
    case "running":
      if (whenRunning === "steer") return waits("steer");
      if (whenRunning === "enqueue") return queues();
      await submit(door, signalCommand("stop", { ...caller, ...present, segment: look?.segment }, door.setup));
      return byWorker ? { ...(await leaves()), how: "interrupt" } : runs("interrupt");
    case "crash":
      // A worker continues it in any case.
      return byWorker ? waits("steer") : runs("resume");
    case "user_interrupt":
    case "manual":
      return byWorker ? leaves() : runs("resume");
    case "tool_interrupt": {
      const open = look!.interrupts.filter(isRequest);
      const wanted = new Set(
        whenAsked === undefined ? open.map(({ onNewInput = "withdraw" }) => onNewInput) : [whenAsked],
      );
      if (wanted.has("answer")) {
        const [request, answer] = answerIn(look!.threadId, open, input, by);
        const answers = { [request]: answer };
        if (!byWorker) return inSlot(chat, "answer", () => chat.resume({ ...caller, groups, answers }));
        await answerRequest(door.setup, request, answer, { ...caller, groups, start: "worker" }, () => door);
        return { how: "answer", ...present };
      }
      if (wanted.has("keep") && wanted.size === 1) return waits("steer");
      const mode = whenAsked === "withdraw" ? "rethink" : undefined;
      return byWorker ? leaves(mode) : inSlot(chat, "resume", () => chat.resume({ ...caller, groups, input, mode }));
    }
    case "node_interrupt":
    case "paused":
      return waits("steer");
    default:
      if (!byWorker) return runs("run");
      // An input alone waits after a failure until a person acts, which this is.
      if (look?.state === "error") await chat.on((thread) => thread.append(afterFailure));
      return queues();
  }
}

/** Begins a segment in one of the slots of this process, which it has until its end. */
async function inSlot(
  { slots, door }: Chat,
  how: Sent["how"],
  begin: () => Promise<Run<unknown>>,
): Promise<Omit<Sent, "id">> {
  const giveBack = await slots.free(door.key.threadId);
  try {
    const { runId, result } = await begin();
    void result.then(giveBack);
    return { how, runId };
  } catch (error) {
    giveBack();
    throw error;
  }
}

/** Returns the one open question with the input as its answer. Throws ANSWER_AMBIGUOUS. */
function answerIn(
  threadId: string,
  open: readonly Interrupt[],
  input: Input,
  by: string | undefined,
): readonly [string, Answer] {
  const [only] = open;
  if (open.length !== 1 || only?.kind !== "input") {
    throw belayError("ANSWER_AMBIGUOUS", { threadId, open: open.length });
  }
  return [only.id, respond(textOf(only, input), { by })];
}

function textOf({ id }: Interrupt, input: Input): string {
  const texts = readInput(input, Number.POSITIVE_INFINITY).flatMap(({ parts }) =>
    parts.map((part) => {
      if (part.type === "text") return part.text;
      throw belayError("ANSWER_INVALID", { id, problem: "more than text cannot answer a question" });
    }),
  );
  return texts.join("\n");
}

/** Returns how the input with this id was taken, or that it waits; undefined if it is not known. */
async function sentBefore({ store }: Setup, key: ThreadKey, id: string): Promise<Sent | undefined> {
  const loaded = await loadThread(store, key);
  if (loaded === undefined) return undefined;
  const waiting = loaded.commands.find(({ key: name }) => name === id || isAnswerTo(name, id));
  let stopped = false;
  const sent = (how: Sent["how"]): Sent => ({ how: stopped ? "interrupt" : how, id });
  for (const line of loaded.lines) {
    const facts = decode(key.threadId, line);
    for (const fact of facts) {
      const { runId, segment } = fact;
      if ((fact.type === "input-queued" || fact.type === "input-consumed") && fact.id === id) {
        return { ...sent(fact.kind === "input" ? "enqueue" : "steer"), runId };
      }
      if (fact.type === "command" && fact.key === keyOf.stop(id)) stopped = true;
      if (fact.type === "command" && fact.refused === undefined && isAnswerTo(fact.key, id)) {
        return { how: "answer", runId, id };
      }
      const began = fact.type === "state" ? fact.id === id : fact.type === "command" && fact.key === keyOf.run(id);
      if (began) return { ...sent(segment === 1 ? "run" : howResumed(facts)), runId };
    }
  }
  if (waiting === undefined) return undefined;
  return sent(waiting.key !== id ? "answer" : waiting.kind === "input" ? "enqueue" : "steer");
}

/** True for the key of an answer that was sent under this id. */
function isAnswerTo(key: string, id: string): boolean {
  return key.startsWith("answer:") && key.endsWith(`:${id}`);
}

/** An input that answers a question adds no message. */
function howResumed(facts: readonly Fact[]): "resume" | "answer" {
  const isAnswered = facts.some((fact) => fact.type === "request-answered" && fact.answer.type === "respond");
  return isAnswered && !facts.some(({ type }) => type === "message") ? "answer" : "resume";
}
