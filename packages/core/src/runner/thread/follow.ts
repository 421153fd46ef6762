// A run that a caller asks for again under its id (V2): its facts, and its result. The first caller has the token of a pause;
// it is not on record, so the handle that is given here has none.

import type { Definition } from "../../agent.ts";
import { belayError, errorFromRecord } from "../../error.ts";
import type { Fact, RunEndEvent } from "../../event.ts";
import { leaf } from "../../interrupt/view.ts";
import { decode, type Line } from "../../journal/codec.ts";
import { folded } from "../../journal/fold.ts";
import { openRequests } from "../../journal/requests.ts";
import type { Taken } from "../../journal/state.ts";
import { asText } from "../../json.ts";
import { addUsage, messageText } from "../../message.ts";
import type { ThreadKey, ThreadRow } from "../../store/store.ts";
import { handleOf } from "../decide/ending.ts";
import { nest } from "../decide/nest.ts";
import type { Setup } from "../given/setup.ts";
import type { Feed } from "../read/feed.ts";
import { loadThread } from "../read/read-facts.ts";
import type { LiveRun, RunPlace, RunResult } from "../read/run.ts";
import { storeError } from "../read/store-error.ts";
import { untilRests } from "../read/until-taken.ts";

interface Followed {
  readonly setup: Setup;
  readonly key: ThreadKey;
  readonly agent: Definition;
  readonly feed: Feed;
}

/** Ends `run` when the run that was taken there rests, in whichever process it runs. Never rejects. */
export async function follow(thread: Followed, taken: Taken, run: LiveRun): Promise<void> {
  const { setup, key, feed } = thread;
  const { threadId } = key;
  const { runId, segment } = taken;
  try {
    for (;;) {
      const { row, lines } = (await loadThread(setup.store, key)) ?? { lines: [] };
      const own = lines
        .flatMap((line) => decode(threadId, line))
        .filter((fact) => fact.runId === runId && fact.segment >= segment);
      // The thread was deleted. Another one may have its name.
      if (row === undefined || own.length === 0) throw belayError("THREAD_UNKNOWN", { threadId });
      run.began(own[0]!.seq - 1, taken.seq);
      // Facts of it are on record already.
      feed.lookAgain();
      const isUnderWay = row.lease !== undefined && row.state === "running";
      const result = endOf(own) ?? (isUnderWay ? undefined : pauseOf(thread, row, lines, own));
      if (result !== undefined) return run.ended(own.at(-1)!.seq, result);
      await untilRests(setup, key);
    }
  } catch (error) {
    const usage = addUsage(undefined, undefined);
    run.ended(0, { runId, segment, usage, status: "failed", error: storeError(key, error) });
  }
}

/** Returns the result of a run that has ended; undefined if it has not, or was resumed after a failure. */
function endOf(facts: readonly Fact[]): RunResult<never> | undefined {
  const end = facts.findLast((fact): fact is RunEndEvent => fact.type === "run-end" && !fact.runPath.includes("/"));
  if (end === undefined || facts.some((fact) => fact.seq > end.seq && fact.type === "run-start")) return undefined;
  const { runId, segment, usage, status, finish = "stop" } = end;
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

/** Returns the text of the last answer, with the beginnings that it continues, or the output of an action that ended the run. */
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

/** Returns the result of a run that has paused or crashed, as its first caller saw it: requests may have been answered since. */
function pauseOf(
  { agent, key }: Followed,
  { updatedAt }: ThreadRow,
  lines: readonly Line[],
  own: readonly Fact[],
): RunResult<never> {
  const { runId, segment } = own.at(-1)!;
  const inSegment = own.filter((fact) => fact.segment === segment);
  const paused = inSegment.find((fact) => fact.type === "state" && fact.state === "paused");
  const upTo = paused?.seq ?? Number.POSITIVE_INFINITY;
  const state = folded(
    key.threadId,
    lines.filter((line) => line.seq <= upTo),
  );
  const interruptType = state.state === "running" ? "crash" : (state.pauseType ?? "manual");
  const interrupts = [...openRequests(state), ...state.interrupts];
  // A crash leaves no interrupt on record.
  const crash = { kind: "manual", address: agent.name, raisedAt: updatedAt, by: "runtime" } as const;
  const interrupt =
    interrupts.length === 0
      ? leaf({ id: `${runId}.${segment}`, ...crash })
      : nest(agent, agent.name, state, interrupts);
  const cut = inSegment.flatMap((fact) =>
    fact.type === "message" && fact.message.interrupted ? [messageText(fact.message)] : [],
  );
  const place: RunPlace = { runId, segment, usage: state.run!.usage };
  const handle = handleOf({ threadId: key.threadId, ...place }, interruptType, "");
  return { status: "interrupted", interruptType, handle, interrupts, interrupt, partialText: cut.join(""), ...place };
}
