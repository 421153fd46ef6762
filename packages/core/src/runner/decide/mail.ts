// Commands as the store keeps them: their bodies, the facts by which an input becomes history, and the keys they go by.

import { type BelayError, belayError } from "../../error.ts";
import type { Fact, InputConsumedEvent, InputQueuedEvent } from "../../event.ts";
import type { FramePlace, LateResult } from "../../frame.ts";
import type { Part } from "../../message.ts";
import type { Command, Store, ThreadKey } from "../../store/store.ts";
import type { InterruptOptions } from "../given/options.ts";
import { loadThread } from "../read/read-facts.ts";
import { base, inputFacts } from "./facts.ts";

/** The verbs that end a segment. The owner heeds their rows before an append consumes them. */
export type StopVerb = "stop" | "pause" | "terminate";

export interface StopMail {
  /** Undefined in rows of the release before, which are stops. */
  readonly do?: StopVerb;
  readonly runId: string;
  readonly segment: number;
  readonly options: InterruptOptions;
}

export interface InputMail {
  readonly messages: readonly { readonly id?: string; readonly parts: readonly Part[] }[];
  readonly by?: string;
  /** True for a message to observe: the agent does not answer it. */
  readonly observed?: true;
}

/**
 * An input that resumes a paused thread. Its row is of the kind `answer`: a worker takes it. A process that runs the thread takes
 * it as a steer.
 */
export interface ResumeMail extends InputMail {
  readonly do: "resume";
  /** As in the options of resume(). */
  readonly mode?: "rethink";
}

export interface LateMail extends LateResult {
  readonly path: string;
  /** The segment that left the call behind. */
  readonly segment: number;
  readonly callId: string;
  readonly tool: string;
  readonly address: string;
}

/** The body of a row, with its key and time. */
export interface Known<T> {
  readonly key: string;
  readonly mail: T;
  readonly at: number;
}

export interface InputQueuedMail {
  readonly id: string;
  readonly kind: InputQueuedEvent["kind"];
}

export function kindOf({ observed }: InputMail): "steer" | "observe" {
  return observed ? "observe" : "steer";
}

export function queuedMail({ key: id, mail }: Known<InputMail>): InputQueuedMail {
  return { id, kind: kindOf(mail) };
}

export function queuedFacts(place: FramePlace, queued: readonly InputQueuedMail[]): InputQueuedEvent[] {
  return queued.map(({ id, kind }) => ({ type: "input-queued", id, kind, ...base(place) }));
}

/** Returns the steers that wait for a thread, the oldest first, and the inputs that are to resume it. */
export async function steersFor(store: Store, key: ThreadKey): Promise<readonly Known<InputMail>[]> {
  const loaded = await loadThread(store, key, Number.MAX_SAFE_INTEGER);
  return (loaded?.commands ?? []).flatMap((command) => {
    const mail = command.kind === "steer" ? read<InputMail>(key, command) : resumeIn(command);
    return mail === undefined ? [] : [{ key: command.key, at: command.at, mail }];
  });
}

/** Returns the input of a row that is to resume its thread; undefined for any other row. */
export function resumeIn(row: Command): ResumeMail | undefined {
  const mail = row.kind === "answer" ? (bodyOf(row) as Partial<ResumeMail> | null | undefined) : undefined;
  return mail?.do === "resume" && isInput(mail) ? (mail as ResumeMail) : undefined;
}

/** Returns the facts by which an input becomes part of the history. */
export function inputFactsOf(
  place: FramePlace,
  id: string,
  kind: InputQueuedEvent["kind"],
  mail: InputMail,
  at: number,
): Fact[] {
  const consumed: InputConsumedEvent = { type: "input-consumed", id, kind, ...base(place) };
  return [consumed, ...inputFacts(place, mail.messages, at, mail.by, (i) => (i === 0 ? id : `${id}.${i}`))];
}

/** Reads the body of a row. Throws if it is damaged: callers rely on its fields. */
export function read<T extends Mail>(key: ThreadKey, row: Command): T {
  const mail = bodyOf(row);
  if (!mail || !isMail[row.kind](mail)) throw damaged(key, row, mail);
  return mail as T;
}

/** Returns the body of a row: null if it is no object, and undefined if it is not JSON. */
export function bodyOf({ body }: Command): object | null | undefined {
  try {
    const mail: unknown = JSON.parse(body);
    return typeof mail === "object" ? mail : null;
  } catch {
    return undefined;
  }
}

/** Returns the error for a row that cannot be read, with the body that was found in it. */
export function damaged({ threadId }: ThreadKey, { key, kind }: Command, body: unknown): BelayError {
  const what = body === undefined ? "is not JSON" : `is no ${kind}`;
  return belayError("JOURNAL_CORRUPT", { threadId, seq: 0, problem: `command ${key} ${what}` });
}

type Mail = StopMail | InputMail | LateMail;

const isMail: Readonly<Record<Command["kind"], (mail: Partial<StopMail & InputMail & LateMail>) => boolean>> = {
  stop: ({ runId, segment }) => typeof runId === "string" && typeof segment === "number",
  steer: isInput,
  input: isInput,
  late: ({ path, callId }) => typeof path === "string" && typeof callId === "string",
  // `commandIn` and `resumeIn` read it.
  answer: () => false,
};

function isInput({ messages }: Partial<InputMail>): boolean {
  return Array.isArray(messages) && messages.every((message) => Array.isArray(message?.parts));
}
