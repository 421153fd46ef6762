// Calls: received with their message, started, held, ended, late.

import { addInput, dropGroup, replaceResult, resultPart, showRanArgs, showResults } from "./fold-agent.ts";
import { endedDraft } from "./fold-draft.ts";
import { given } from "./given.ts";
import { callsOf, changeAgent, changeCall, type FactOf, type NextView } from "./next-view.ts";
import type { AgentView, CallView, Outcome } from "./thread-view.ts";

export function startCall(next: NextView, fact: FactOf<"tool-start">): void {
  const { callId, args, ranArgs, changedBy, rule, at } = fact;
  const call = changeCall(
    next,
    callId,
    ({ resumes: _resumes, changedBy: by, ...known }) => ({
      ...known,
      args,
      phase: "running",
      startedAt: at,
      ...given({ ranArgs, changedBy: ranArgs === undefined ? by : changedBy, rule }),
    }),
    fact,
  );
  if (ranArgs === undefined || call === undefined) return;
  changeAgent(next, fact, (agent) => (agent.group.includes(callId) ? showRanArgs(agent, call) : agent));
}

export function holdCall(next: NextView, { callId, outcome }: FactOf<"tool-end">): void {
  next.draft = endedDraft(next.draft, callId);
  changeCall(next, callId, (call) => ({
    ...call,
    phase: "held",
    ...(outcome === "unknown" && { cut: true }),
    ...(outcome === "interrupted" && { resumes: true }),
  }));
}

export function endCall(next: NextView, fact: FactOf<"tool-end">): void {
  const { callId, address, outcome, output, at } = fact;
  next.draft = endedDraft(next.draft, callId);
  changeCall(next, callId, (call) => ({ ...call, phase: "ended", outcome, output, endedAt: at }), fact);
  changeAgent(next, fact, (agent) => (agent.group.includes(callId) ? showResults(agent, callsOf(next, agent)) : agent));
  // Calls of agents inside it can run no more.
  const isInside = ({ path }: AgentView) => path.startsWith(`${address}/`);
  if (!next.agents.some(isInside)) return;
  closeCalls(next, "synthetic", at, isInside);
  next.agents = next.agents.map((agent) => (isInside(agent) ? { ...agent, over: true } : agent));
}

export function lateCall(next: NextView, fact: FactOf<"tool-late">): void {
  const { callId, outcome, output, as, at } = fact;
  const late = { at, outcome, output, as };
  const call = changeCall(
    next,
    callId,
    (known) => ({ ...known, phase: "ended", late, ...(as === "replace" && { outcome, output }) }),
    fact,
  )!;
  changeAgent(next, fact, (agent) => {
    if (as === "replace") return replaceResult(agent, call);
    const parts = [resultPart({ ...call, outcome, output })];
    return addInput(agent, { id: `${callId}.late`, role: "user", parts, at, origin: "runtime" });
  });
}

/** Ends the open calls of the agents that `which` picks, without running them. `drop` removes them if none of them ever ran. */
export function closeCalls(
  next: NextView,
  repair: "synthetic" | "drop",
  at: number,
  which: (agent: AgentView) => boolean,
): void {
  for (const agent of next.agents) {
    if (agent.group.length === 0 || !which(agent)) continue;
    const calls = callsOf(next, agent);
    const drop = repair === "drop" && calls.every((call) => unrun(call) === "not-executed");
    for (const call of calls) {
      const outcome = unrun(call);
      if (outcome === undefined) continue;
      const end = { phase: "ended", outcome, output: null, endedAt: at } as const;
      changeCall(next, call.id, (known) => ({ ...known, ...end, ...(drop && { dropped: true }) }));
    }
    changeAgent(next, { runPath: agent.path, agentName: agent.agentName, at }, (now) =>
      drop ? dropGroup(now) : showResults(now, callsOf(next, now)),
    );
  }
}

/** The outcome of a call that is closed without running on; undefined if it has ended. */
function unrun({ phase, resumes, cut }: CallView): Outcome | undefined {
  if (phase === "ended") return undefined;
  if (phase === "running") return "unknown";
  return resumes ? "interrupted" : cut ? "unknown" : "not-executed";
}

/** Calls that have not started run when the thread continues. */
export function holdRest(next: NextView): void {
  for (const agent of next.agents) {
    for (const call of callsOf(next, agent)) {
      if (call.phase === "received") changeCall(next, call.id, (known) => ({ ...known, phase: "held" }));
    }
  }
}
