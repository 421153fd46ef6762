// A run that was recorded before, for whoever asks for it again under its id: its facts, and the result they tell.

import { belayError, errorFromRecord } from "../../error.ts";
import type { Fact, RunEndEvent } from "../../event.ts";
import type { Taken } from "../../journal/state.ts";
import { asText } from "../../json.ts";
import { addUsage, messageText } from "../../message.ts";
import type { Store, ThreadKey } from "../../store/store.ts";
import { readFacts } from "./read-facts.ts";
import type { LiveRun, RunPlace, RunResult } from "./run.ts";
import { storeError } from "./store-error.ts";

/** Ends `run` as the store has it. Never rejects. */
export async function replay(store: Store, key: ThreadKey, asked: Taken, run: LiveRun): Promise<void> {
  try {
    const facts = await readFacts(store, key, 0);
    const own = facts.filter(({ runId, segment }) => runId === asked.runId && segment >= asked.segment);
    const result = recordedResult(key, own, asked);
    run.began((own[0]?.seq ?? 1) - 1, asked.seq);
    run.ended(own.at(-1)?.seq ?? 0, result);
  } catch (error) {
    const { runId, segment } = asked;
    const usage = addUsage(undefined, undefined);
    run.ended(0, { runId, segment, usage, status: "failed", error: storeError(key, error) });
  }
}

function recordedResult({ threadId }: ThreadKey, facts: readonly Fact[], asked: Taken): RunResult<never> {
  const end = facts.findLast((fact): fact is RunEndEvent => fact.type === "run-end" && !fact.runPath.includes("/"));
  const { runId } = asked;
  if (end === undefined || goesOn(facts, end)) {
    const usage = addUsage(undefined, undefined);
    const error = belayError("RUN_KNOWN", { threadId, id: runId, runId });
    return { runId, segment: asked.segment, usage, status: "failed", error };
  }
  const { segment, usage, status, finish = "stop" } = end;
  const place: RunPlace = { runId, segment, usage };
  switch (status) {
    case "completed": {
      const text = endText(facts, end.runPath);
      const output = (end.output === undefined ? text : end.output) as never;
      return { status, output, text, finish, ...place };
    }
    case "failed":
      return { status, error: errorFromRecord(end.error), ...place };
    case "terminated":
      return { status, ...place };
    default:
      return status satisfies never;
  }
}

/** It failed, and somebody resumed it. */
function goesOn(facts: readonly Fact[], end: RunEndEvent): boolean {
  return facts.some((fact) => fact.seq > end.seq && fact.type === "run-start");
}

/** The text of the last answer, with the beginnings that it continues; or of what it left with. */
function endText(facts: readonly Fact[], root: string): string {
  let text = "";
  for (const fact of facts) {
    if (fact.type === "action" && fact.runPath === root) {
      const { output } = fact.action.exit ?? fact.action.breakLoop ?? {};
      if (output !== undefined) text = asText(output);
    }
    if (fact.type !== "message" || fact.message.role !== "assistant") continue;
    text = (fact.message.continues === undefined ? "" : text) + messageText(fact.message);
  }
  return text;
}
