import { type Answer, readAnswer } from "../../interrupt/answer.ts";
import { vouched } from "../../interrupt/vouched.ts";
import { answerCommand, signed } from "../decide/command.ts";
import { checkOptions } from "../given/check.ts";
import { ANSWER, type AnswerOptions } from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
import type { Door } from "../thread/door.ts";
import { submit } from "../thread/submit.ts";
import { lookAtThread } from "./look-at-thread.ts";

/** Answers a request. `find` looks for its thread, after the answer and the options were checked. */
export async function answerRequest(
  setup: Setup,
  id: string,
  given: Answer,
  options: AnswerOptions,
  find: () => Door | Promise<Door>,
): Promise<{ readonly open: number }> {
  checkOptions("answer()", options, ANSWER);
  const { start = setup.start, groups, ...rest } = options;
  const read = signed(id, readAnswer(id, given, setup.maxBytes), rest);
  const door = await find();
  const isVouchedFor = setup.memberOf !== undefined || groups !== undefined;
  const answer = isVouchedFor ? await vouchedFor(door, id, read, groups) : read;
  const byWorker = start === "worker" || door.byWorker === true;
  return submit({ ...door, byWorker }, answerCommand(id, answer, rest.id, setup.clock.id()), rest);
}

/** Returns the answer with the groups of its person: those in `own`, and those of the runner's `groups` function. */
async function vouchedFor(
  { setup, key }: Door,
  id: string,
  answer: Answer,
  own: readonly string[] | undefined,
): Promise<Answer> {
  const interrupt = (await lookAtThread(setup, key))?.interrupts.find((each) => each.id === id);
  return vouched(setup.memberOf, interrupt ?? {}, answer, own);
}
