import type { BelayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import type { Answer } from "../../interrupt/answer.ts";
import type { Inputs } from "./command.ts";
import type { InputMail, Known } from "./mail.ts";

/** The results of user code and of the store for a command, in one state of the thread. */
export interface Prepared {
  readonly refusal?: BelayError;
  /** The input after hooks. */
  readonly inputs: Inputs;
  /** The answers of a resume, with the groups of their people. */
  readonly answers: readonly (readonly [string, Answer])[];
  /** The input of a resume as the answer to the one open question. */
  readonly reply?: Answer;
  readonly drifted: readonly Fact[];
  /** The steers that no agent has read. */
  readonly unread: readonly Known<InputMail>[];
  /** The messages of `onInterrupt` hooks after a stop of a thread at rest. */
  readonly said?: readonly Fact[];
}

/** There was nothing to ask. */
export const nothingAsked: Prepared = { inputs: [], answers: [], drifted: [], unread: [] };
