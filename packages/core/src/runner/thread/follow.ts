// A run that a caller asks for again under its id (V2): its facts, and its result. The first caller has the token of a pause;
// it is not on record, so the handle that is given here has none.

import type { Definition } from "../../agent.ts";
import { errorFromRecord } from "../../error.ts";
import type { Fact, RunEndEvent } from "../../event.ts";
import { leaf } from "../../interrupt/view.ts";
import { decode } from "../../journal/codec.ts";
import { fold } from "../../journal/fold.ts";
import { openRequests } from "../../journal/requests.ts";
import { newThread, type Taken } from "../../journal/state.ts";
import { asText } from "../../json.ts";
import { addUsage, messageText } from "../../message.ts";
import type { Loaded, ThreadKey } from "../../store/store.ts";
import { handleOf } from "../decide/ending.ts";
import { nest } from "../decide/nest.ts";
import type { Setup } from "../given/setup.ts";
import type { Feed } from "../read/feed.ts";
import { loadThread } from "../read/read-facts.ts";
import type { LiveRun, RunPlace, RunResult } from "../read/run.ts";
import { storeError } from "../read/store-error.ts";
import { watched } from "../read/until-taken.ts";

interface Followed {
  readonly setup: Setup;
  readonly key: ThreadKey;
  readonly agent: Definition;
  readonly feed: Feed;
}

/** Ends `run` when the run that was taken there rests, in whichever process it runs. Never rejects. */
export async function follow(thread: Followed, taken: Taken, run: LiveRun): Promise<void> {
  const { setup, key } = thread;
  const { runId, segment } = taken;
  const news = watched(setup, key);
  try {
    for (;;) {
      const loaded = await loadThread(setup.store, key);
      const facts = (loaded?.lines ?? []).flatMap((line) => decode(key.threadId, line));
      const own = facts.filter((fact) => fact.runId === runId && fact.segment >= segment);
      run.began((own[0]?.seq ?? 1) - 1, taken.seq);
      // Facts of it are on record already.
      thread.feed.lookAgain();
      const result = endOf(own) ?? (loaded && restOf(thread, loaded, own, taken));
      if (result !== undefined) return run.ended(own.at(-1)?.seq ?? 0, result);
      await untilItRests(setup, key, news.come);
    }
  } catch (error) {
    const usage = addUsage(undefined, undefined);
    run.ended(0, { runId, segment, usage, status: "failed", error: storeError(key, error) });
  } finally {
    news.end();
  }
}

/** Waits for the process that runs it, by its row alone. */
async function untilItRests({ store }: Setup, key: ThreadKey, come: () => Promise<void>): Promise<void> {
  for (;;) {
    await come();
    const row = (await loadThread(store, key, Number.MAX_SAFE_INTEGER))?.row;
    if (row?.lease === undefined || row.state !== "running") return;
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

/** Returns the result of a run at rest; undefined while a process runs it. */
function restOf(
  { agent, key }: Followed,
  { row, lines }: Loaded,
  own: readonly Fact[],
  { runId, segment }: Taken,
): RunResult<never> | undefined {
  if (row.lease !== undefined && row.state === "running") return undefined;
  const last = own.at(-1)?.segment;
  const isPause = (fact: Fact) => fact.type === "state" && fact.state === "paused" && fact.segment === last;
  // As the first caller saw it: requests may have been answered since.
  const upTo = own.find(isPause)?.seq ?? Number.POSITIVE_INFINITY;
  const state = newThread(key.threadId);
  fold(
    state,
    lines.filter((line) => line.seq <= upTo),
  );
  const { usage = addUsage(undefined, undefined), segment: at = segment } = state.run ?? {};
  const pauseType = state.state === "running" ? "crash" : (state.pauseType ?? "manual");
  const interrupts = [...openRequests(state), ...state.interrupts];
  const place = { threadId: key.threadId, runId, segment: at };
  const [first] = interrupts;
  // A crash leaves no interrupt on record.
  const crash = { kind: "manual", address: agent.name, raisedAt: row.updatedAt, by: "runtime" } as const;
  const interrupt =
    first === undefined ? leaf({ id: `${runId}.${at}`, ...crash }) : nest(agent, agent.name, state, interrupts);
  const cut = own.flatMap((fact) =>
    fact.type === "message" && fact.segment === at && fact.message.interrupted ? [messageText(fact.message)] : [],
  );
  const handle = handleOf(place, pauseType, "");
  const partialText = cut.join("");
  return {
    status: "interrupted",
    interruptType: pauseType,
    handle,
    interrupts,
    interrupt,
    partialText,
    runId,
    segment: at,
    usage,
  };
}
