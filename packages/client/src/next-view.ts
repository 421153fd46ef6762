// A view in the making: the fold replaces its parts, and never changes one that the view before has, too.

import type { Fact } from "@belay/core";
import { newAgent } from "./fold-agent.ts";
import type { AgentView, CallView, RunView, SegmentView, ThreadView } from "./thread-view.ts";

export type NextView = { -readonly [K in keyof ThreadView]: ThreadView[K] };
export type FactOf<T extends Fact["type"]> = Extract<Fact, { type: T }>;

/** The agent that a fact is of. */
export type Speaker = Pick<Fact, "runPath" | "agentName" | "at">;

/** A call as a fact names it. */
type Called = Omit<Speaker, "at"> & { readonly callId: string; readonly tool: string; readonly address: string };

export function changeRun(next: NextView, change: (run: RunView) => RunView): void {
  const last = next.runs.at(-1);
  if (last !== undefined) next.runs = next.runs.with(-1, change(last));
}

export function changeSegment(next: NextView, change: (segment: SegmentView) => SegmentView): void {
  changeRun(next, (run) => {
    const last = run.segments.at(-1);
    return last === undefined ? run : { ...run, segments: run.segments.with(-1, change(last)) };
  });
}

export function changeAgent(
  next: NextView,
  { runPath, agentName, at }: Speaker,
  change: (agent: AgentView) => AgentView,
): void {
  const index = next.agents.findLastIndex((agent) => agent.path === runPath);
  const agent = change(next.agents[index] ?? newAgent(runPath, agentName, at));
  next.agents = index === -1 ? [...next.agents, agent] : next.agents.with(index, agent);
  if (!runPath.includes("/")) next.messages = agent.messages;
}

export function newCall({ callId: id, tool, address, runPath, agentName }: Called): CallView {
  const place = { id, tool, address, runPath, agentName, messageId: undefined };
  return { ...place, args: null, state: "received", requests: [], open: [], steps: [], phase: "received" };
}

/** Changes a call. One that is not known is of a message from before this view: it is made of `called`. */
export function changeCall(
  next: NextView,
  id: string,
  change: (call: CallView) => CallView,
  called?: Called,
): CallView | undefined {
  const index = next.calls.findLastIndex((call) => call.id === id);
  const known = next.calls[index] ?? (called && newCall(called));
  if (known === undefined) return undefined;
  const changed = change(known);
  const call: CallView = { ...changed, state: stateOf(changed) };
  next.calls = index === -1 ? [...next.calls, call] : next.calls.with(index, call);
  return call;
}

function stateOf({ phase, open }: CallView): CallView["state"] {
  return phase !== "ended" && open.length > 0 ? "asked" : phase;
}

/** The open calls of an agent. */
export function callsOf({ calls }: NextView, { group }: AgentView): CallView[] {
  return group.flatMap((id) => calls.findLast((call) => call.id === id) ?? []);
}
