// Checks an answer by its request and by user code, before it is sent or written. The checks by the request are repeated in the
// append that records it.

import type { Definition } from "../../agent.ts";
import { belayError } from "../../error.ts";
import type { Answer } from "../../interrupt/answer.ts";
import { judgeAnswer } from "../../interrupt/decision.ts";
import type { ThreadState } from "../../journal/state.ts";
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

/** Throws an ANSWER_ refusal. */
export async function checkAnswer(
  checker: AnswerChecker,
  state: ThreadState,
  id: string,
  answer: Answer,
): Promise<void> {
  const { setup } = checker;
  const request = state.requests?.get(id);
  judgeAnswer(state.threadId, id, request, answer, setup.clock.now(), setup.groups);
  const { interrupt, runPath } = request!;
  // The agent that asks: another one may have the same name.
  const agent = agentAt(checker.agent, runPath) ?? checker.agent;
  let problem: string | undefined;
  if (answer.type === "approve") {
    const { remember, args } = answer;
    const wrong = typeof remember === "object" && remember.args !== undefined && patternsProblem(remember.args);
    if (wrong) problem = `remember: ${wrong}`;
    // The tool itself judges the arguments of an approval that it asks for.
    else if (args !== undefined && interrupt.key === undefined) problem = await agent.argsProblem(interrupt, args);
  } else if (answer.type === "respond") {
    const schema = checker.schemas.get(id);
    const checked = schema && (await validate(schema, answer.value));
    if (checked?.ok === false) ({ problem } = checked);
  }
  if (problem !== undefined) throw belayError("ANSWER_INVALID", { id, problem });
}
