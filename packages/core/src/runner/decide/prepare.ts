// Asks user code about a command, before it is decided: schemas, groups, hooks, drift functions. Asynchronous, and of no effect
// on the thread. The state may have moved by the time that the command is decided: `decide` judges it anew.

import type { Definition } from "../../agent.ts";
import { BelayError, belayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import { type Drift, type DriftReport, driftReport, driftWords, type Fingerprint } from "../../fingerprint.ts";
import type { FramePlace } from "../../frame.ts";
import { withinGrace } from "../../hooks/call-hooks.ts";
import type { Answer } from "../../interrupt/answer.ts";
import type { StopSignal } from "../../interrupt/stop-signal.ts";
import { vouched } from "../../interrupt/vouched.ts";
import type { ThreadState } from "../../journal/state.ts";
import type { ThreadKey } from "../../store/store.ts";
import { sayAfterStop, speakersOf } from "./after-stop.ts";
import { type AnswerChecker, checkAnswer } from "./check-answer.ts";
import { aimedAt, beginsSegment, type Command, type Inputs, type ResumeCommand } from "./command.ts";
import { driftFact } from "./facts.ts";
import { judge } from "./judge.ts";
import { steersFor } from "./mail.ts";
import { placeIn } from "./place-in.ts";
import { nothingAsked, type Prepared } from "./prepared.ts";
import { inputsAfterHooks, stopped } from "./reply-input.ts";
import { effectOf, undecided } from "./resume.ts";
import { stopAtRest } from "./signal.ts";

interface Preparer extends AnswerChecker {
  readonly key: ThreadKey;
  /** Calls that were left behind and still run. */
  readonly behind: readonly string[];
}

/** Prepares a command for a state of the thread. */
export type Prepare = (state: ThreadState) => Promise<Prepared>;

/** Returns the function that prepares a command. Hooks on its input are called once, however often it has to be decided. */
export function preparing(preparer: Preparer, command: Command, place: FramePlace, signal: StopSignal): Prepare {
  const { clock } = preparer.setup;
  let hooked: Promise<Inputs> | undefined;
  let said: Promise<readonly Fact[]> | undefined;
  /** Asks user code. A stop gives it its grace; then the command does not begin, and nothing of it is recorded. */
  const ask: Ask = async (work) => {
    if (!(work instanceof Promise)) return work;
    const done = await withinGrace({ signal, clock }, work);
    if (done === undefined) throw stopped(signal);
    return done;
  };
  const afterHooks = (inputs: Inputs) => {
    if (hooked !== undefined) return hooked;
    const asked = inputsAfterHooks(preparer, place, inputs, signal);
    if (asked === undefined) return inputs;
    hooked = ask(asked);
    return hooked;
  };
  return async (state) => {
    try {
      // A hook is not called for a command that the thread does not take.
      if (beginsSegment(command)) judge(state, command, place);
      switch (command.do) {
        case "answer": {
          const checked = checkAnswer(preparer, state, command.request, command.answer);
          return checked === undefined ? nothingAsked : await ask(checked.then(() => nothingAsked));
        }
        case "run":
          return { ...nothingAsked, inputs: await afterHooks(command.inputs) };
        case "resume":
          return await prepareResume(preparer, place, state, command, ask, afterHooks);
        case "stop": {
          const at = placeIn(state, place);
          const { stop: asked } = command;
          const here = { place: at, asked, late: preparer.behind, now: clock.now() };
          const interrupt = stopAtRest(state, aimedAt(command, at), here);
          if (interrupt !== undefined) {
            const stop = { interrupt, partialText: "", graceMs: asked.graceMs };
            said ??= sayAfterStop(speakersOf(preparer, at, state, signal), stop);
          }
          return { ...nothingAsked, said: (await said) ?? [] };
        }
        default:
          return nothingAsked;
      }
    } catch (error) {
      if (error instanceof BelayError) return { ...nothingAsked, refusal: error };
      throw error;
    }
  };
}

/** Waits for user code. Without any, `work` is its result. */
type Ask = <T extends object>(work: T | Promise<T>) => Promise<T>;

async function prepareResume(
  preparer: Preparer,
  place: FramePlace,
  state: ThreadState,
  command: ResumeCommand,
  ask: Ask,
  afterHooks: (inputs: Inputs) => Inputs | Promise<Inputs>,
): Promise<Prepared> {
  const answers: (readonly [string, Answer])[] = [];
  for (const [id, answer] of command.answers) {
    answers.push([id, await ask(judged(preparer, state, command, id, answer))]);
  }
  const inputs = await afterHooks(command.inputs);
  const drifted = await ask(driftOf(preparer.agent, place, state, command.drift));
  const open = undecided(state, command, preparer.setup.clock.now());
  const { question } = effectOf(state.threadId, command, inputs.length > 0, open);
  if (question !== undefined) {
    const words = { type: "respond", value: textOf(question.id, inputs) } as const;
    const reply = await ask(judged(preparer, state, command, question.id, words));
    return { inputs, answers, reply, drifted, unread: [] };
  }
  // Read last: a steer that is sent while hooks are asked stands before the new input, too.
  const waiting = inputs.length === 0 ? [] : await steersFor(preparer.setup.store, preparer.key);
  return { inputs, answers, drifted, unread: waiting.filter(({ key }) => key !== command.row) };
}

/** Returns the answer with the name and the groups of the person that gives it. Throws an ANSWER_ refusal. */
function judged(
  preparer: Preparer,
  state: ThreadState,
  { by, groups }: ResumeCommand,
  id: string,
  answer: Answer,
): Answer | Promise<Answer> {
  const signed = answer.by === undefined && by !== undefined ? { ...answer, by } : answer;
  const check = (known: Answer) => checkAnswer(preparer, state, id, known)?.then(() => known) ?? known;
  const { memberOf } = preparer.setup;
  if (memberOf === undefined && groups === undefined) return check(signed);
  return vouched(memberOf, state.requests?.get(id)?.interrupt ?? {}, signed, groups).then(check);
}

function textOf(id: string, inputs: Inputs): string {
  const parts = inputs.flatMap((input) => input.parts);
  if (parts.some(({ type }) => type !== "text")) {
    throw belayError("ANSWER_INVALID", { id, problem: "more than text cannot answer a question" });
  }
  return inputs.map((input) => input.parts.map((part) => (part.type === "text" ? part.text : "")).join("")).join("\n");
}

/** Returns the fact for an agent that differs from the one that the run began with. Throws DRIFT_REFUSED. */
function driftOf(
  agent: Definition,
  place: FramePlace,
  state: ThreadState,
  wanted: Drift,
): readonly Fact[] | Promise<readonly Fact[]> {
  const print = agent.fingerprint();
  const report = state.fingerprint === undefined ? undefined : driftReport(state.fingerprint, print);
  return report === undefined ? [] : accepted(report, print, place, wanted);
}

async function accepted(
  report: DriftReport,
  print: Fingerprint,
  place: FramePlace,
  wanted: Drift,
): Promise<readonly Fact[]> {
  const refused = (cause?: unknown) =>
    belayError("DRIFT_REFUSED", { threadId: place.threadId, changes: driftWords(report), report }, cause);
  let verdict: Awaited<ReturnType<Extract<Drift, (...args: never) => unknown>>>;
  try {
    verdict = typeof wanted === "function" ? await wanted(report) : wanted;
  } catch (error) {
    throw refused(error);
  }
  if (verdict === "refuse" || verdict === false) throw refused();
  return [driftFact(place, report, print)];
}
