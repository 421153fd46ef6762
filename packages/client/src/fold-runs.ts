// Runs, their segments, agents and messages.

import type { PauseType, SessionState } from "@belay/core";
import { addUsage } from "./add-usage.ts";
import { addAnswer, addInput, addSaid, newAgent } from "./fold-agent.ts";
import { closeCalls, holdRest } from "./fold-calls.ts";
import { answeredDraft, restingDraft, summedDraft } from "./fold-draft.ts";
import { listInterrupts } from "./fold-requests.ts";
import { given } from "./given.ts";
import { changeAgent, changeRun, changeSegment, type FactOf, type NextView, newCall } from "./next-view.ts";
import type { AgentView, CallView } from "./thread-view.ts";

export function startRun(next: NextView, fact: FactOf<"run-start">): void {
  const { runId, segment, agentName, at } = fact;
  next.agent ??= agentName;
  const known = next.runs.at(-1)?.runId === runId;
  next.runId = runId;
  next.segment = segment;
  if (known) {
    changeRun(next, ({ status: _status, error: _error, finish: _finish, output: _output, ...run }) => run);
  } else {
    next.runs = [...next.runs, { runId, startedAt: at, segments: [], usage: addUsage(undefined, undefined) }];
    next.usage = next.runs.at(-1)!.usage;
  }
  changeAgent(next, fact, (agent) => begun(agent, known ? agent.startedAt : at, agentName));
}

export function startChild(next: NextView, fact: FactOf<"run-start">): void {
  const { runPath, agentName, at, input, fresh } = fact;
  changeAgent(next, fact, (agent) => ({
    ...begun(fresh || agent.over ? newAgent(runPath, agentName, at) : agent, at, agentName),
    ...given({ input }),
  }));
}

function begun(agent: AgentView, startedAt: number, agentName: string): AgentView {
  const { endedAt: _ended, output: _output, error: _error, ...rest } = agent;
  return { ...rest, state: "running", startedAt, agentName };
}

export function endRun(next: NextView, fact: FactOf<"run-end">): void {
  const { runPath, at, status, finish, error, output } = fact;
  const more = given({ error, output });
  changeAgent(next, fact, (agent) => ({ ...agent, state: status, endedAt: at, ...more }));
  if (!runPath.includes("/")) changeRun(next, (run) => ({ ...run, status, ...given({ finish }), ...more }));
}

export function addMessage(next: NextView, fact: FactOf<"message">): void {
  const { message, runPath, agentName, seq } = fact;
  const change = (how: (agent: AgentView) => AgentView) => changeAgent(next, fact, how);
  if (message.usage !== undefined) {
    next.usage = addUsage(next.usage, message.usage);
    next.spent = addUsage(next.spent, message.usage);
    changeRun(next, (run) => ({ ...run, usage: next.usage }));
  }
  if (message.isInterrupted) return change((agent) => addSaid(agent, message));
  // A summary is for models: readers keep the messages that it covers.
  if (message.summary !== undefined) {
    next.draft = summedDraft(next.draft, runPath);
    return;
  }
  if (message.role !== "assistant") return change((agent) => addInput(agent, message));
  change((agent) => ({ ...addAnswer(agent, message, seq), agentName }));
  next.draft = answeredDraft(next.draft, runPath);
  if (message.interrupted !== undefined) {
    const text = message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    changeSegment(next, (segment) => ({ ...segment, kept: segment.kept + text }));
  }
  // A continued answer is shown under the id of its beginning.
  const messageId = next.agents.find(({ path }) => path === runPath)?.history.at(-1)?.id;
  let index = 0;
  const calls = message.parts.flatMap((part): CallView[] => {
    if (part.type !== "call") return [];
    const { id: callId, tool, args } = part;
    const address = `${runPath}/t${fact.turn}/c${index++}`;
    return [{ ...newCall({ callId, tool, address, runPath, agentName }), messageId, args }];
  });
  if (calls.length > 0) next.calls = [...next.calls, ...calls];
}

export function moveTo(next: NextView, fact: FactOf<"state">): void {
  const { state, pauseType, interrupts = [], segment, at, seq, forked } = fact;
  const was = next.state;
  const stays = was === "paused" && state === "paused";
  next.state = state;
  next.pauseType = pauseType;
  next.segment = segment;
  next.since = seq;
  next.draft = restingDraft;
  if (forked !== undefined) next.forked = { threadId: forked.threadId, seq: forked.seq };
  listInterrupts(next, interrupts);
  if (state === "running") {
    if (was === "running") endSegment(next, at, "paused", "crash");
    changeRun(next, (run) => ({ ...run, segments: [...run.segments, { segment, startedAt: at, kept: "" }] }));
  } else if (stays) {
    changeSegment(next, (last) => ({ ...last, ...given({ pauseType }) }));
  } else if (state !== "initialized") {
    endSegment(next, at, state, pauseType);
  }
  if (state !== "running") holdRest(next);
  if (fact.mode !== "rethink") return;
  const { to, repair = "synthetic" } = fact;
  closeCalls(
    next,
    repair,
    at,
    ({ path }) => to === undefined || to.some((each) => path === each || path.startsWith(`${each}/`)),
  );
}

function endSegment(next: NextView, at: number, ended: SessionState, pauseType: PauseType | undefined): void {
  changeSegment(next, (last) => (last.ended ? last : { ...last, endedAt: at, ended, ...given({ pauseType }) }));
}
