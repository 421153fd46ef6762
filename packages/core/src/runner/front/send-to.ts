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
import { stale } from "../decide/stale.ts";
import type { ChatOptions } from "../given/chat-options.ts";
import { type Input, readInput } from "../given/input.ts";
import type { AnswerOptions, InterruptOptions, ResumeOptions, RunOptions, SendOptions } from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread } from "../read/read-facts.ts";
import type { Run } from "../read/run.ts";
import { withdraw } from "../thread/send.ts";
import type { Slots } from "../thread/slots.ts";
import { type Look, lookAtThread } from "./look-at-thread.ts";

/** How an input was taken, and the id by which withdraw() takes it back while it waits. */
export interface Sent {
  readonly how: "run" | "resume" | "steer" | "enqueue" | "interrupt" | "answer";
  /** The run that it is part of, or waits for. */
  readonly runId?: string;
  readonly id: string;
}

/** The verbs that it is made of, on one thread. `start` and `resume` resolve when the segment is on record. */
export interface ChatVerbs {
  start(input: Input, options: RunOptions): Promise<Pick<Run<unknown>, "runId">>;
  resume(options: ResumeOptions): Promise<Pick<Run<unknown>, "runId">>;
  steer(input: Input, options: SendOptions): Promise<unknown>;
  enqueue(input: Input, options: SendOptions): Promise<unknown>;
  interrupt(options: InterruptOptions): Promise<unknown>;
  /** Leaves the input for a worker, which resumes the thread with it. */
  leave(input: Input, options: SendOptions & { readonly mode?: "rethink" | undefined }): Promise<unknown>;
  /** Lets a worker begin a new run on a thread that has failed. */
  renew(): Promise<unknown>;
  /** Leaves the answer for a worker. */
  answer(request: string, answer: Answer, options: AnswerOptions): Promise<unknown>;
}

/** `byWorker`: this process starts nothing. */
type Sending = ChatOptions & { readonly byWorker?: boolean };

