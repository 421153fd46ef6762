// A private door for the testkit and the checks of this repository. It is not in package.json and not in the build.

export { tokensBeside } from "./chat/tokens-of.ts";
export { catalogue } from "./error.ts";
export { isFact } from "./event.ts";
export { isRequest } from "./interrupt/interrupt.ts";
export type { Line } from "./journal/codec.ts";
export { fold as foldLines, folded } from "./journal/fold.ts";
export { shownMessages } from "./journal/history.ts";
export { LineReader } from "./journal/line-reader.ts";
export { isWithin } from "./journal/reduce.ts";
export { lateNote, resultPart } from "./journal/render.ts";
export { openRequests } from "./journal/requests.ts";
export { newThread } from "./journal/state.ts";
export { moves } from "./lifecycle.ts";
export { isBlank } from "./message.ts";
export { onPoint } from "./point.ts";
export { threadOf } from "./runner/front/session.ts";
export { readFacts } from "./runner/read/read-facts.ts";
export { moveOn } from "./runner/thread/move-on.ts";
export { startQueued } from "./runner/thread/start-queued.ts";
export type { Append, Command, RequestRow, RuleRow, ThreadKey, ThreadRow } from "./store/store.ts";
export { wrapStore } from "./store/wrap-store.ts";
export type { Fault, FaultyOperation, FaultyStore } from "./testing/faulty-store.ts";
export { faultyStore } from "./testing/faulty-store.ts";
export type { GivenInput } from "./testing/journal-checks.ts";
export {
  factProblems,
  inputProblems,
  inputsIn,
  prefixProblems,
  resultsIn,
} from "./testing/journal-checks.ts";
export { anthropicProblems } from "./testing/providers/anthropic.ts";
export { OPENAI_NAME, openAiProblems } from "./testing/providers/openai.ts";
export type { Wire } from "./testing/providers/wire.ts";
export { holdsJson, isObject, isText, show } from "./testing/providers/wire.ts";
export type { Effect, SaidAnswer } from "./testing/request-checks.ts";
export { answerProblems, effectProblems } from "./testing/request-checks.ts";
export type { ToolOptions } from "./tool/tool.ts";
