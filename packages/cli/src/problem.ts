// The catalogue of what can go wrong in this program that the runtime has no code for: code, message with the values, and
// what to do. People read it in the terminal, models as the result of a call, so it is one text: what, then what to do.

type Words<D> = (d: D) => string;

interface Entry<D> {
  readonly message: Words<D>;
  readonly hint: string;
}

function entry<D>(message: Words<D>, hint: string): Entry<D> {
  return { message, hint };
}

export const problems = {
  CONFIG_INVALID: entry<{ file: string; problem: string }>(
    (d) => `${d.file} cannot be used: ${d.problem}.`,
    "Correct the file; nothing was changed.",
  ),
  FOLDER_MISSING: entry<{ folder: string }>((d) => `${d.folder} is not a folder.`, "Give one that is there."),
} as const;

export type ProblemCode = keyof typeof problems;
export type ProblemDetails<C extends ProblemCode> = Parameters<(typeof problems)[C]["message"]>[0];

export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly hint: string;

  constructor(code: ProblemCode, message: string, hint: string, cause?: unknown) {
    super(hint === "" ? message : `${message} ${hint}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.hint = hint;
  }
}

export function problem<C extends ProblemCode>(code: C, details: ProblemDetails<C>, cause?: unknown): Problem {
  const { message, hint } = problems[code] as Entry<ProblemDetails<C>>;
  return new Problem(code, message(details), hint, cause);
}