/** Runs a thread in one of the slots of this process, until its segment has ended. */
export async function withSlot<R extends Pick<Run<unknown>, "result">>(
  slots: Slots,
  threadId: string,
  begin: () => Promise<R>,
): Promise<R> {
  const giveBack = await slots.free(threadId);
  try {
    const run = await begin();
    void run.result.then(giveBack);
    return run;
  } catch (error) {
    giveBack();
    throw error;
  }
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

export async function sendTo(
  verbs: ChatVerbs,
  setup: Setup,
  key: ThreadKey,
  input: Input,
  options: Sending,
): Promise<Sent> {
  const { threadId } = key;
  if (readInput(input, setup.maxBytes).length === 0) throw belayError("INPUT_EMPTY", { threadId });
  const id = options.id ?? setup.clock.id();
  const leaving: ChatVerbs = {
    ...verbs,
    async leave(said, given) {
      await verbs.leave(said, given);
      await refuseIfEnded(setup, key, id);
    },
  };
  for (let tries = 1; ; tries++) {
    if (options.id !== undefined) {
      const known = await sentBefore(setup, key, options.id);
      if (known !== undefined) return known;
    }
    const look = await lookAtThread(setup, key);
    if (look?.state === "terminated") {
      throw belayError("INVALID_STATE", { threadId, state: look.state, action: "send()" });
    }
    try {
      return { ...(await sendNow(leaving, look, input, { ...options, id })), id };
    } catch (error) {
      const { code } = error as Partial<BelayError>;
      if (code === undefined || !MOVED_ON.includes(code) || tries === TRIES) throw error;
      // Two senders that meet look again at different times.
      await new Promise<void>((done) => setup.clock.setTimeout(done, WAIT_MS * tries * Math.random()));
    }
  }
}

/** An input was left for a worker: if the thread has ended since, none would take it. It is taken back, and refused with STALE. */
async function refuseIfEnded(setup: Setup, key: ThreadKey, id: string): Promise<void> {
  const { state, runId, segment = 0 } = (await lookAtThread(setup, key)) ?? { state: "created" };
  if (state === "paused" || state === "running" || !(await withdraw(setup, key, id))) return;
  throw stale(key.threadId, {}, { runId, segment, state });
}

async function sendNow(
  verbs: ChatVerbs,
  look: Look | undefined,
  input: Input,
  options: Sending & { readonly id: string },
): Promise<Omit<Sent, "id">> {
  const { id, by, groups, whenRunning = "steer", whenAsked, byWorker = false } = options;
  const caller = { id, ...(by !== undefined && { by }) };
  const present = look?.runId === undefined ? {} : { runId: look.runId };
  const waits = async (how: "steer" | "enqueue") => {
    await verbs[how](input, caller);
    return { how, ...present };
  };
  const leaves = async (how: "steer" | "interrupt", mode?: "rethink") => {
    await verbs.leave(input, { ...caller, mode });
    return { how, ...present };
  };
  const starts = async (how: "run" | "resume" | "interrupt") => {
    const { runId } = await verbs.start(input, caller);
    return { how, runId };
  };
  const resumes = async (how: "resume" | "answer", more: ResumeOptions) => {
    const { runId } = await verbs.resume({ ...caller, groups, ...more });
    return { how, runId };
  };
  switch (look?.pauseType ?? look?.state) {
    case "running":
      if (whenRunning !== "interrupt") return waits(whenRunning);
      await verbs.interrupt({ ...caller, ...present, segment: look?.segment });
      return byWorker ? leaves("interrupt") : starts("interrupt");
    case "crash":
      // A worker continues it in any case.
      return byWorker ? waits("steer") : starts("resume");
    case "user_interrupt":
    case "manual":
      return byWorker ? leaves("steer") : starts("resume");
    case "tool_interrupt": {
      const open = look!.interrupts.filter(isRequest);
      const wanted = new Set(
        whenAsked === undefined ? open.map(({ onNewInput = "withdraw" }) => onNewInput) : [whenAsked],
      );
      if (wanted.has("answer")) {
        const [request, answer] = answerIn(look!.threadId, open, input, by);
        if (!byWorker) return resumes("answer", { answers: { [request]: answer } });
        await verbs.answer(request, answer, { ...caller, groups });
        return { how: "answer", ...present };
      }
      if (wanted.has("keep") && wanted.size === 1) return waits("steer");
      const mode = whenAsked === "withdraw" ? "rethink" : undefined;
      return byWorker ? leaves("steer", mode) : resumes("resume", { input, mode });
    }
    case "node_interrupt":
    case "paused":
      return waits("steer");
    default:
      if (!byWorker) return starts("run");
      // An input alone waits after a failure until a person acts, which this is.
      if (look?.state === "error") await verbs.renew();
      return waits("enqueue");
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
  for (const line of loaded.lines) {
    const facts = decode(key.threadId, line);
    for (const fact of facts) {
      const { runId, segment } = fact;
      if ((fact.type === "input-queued" || fact.type === "input-consumed") && fact.id === id) {
        return { how: stopped ? "interrupt" : fact.kind === "input" ? "enqueue" : "steer", runId, id };
      }
      if (fact.type === "command" && fact.key === keyOf.stop(id)) stopped = true;
      if (fact.type === "command" && fact.refused === undefined && isAnswerTo(fact.key, id)) {
        return { how: "answer", runId, id };
      }
      const began = fact.type === "state" ? fact.id === id : fact.type === "command" && fact.key === keyOf.run(id);
      if (began) return { how: stopped ? "interrupt" : segment === 1 ? "run" : howResumed(facts), runId, id };
    }
  }
  if (waiting === undefined) return undefined;
  if (stopped) return { how: "interrupt", id };
  return { how: waiting.key !== id ? "answer" : waiting.kind === "input" ? "enqueue" : "steer", id };
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
