// From lines to a state. Of a run that is over only what was said stays once another one begins, and most runs of a long
// thread are one question and its answer: those two are added at once, without the facts around them. What comes of it is
// what `reduce` makes of all of them.

import type { EventBase } from "../event.ts";
import { type Body, decodeBody, type Line, messageOf, parse, type WrittenMessage } from "./codec.ts";
import { addAnswer, addInput } from "./history.ts";
import { reduce } from "./reduce.ts";
import type { ThreadState } from "./state.ts";

/** Folds `lines`, which follow what `state` has already read. */
export function fold(state: ThreadState, lines: readonly Line[]): void {
  const { threadId } = state;
  // Each is parsed once, and at most two are looked at before their turn.
  let [body, next, later] = [ahead(threadId, lines, 0), ahead(threadId, lines, 1), ahead(threadId, lines, 2)];
  for (let i = 0; i < lines.length; ) {
    const line = lines[i]!;
    if (body !== undefined && foldExchange(state, lines, i, body, next, later)) {
      i += 2;
      body = later;
      next = ahead(threadId, lines, i + 1);
    } else {
      for (const fact of decodeBody(threadId, line, body ?? parse(threadId, line))) reduce(state, fact);
      i += 1;
      body = next;
      next = later;
    }
    later = ahead(threadId, lines, i + 2);
  }
}

/** Undefined also where it cannot be parsed: what is wrong with it is told in its turn. */
function ahead(threadId: string, lines: readonly Line[], index: number): Body | undefined {
  const line = lines[index];
  try {
    return line && parse(threadId, line);
  } catch {
    return undefined;
  }
}

/** False, and nothing is done, where these are not a question, its answer, and the beginning of another run. */
function foldExchange(
  state: ThreadState,
  lines: readonly Line[],
  at: number,
  body: Body,
  next: Body | undefined,
  later: Body | undefined,
): boolean {
  if (next === undefined || later === undefined || !isBeginning(body) || !isBeginning(later)) return false;
  const asked = body.e[3];
  const [said, end, last] = next.e;
  if (body.e.length !== 4 || next.e.length !== 3 || last !== "completed" || !isPlainEnd(end)) return false;
  if (!isMessage(asked, QUESTION) || !isMessage(said, ANSWER) || !isSameRun(body, next)) return false;
  const scope = state.scopes.get(body.n);
  if (scope === undefined || scope.calls.length > 0 || state.state !== "completed") return false;
  if (!isAnother(later, body, state)) return false;
  const [question, answer] = [lines[at]!, lines[at + 1]!];
  if (question.seq !== state.head + 1 || answer.seq !== question.seq + 4) return false;
  addInput(scope, messageIn(state, question, body, asked));
  addAnswer(scope, messageIn(state, answer, next, said), said.t ?? 0);
  state.head = answer.seq + 2;
  return true;
}

/** A new run of the agent that the thread is of, as it begins with nothing to be said of it. */
function isBeginning({ e, s, p }: Body): boolean {
  return e[0] === "initialized" && e[1] === "start" && e[2] === "running" && s === undefined && p === undefined;
}

function isSameRun(question: Body, answer: Body): boolean {
  return question.r === answer.r && question.n === answer.n && answer.s === undefined && answer.p === undefined;
}

function isPlainEnd(written: Body["e"][number] | undefined): boolean {
  if (!isObject(written) || !("run" in written) || written.run !== "completed") return false;
  for (const key in written) if (key !== "run") return false;
  return true;
}

function isObject(written: Body["e"][number] | undefined): written is Exclude<Body["e"][number], string> {
  return typeof written === "object" && written !== null;
}

const QUESTION = new Set(["m"]);
const ANSWER = new Set(["m", "t", "model", "usage"]);

/** A text alone, and nothing about it that is not in `keys`. */
function isMessage(written: Body["e"][number] | undefined, keys: ReadonlySet<string>): written is WrittenMessage {
  if (!isObject(written) || !("m" in written) || typeof written.m !== "string") return false;
  for (const key in written) if (!keys.has(key)) return false;
  return keys === QUESTION || written.t !== undefined;
}

/** Nothing of either run is left when it has begun. */
function isAnother(later: Body, body: Body, { run }: ThreadState): boolean {
  return later.n === body.n && later.r !== body.r && later.r !== run?.id;
}

function messageIn({ threadId }: ThreadState, { seq, at }: Line, { r, n }: Body, written: WrittenMessage) {
  const place: EventBase = { seq, at, threadId, runId: r, segment: 1, attempt: 1, agentName: n, runPath: n };
  return messageOf(written, place, 0);
}
