// The history of one agent as a screen shows it. The same rules as the journal's own fold in core, without the part that a
// model reads: nothing stands between calls and their results, and an answer that continues a cut one is joined with it.

import type { Message, Part } from "@belay/core";
import { addUsage } from "./add-usage.ts";
import { given } from "./given.ts";
import type { AgentView, CallView, Outcome } from "./thread-view.ts";

type ResultPart = Extract<Part, { type: "result" }>;

export function newAgent(path: string, agentName: string, startedAt: number): AgentView {
  return {
    path,
    agentName,
    state: "running",
    startedAt,
    messages: [],
    history: [],
    said: [],
    cut: false,
    group: [],
    pending: [],
    answered: 0,
  };
}

/** Adds an input. While calls are open it waits for their results. */
export function addInput(agent: AgentView, message: Message): AgentView {
  if (agent.group.length > 0) return { ...agent, pending: [...agent.pending, message] };
  return shown({ ...agent, history: [...agent.history, message], cut: false });
}

/** Adds the words of a hook after a stop. */
export function addSaid(agent: AgentView, message: Message): AgentView {
  return shown({ ...agent, said: [...agent.said, { message, after: agent.history.at(-1)?.id }] });
}

/** Adds an answer, joined with the cut one that it continues. `group` has the ids of its calls. */
export function addAnswer(agent: AgentView, message: Message, seq: number): AgentView {
  const { history, cut } = agent;
  const before = message.continues !== undefined && cut ? history.at(-1) : undefined;
  const whole = before === undefined ? message : joined(before, message);
  const group = whole.parts.flatMap((part) => (part.type === "call" ? [part.id] : []));
  return shown({
    ...agent,
    history: [...(before === undefined ? history : history.slice(0, -1)), whole],
    cut: group.length === 0 && whole.interrupted !== undefined,
    group,
    answered: seq,
  });
}

/** Shows the results of the open calls; `calls` are those. Once all have one, the inputs that waited follow. */
export function showResults(agent: AgentView, calls: readonly CallView[]): AgentView {
  const index = groupIndex(agent.history);
  const answer = agent.history[index];
  if (answer === undefined) return agent;
  const parts = calls.filter(({ phase }) => phase === "ended").map(resultPart);
  const results: Message = { id: `${answer.id}.r`, role: "tool", parts, at: answer.at, origin: "runtime" };
  const next = shown({ ...agent, history: [...agent.history.slice(0, index + 1), results] });
  return parts.length === agent.group.length ? letIn(next) : next;
}

/** Removes the calls of the last answer, and the answer if it has no text. */
export function dropGroup(agent: AgentView): AgentView {
  const answer = agent.history.at(-1);
  if (answer === undefined) return agent;
  const before = agent.history.slice(0, -1);
  const parts = answer.parts.filter((part) => part.type !== "call");
  if (!parts.some((part) => part.type === "text" && part.text.trim() !== "")) {
    return letIn(shown({ ...agent, history: before, cut: false }));
  }
  const rest: Message = { ...answer, parts, interrupted: answer.interrupted ?? { by: "user", at: answer.at } };
  return letIn(shown({ ...agent, history: [...before, rest], cut: true }));
}

/** Replaces the result of a call, if no answer follows it. */
export function replaceResult(agent: AgentView, call: CallView): AgentView {
  const { history } = agent;
  for (let i = history.length - 1; i >= 0 && history[i]!.role !== "assistant"; i -= 1) {
    const message = history[i]!;
    if (!message.parts.some((part) => isResultOf(part, call.id))) continue;
    const parts = message.parts.map((part) => (isResultOf(part, call.id) ? resultPart(call) : part));
    return shown({ ...agent, history: history.with(i, { ...message, parts }) });
  }
  return agent;
}

/** Shows the arguments that ran beside those that the model asked for. */
export function showRanArgs(agent: AgentView, { id, ranArgs, changedBy }: CallView): AgentView {
  const index = groupIndex(agent.history);
  const message = agent.history[index];
  if (message === undefined || ranArgs === undefined) return agent;
  const ran = given({ ranArgs, changedBy });
  const parts = message.parts.map((part) => (part.type === "call" && part.id === id ? { ...part, ...ran } : part));
  return shown({ ...agent, history: agent.history.with(index, { ...message, parts }) });
}

export function resultPart({ id, tool, outcome, output }: CallView): ResultPart {
  return { type: "result", id, tool, outcome: outcome as Outcome, output: output ?? null };
}

function isResultOf(part: Part, id: string): boolean {
  return part.type === "result" && part.id === id;
}

/** The message with the open calls: the last one, or the one before their results. */
function groupIndex(history: readonly Message[]): number {
  const end = history.length - 1;
  return history[end]?.role === "tool" ? end - 1 : end;
}

function letIn(agent: AgentView): AgentView {
  return agent.pending.reduce(addInput, { ...agent, group: [], pending: [] });
}

/** The two pieces of an answer that was cut and continued, as one message with the id of the first. */
export function joined(cut: Message, rest: Message): Message {
  const parts: Part[] = [
    ...rest.parts.filter((part) => part.type === "reasoning"),
    ...cut.parts.map((part): Part => (part.type === "reasoning" ? { type: "reasoning", text: part.text } : part)),
  ];
  const [next, ...more] = rest.parts.filter((part) => part.type !== "reasoning");
  const last = parts.at(-1);
  if (last?.type === "text" && next?.type === "text") {
    parts[parts.length - 1] = { type: "text", text: last.text + next.text };
    parts.push(...more);
  } else if (next !== undefined) {
    parts.push(next, ...more);
  }
  const { interrupted: _cut, ...start } = cut;
  const { id: _id, at: _at, usage: _usage, ...end } = rest;
  const usage = cut.usage === undefined && rest.usage === undefined ? undefined : addUsage(cut.usage, rest.usage);
  return { ...start, ...end, ...(usage && { usage }), parts };
}

/** The agent with its messages: the history, and the words of hooks in their places. */
function shown(agent: AgentView): AgentView {
  const { history, said } = agent;
  if (said.length === 0) return { ...agent, messages: history };
  const messages: Message[] = [];
  const left = new Set(said);
  let due: (string | undefined)[] = [undefined];
  const say = () => {
    for (const id of due) {
      for (const each of left) {
        if (each.after !== id) continue;
        messages.push(each.message);
        left.delete(each);
      }
    }
    due = [];
  };
  say();
  for (const [i, message] of history.entries()) {
    messages.push(message);
    due.push(message.id);
    // Nothing is shown between calls and their results.
    if (history[i + 1]?.role !== "tool") say();
  }
  // The messages that these followed are no longer in the history.
  for (const { message } of left) messages.push(message);
  return { ...agent, messages };
}
