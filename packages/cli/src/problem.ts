// The errors of this program that the runtime has no code for: code, message with the values, and what to do. The
// words are in texts/, under `problems`. Models read them as the result of a call, and journals keep them: the error's own
// text is English, the problem and then the next action. People read them in their language, by `problemWords`.

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

interface Said {
  readonly code?: string;
  readonly message?: string;
  readonly details?: { readonly threadId?: string; readonly problem?: string; readonly owner?: string };
}

/**
 * The words for people of an error that the runtime words for programs; undefined if its own will do. An error that was read
 * from a journal has no details: the values are taken from its message. `owner` is the runner of this program.
 */
export function forPeople(error: unknown, owner?: string): Problem | undefined {
  if (error instanceof Problem) return error;
  const { code, message = "", details = {} } = (error ?? {}) as Said;
  const { threadId: thread, problem: misfit } = details;
  if (code === "THREAD_BUSY" && thread !== undefined) {
    // It could not give the thread back: its own claim has to run out.
    const isOurs = owner !== undefined && details.owner === owner;
    return isOurs ? problem("THREAD_UNSAVED", { thread }, error) : problem("THREAD_ELSEWHERE", { thread }, error);
  }
  if (code === "TOKEN_SPENT" && thread !== undefined) return problem("THREAD_MOVED", { thread }, error);
  if (code === "ANSWER_INVALID" && misfit !== undefined) return problem("ANSWER_MISFIT", { misfit }, error);
  // Any other refusal of the system is reported as it is.
  if (error instanceof Error && "syscall" in error) return problem("SYSTEM_REFUSED", { reason: error.message }, error);
  return ofModel(code, message) ?? ofStore(code, message);
}

/** The variables that keys are read from, by the provider in the model's name. */
const KEYS: Readonly<Record<string, string>> = { anthropic: "ANTHROPIC_API_KEY", openai: "OPENAI_API_KEY" };

function ofModel(code: string | undefined, message: string): Problem | undefined {
  switch (code) {
    case "MODEL_FAILED": {
      const [, model = "", tries = "", said = message] =
        /^Model (.*?) failed after (\d+) tr\w+: (.*)$/s.exec(message) ?? [];
      const [suffix = "", status = "", url = ""] = / \(status (\d+)(?: at (\S+))?\)$/.exec(said) ?? [];
      const reason = said.slice(0, said.length - suffix.length).replace(/[.\s]+$/, "");
      if (status === "401" || status === "403") {
        const variable = KEYS[model.split("/")[0]!] ?? "BELAY_API_KEY";
        return problem("MODEL_KEY_REFUSED", { model, variable, status, reason });
      }
      if (status === "404") return problem("MODEL_NOT_FOUND", { model, url, reason });
      return problem("MODEL_BROKEN", { model, tries: Number(tries), status, reason });
    }
    case "MODEL_TIMEOUT": {
      const [, model = "", ms = ""] = /^Model (.*?) exceeded \w+ \((\d+) ms\)/.exec(message) ?? [];
      return problem("MODEL_SILENT", { model, seconds: Math.round(Number(ms) / 1_000) });
    }
    case "MAX_TOKENS":
      return problem("ANSWER_CUT", {});
    case "MAX_TURNS":
      return problem("TURNS_USED", { turns: Number(/(\d+) turns/.exec(message)?.[1] ?? 0) });
    case "CONTEXT_OVERFLOW":
      return problem("CONTEXT_FULL", { reason: message.replace(/^.*?: /s, "").replace(/\.$/, "") });
    default:
      return undefined;
  }
}

function ofStore(code: string | undefined, message: string): Problem | undefined {
  if (code !== "STORE_FULL" && code !== "STORE_FAILED") return undefined;
  const reason = message.replace(/^.*?: /s, "").replace(/\.$/, "");
  return code === "STORE_FULL" ? problem("DISK_FULL", { reason }) : problem("NOT_SAVED", { reason });
}

/** A hint that names the interface of the library says nothing to a person at a terminal. */
const FOR_PROGRAMS = /\w\(|\b(?:runner|session|settings|createRunner|timeouts|maxTurns|maxBytes)\b/;

/** Returns an error in the words of this program, or in its own; then the next action, if a person can take it. */
export function peopleWords(error: unknown, texts: Pick<Texts, "problems">, owner?: string): readonly string[] {
  const known = forPeople(error, owner);
  if (known !== undefined) {
    const { message, hint } = wordsOf(known.code, known.details, texts);
    return [message, hint];
  }
  const { message = String(error), hint = "" } = (error ?? {}) as { readonly message?: string; readonly hint?: string };
  return FOR_PROGRAMS.test(hint) || hint === "" ? [message] : [message, hint];
}

/** Returns the problem, then the next action. */
export function problemWords({ code, details }: Problem, texts: Pick<Texts, "problems">): string {
  const { message, hint } = wordsOf(code, details, texts);
  return `${message} ${hint}`;
}

function wordsOf(code: ProblemCode, details: object, texts: Pick<Texts, "problems">) {
  const { message, hint } = texts.problems[code] as { message(details: object): string; hint: string };
  return { message: message(details), hint };
}
