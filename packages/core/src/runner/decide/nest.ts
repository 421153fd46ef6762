// The interrupts of a thread as its root sees them: a pure function of the agents, their record, and the open interrupts. Each
// kind of agent gives the view of its own level.

import type { Checkpoint, Definition } from "../../agent.ts";
import { turnAddress } from "../../interrupt/address.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";
import { above, type GraphInterrupt, type InterruptView, leaf, type RerunData } from "../../interrupt/view.ts";
import type { Scope, ThreadState } from "../../journal/state.ts";
import { messageText } from "../../message.ts";
import { childAt } from "./agent-at.ts";

type AnyAgent = Definition;

type Recorded = Pick<ThreadState, "scopes" | "run" | "breakpoints" | "requests">;

/** Returns the view of these interrupts by the agent at `path`. `interrupts` is not empty. A stop keeps its own words. */
export function nest(agent: AnyAgent, path: string, state: Recorded, interrupts: readonly Interrupt[]): InterruptView {
  const view = levelOf(agent, path, state, interrupts, true) ?? leaf(interrupts[0]!);
  const stop = interrupts.find(isStop);
  return stop === undefined ? view : { ...stop, data: view.data };
}

function levelOf(
  agent: AnyAgent | undefined,
  path: string,
  state: Recorded,
  all: readonly Interrupt[],
  isRoot: boolean,
): InterruptView | undefined {
  const here = all.filter((interrupt) => isStop(interrupt) || interrupt.address.startsWith(`${path}/`));
  const [first] = here;
  if (first === undefined) return undefined;
  const children = childrenOf(agent, path, state).map(({ scope, segment }) => {
    const ended = scope.ended !== undefined;
    const view = ended ? undefined : levelOf(childAt(agent, segment), scope.path, state, here, false);
    return { segment, ended, view: view && withCall(view, scope.path, path, state) };
  });
  const inside = (interrupt: Interrupt) =>
    children.some(({ segment, ended }) => !ended && interrupt.address.startsWith(`${path}/${segment}/`));
  const own = here.filter((interrupt) => !isStop(interrupt) && !inside(interrupt)).map(leaf);
  const views = children.flatMap(({ view }) => view ?? []);
  if (agent?.view !== undefined) {
    const scope = state.scopes.get(path);
    const input = scope?.input === undefined ? (scope?.given.map(messageText).join("\n") ?? null) : scope.input;
    const graph = agent.checkpoint && graphAt(agent.checkpoint(lookInto(state), path, all));
    return above(
      path,
      own[0] ?? views[0] ?? stoppedAt(first, path, scope),
      agent.view({ input, children, own, graph }),
    );
  }
  const interrupts = [...own, ...views];
  // The agent itself was stopped, or its own code asks: that is the interrupt.
  if (interrupts.length === 0) return isRoot ? leaf(first) : stoppedAt(first, path, state.scopes.get(path));
  if (own.length === 1 && views.length === 0 && agent?.chats !== true) return own[0];
  const reruns = own.filter(({ kind }) => kind === "rerun");
  return above(path, interrupts[0]!, { type: "tools", interrupts, ...rerunData(state.scopes.get(path), reruns) });
}

/** Returns the calls beside those that ask to be run again; undefined if none does. */
function rerunData(scope: Scope | undefined, reruns: readonly Interrupt[]): RerunData | undefined {
  const asking = reruns.flatMap(({ callId, extra = null }) => (callId === undefined ? [] : [[callId, extra] as const]));
  if (asking.length === 0) return undefined;
  const ended = (scope?.calls ?? []).flatMap(({ result }) => result ?? []);
  return {
    executedTools: Object.fromEntries(ended.map(({ id, output }) => [id, output])),
    rerunTools: asking.map(([callId]) => callId),
    extra: Object.fromEntries(asking),
  };
}

/** Returns the stop as it met one nested agent: with an id and an address of its own. */
function stoppedAt({ id, ...stop }: Interrupt, path: string, scope: Scope | undefined): InterruptView {
  const { calls: _calls, ...words } = stop;
  return leaf({ ...words, id: `${id}:${path}`, address: turnAddress(path, scope?.turn ?? 0) });
}

function lookInto({
  scopes,
  breakpoints = [],
  requests,
}: Recorded): Parameters<NonNullable<AnyAgent["checkpoint"]>>[0] {
  return { scope: (path) => scopes.get(path), breakpoints, request: (id) => requests?.get(id) };
}

/** Returns the parts of a checkpoint that an interrupt shows. */
function graphAt(checkpoint: Checkpoint | undefined): GraphInterrupt | undefined {
  if (checkpoint === undefined) return undefined;
  const { state, beforeNodes, afterNodes, rerunNodes } = checkpoint;
  const subGraphs = Object.fromEntries(
    Object.entries(checkpoint.subGraphs).map(([node, inside]) => [node, graphAt(inside)!]),
  );
  return { state, beforeNodes, afterNodes, rerunNodes, subGraphs };
}

/** Returns the agents directly inside, in this run. */
function childrenOf(
  agent: AnyAgent | undefined,
  path: string,
  { scopes, run }: Pick<ThreadState, "scopes" | "run">,
): readonly { readonly scope: Scope; readonly segment: string }[] {
  const found: { readonly scope: Scope; readonly segment: string }[] = [];
  for (const scope of scopes.values()) {
    if (scope.runId !== run?.id || !scope.path.startsWith(`${path}/`)) continue;
    const segment = scope.path.slice(path.length + 1);
    if (!segment.includes("/") || (agent?.chats && IN_CALL.test(segment))) found.push({ scope, segment });
  }
  return found;
}

const IN_CALL = /^t\d+\/c\d+\/[^/]+$/;

/** Adds the id of the call that an agent is inside, if it is inside one. */
function withCall(
  view: InterruptView,
  path: string,
  parent: string,
  { scopes }: Pick<ThreadState, "scopes">,
): InterruptView {
  const address = path.slice(0, path.lastIndexOf("/"));
  const call = scopes.get(parent)?.calls.find((each) => each.address === address);
  return call === undefined || view.data.type === "none" ? view : { ...view, callId: call.part.id };
}

/** True for a stop or a pause: it is an interrupt of every agent that is under way. */
function isStop({ kind }: Interrupt): boolean {
  return kind === "user" || kind === "manual";
}
