// Checks an answer by its request and by user code, before it is sent or written. The checks by the request are repeated in the
// append that records it.

import type { Definition } from "../../agent.ts";
import { belayError } from "../../error.ts";
import type { Answer } from "../../interrupt/answer.ts";
import { judgeAnswer } from "../../interrupt/decision.ts";
import type { ThreadState } from "../../journal/state.ts";
import type { Json } from "../../json.ts";
import { patternsProblem } from "../../permission/permissions.ts";
import { type StandardSchema, validate } from "../../schema/schema.ts";
import type { Setup } from "../given/setup.ts";
import { agentAt } from "./agent-at.ts";

/** The parts of a thread that check an answer. */
export interface AnswerChecker {
  readonly agent: Definition;
  readonly setup: Setup;
  readonly deps: unknown;
  /** The schemas that the code behind open requests has for answers, by request. */
  readonly schemas: ReadonlyMap<string, StandardSchema>;
}

/** Throws an ANSWER_ refusal, or rejects with one. Returns undefined if there is no user code to ask. */
export function checkAnswer(
  checker: AnswerChecker,
  state: ThreadState,
  id: string,
  answer: Answer,
): Promise<void> | undefined {
  const { setup } = checker;
  const request = state.requests?.get(id);
  judgeAnswer(state.threadId, id, request, answer, setup.clock.now(), setup.groups);
  const { interrupt, runPath } = request!;
  if (answer.type === "approve") {
    const { remember, args } = answer;
    const wrong = typeof remember === "object" && remember.args !== undefined && patternsProblem(remember.args);
    if (wrong) throw belayError("ANSWER_INVALID", { id, problem: `remember: ${wrong}` });
    // The tool itself judges the arguments of an approval that it asks for.
    if (args === undefined || interrupt.key !== undefined) return undefined;
    // The agent that asks: another one may have the same name.
    const agent = agentAt(checker.agent, runPath) ?? checker.agent;
    return refuse(id, agent.argsProblem(interrupt, args));
  }
  if (answer.type === "reject") return undefined;
  const schema = checker.schemas.get(id);
  return schema && refuse(id, misfit(schema, answer.value));
}

async function refuse(id: string, asked: Promise<string | undefined>): Promise<void> {
  const problem = await asked;
  if (problem !== undefined) throw belayError("ANSWER_INVALID", { id, problem });
}

async function misfit(schema: StandardSchema, value: Json): Promise<string | undefined> {
  const checked = await validate(schema, value);
  return checked.ok ? undefined : checked.problem;
}
