// The interrupts of a thread as its root sees them: a pure function of what the agents are, what they have on record, and
// what is open. What each level looks like the agents themselves know.

import type { Agent } from "../../agent.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";
import { type InterruptData, type InterruptView, leaf, type RerunData } from "../../interrupt/view.ts";
import type { Scope, ThreadState } from "../../journal/state.ts";
import { messageText } from "../../message.ts";
import { childAt } from "./agent-at.ts";

type AnyAgent = Agent<unknown, never>;

/** `interrupts` is not empty. */
export function nest(
  agent: AnyAgent,
  path: string,
  state: Pick<ThreadState, "scopes" | "run">,
  interrupts: readonly Interrupt[],
): InterruptView {
  return levelOf(agent, path, state, interrupts) ?? leaf(interrupts[0]!);
}

function levelOf(
  agent: AnyAgent | undefined,
  path: string,
  state: Pick<ThreadState, "scopes" | "run">,
  all: readonly Interrupt[],
): InterruptView | undefined {
  const here = all.filter((interrupt) => isStop(interrupt) || interrupt.address.startsWith(`${path}/`));
  const [first] = here;
  if (first === undefined) return undefined;
  const children = childrenOf(agent, path, state).map(({ scope, segment }) => {
    const ended = scope.ended !== undefined;
    const view = ended ? undefined : levelOf(childAt(agent, segment), scope.path, state, here);
    return { segment, ended, view: view && withCall(view, scope.path, path, state) };
  });
  const inside = (interrupt: Interrupt) =>
    children.some(({ segment, ended }) => !ended && interrupt.address.startsWith(`${path}/${segment}/`));
  const own = here.filter((interrupt) => !isStop(interrupt) && !inside(interrupt)).map(leaf);
  const views = children.flatMap(({ view }) => view ?? []);
  if (agent?.view !== undefined) {
    const scope = state.scopes.get(path);
    const input = scope?.input === undefined ? (scope?.given.map(messageText).join("\n") ?? null) : scope.input;
    return above(path, own[0] ?? views[0] ?? first, agent.view({ input, children, own }));
  }
  const interrupts = [...own, ...views];
  // It was stopped itself, or its own code asks: that is the interrupt.
  if (interrupts.length === 0) return leaf(first);
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

/** The agents directly inside, in this run. */
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

/** Where it is an agent inside a call: which. */
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

/** What is told of the first one below, and where that is. */
function above(path: string, first: Interrupt, data: InterruptData): InterruptView {
  const { id, kind, raisedAt, by, reason, message } = first;
  const words = { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
  return { id, kind, address: path, raisedAt, by, data, ...words };
}

/** Whatever is under way is stopped by it. */
function isStop({ kind }: Interrupt): boolean {
  return kind === "user" || kind === "manual";
}
