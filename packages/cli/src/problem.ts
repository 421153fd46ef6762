// What can go wrong in this program that the runtime has no code for: code, message with the values, and what to do. The
// words are in texts/, under `problems`. Models read them as the result of a call, and journals keep them: the error's own
// text is English, what and then what to do. People read them in their language, by `problemWords`.

import { en } from "./texts/en.ts";
import type { Texts } from "./texts/texts.ts";

type Catalogue = typeof en.problems;
export type ProblemCode = keyof Catalogue;
export type ProblemDetails<C extends ProblemCode> = Parameters<Catalogue[C]["message"]>[0];

export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly details: object;

  constructor(code: ProblemCode, details: object, cause?: unknown) {
    const { message, hint } = wordsOf(code, details, en);
    super(`${message} ${hint}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
  }
}

export function problem<C extends ProblemCode>(code: C, details: ProblemDetails<C>, cause?: unknown): Problem {
  return new Problem(code, details, cause);
}

/** What the runtime says to programs and people need in other words; undefined where its own will do. */
export function forPeople(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  const { code, details = {} } = (error ?? {}) as { readonly code?: string; readonly details?: Said };
  const { threadId: thread, problem: misfit } = details;
  if (code === "THREAD_BUSY" && thread !== undefined) return problem("THREAD_ELSEWHERE", { thread }, error);
  if (code === "TOKEN_SPENT" && thread !== undefined) return problem("THREAD_MOVED", { thread }, error);
  if (code === "ANSWER_INVALID" && misfit !== undefined) return problem("ANSWER_MISFIT", { misfit }, error);
  // Whatever else the system refuses is told as what it is.
  if (error instanceof Error && "syscall" in error) return problem("SYSTEM_REFUSED", { reason: error.message }, error);
  return undefined;
}

interface Said {
  readonly threadId?: string;
  readonly problem?: string;
}

/** What happened, then what to do. */
export function problemWords({ code, details }: Problem, texts: Pick<Texts, "problems">): string {
  const { message, hint } = wordsOf(code, details, texts);
  return `${message} ${hint}`;
}

function wordsOf(code: ProblemCode, details: object, texts: Pick<Texts, "problems">) {
  const { message, hint } = texts.problems[code] as { message(details: object): string; hint: string };
  return { message: message(details), hint };
}
