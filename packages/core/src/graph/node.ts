// A function as a node: user code with durable steps, questions and agents inside it, and the state of its graph.

import type { Ended } from "../agent.ts";
import { belayError, shown } from "../error.ts";
import type { Fact, Patch } from "../event.ts";
import type { Frame } from "../frame.ts";
import { approvalOf } from "../interrupt/decision.ts";
import type { Approval } from "../interrupt/request.ts";
import { rerunInterrupt } from "../interrupt/rerun.ts";
import { fitting, frozen, type Json, toJson } from "../json.ts";
import { type AnyAgent, composite } from "../workflow/composite.ts";
import { type AgentContext, isToRerun, LiveAgent } from "../workflow/live-agent.ts";
import { requestBefore } from "./approval.ts";
import type { State } from "./flow.ts";
import { graphAt, nodeAt } from "./halt.ts";

/** The second argument of a node function: the graph's state, and everything that a custom agent has. */
export interface NodeContext<State, Deps = unknown> extends AgentContext<Deps> {
  /** The graph's state when this code began, with its own changes. It is frozen. */
  readonly state: Readonly<State>;
  /**
   * Changes the state: the keys that `change` returns replace those of the state. Recorded with the output of the node, and
   * applied to the state at that moment: `change` is called more than once, and must be pure.
   */
  setState(change: (state: State) => Partial<State>): void;
  /**
   * The decision about this node, if it is in `approveBefore`, or about the node whose `onReject` led here: the approver,
   * the time, and the note.
   */
  readonly approval?: Approval;
}

export type NodeCode = (input: never, ctx: never) => unknown;

type Change = (state: never) => object;

const CHANGES = "What setState() changes";

/** The values that a function node reads besides its input. */
export interface NodeSetup {
  readonly key: string;
  readonly initial: State;
  /** The nodes with `onReject` to this node. */
  readonly rejections: readonly string[];
}

export function functionNode(code: NodeCode, setup: NodeSetup): AnyAgent {
  const { key } = setup;
  return composite({
    kind: "custom",
    name: key,
    children: [],
    plain: true,
    run: (frame) => runNode(frame, code, setup),
  });
}

async function runNode(frame: Frame, code: NodeCode, setup: NodeSetup): Promise<Ended> {
  const { key, initial } = setup;
  const { runPath } = frame.place;
  if (frame.desk.isToRerun(visitAt(runPath))) return isToRerun;
  const hot = frame.desk.hot.take(runPath);
  const stays = hot instanceof LiveNode && hot.canGoOn(frame);
  if (!stays) hot?.drop();
  const live = stays ? hot : new LiveNode(key, frame);
  const ended = await (stays
    ? live.adopt(frame)
    : live.startNode(code, () => stateAround(frame, initial), approvalFor(frame, setup)));
  if (ended.how !== "completed" || live.changes.length === 0) return ended;
  return { ...ended, patch: () => live.patch(stateAround(frame, initial)) };
}

/** Returns the address of the visit that a node with this path runs for. */
function visitAt(runPath: string): string {
  return runPath.slice(0, runPath.lastIndexOf(":"));
}

/** Returns the decision that let this visit begin: about the node itself, or the last rejection that leads here. */
function approvalFor({ desk, place }: Frame, { key, rejections }: NodeSetup): Approval | undefined {
  const visit = visitAt(place.runPath);
  const graph = desk.scope(visit.slice(0, visit.lastIndexOf("/")));
  if (graph?.steps === undefined) return undefined;
  const own = requestBefore(graph, visit.slice(visit.lastIndexOf("/") + 1), (id) => desk.request(id));
  if (own !== undefined) return approvalOf(own.decision);
  const asked = graph.steps.flatMap(({ requestId }) =>
    requestId === undefined ? [] : (desk.request(requestId) ?? []),
  );
  const led = asked.filter(({ interrupt: { node }, decision }) => {
    return node !== key && rejections.includes(node ?? "") && approvalOf(decision)?.approved === false;
  });
  led.sort((a, b) => (a.settled ?? 0) - (b.settled ?? 0));
  return approvalOf(led.at(-1)?.decision);
}

/** The state of the graph around it, as it is on record. */
function stateAround({ desk, place }: Frame, initial: State): State {
  const path = place.runPath.slice(0, place.runPath.lastIndexOf("/"));
  return { ...initial, ...desk.scope(path)?.state };
}

class LiveNode extends LiveAgent {
  readonly changes: Change[] = [];
  #own: Patch = {};

  startNode(code: NodeCode, begin: () => State, approval: Approval | undefined): Promise<Ended> {
    let state = structuredClone(begin());
    const setState = (change: Change) => {
      const changed = changedBy(state, change);
      this.#own = this.recordable("setState", { ...this.#own, ...changed }, CHANGES) as Patch;
      this.changes.push(change);
      state = { ...state, ...changed };
    };
    return this.start(async (ctx, input) => {
      // Frozen: a write into it, without setState(), would be lost silently.
      const look = () => frozen(state);
      Object.defineProperties(ctx, { state: { get: look }, setState: { value: setState } });
      if (approval !== undefined) Object.defineProperty(ctx, "approval", { value: frozen(approval) });
      return code(structuredClone(input) as never, ctx as never);
    });
  }

  /** The graph lists it, at the address of the visit (G2). */
  protected override rerunFact(frame: Frame, extra: Json): Fact {
    const { place, clock, scope, hears } = frame;
    const address = visitAt(place.runPath);
    const by = graphAt(address);
    const node = nodeAt(address);
    const message = `interrupt happened, rerun nodes: [${node}]`;
    const around = frame.child(by, address.slice(0, address.lastIndexOf("/")), scope, hears);
    return around.raised(rerunInterrupt(place, clock, extra, { address, by, node, message }));
  }

  /**
   * Applies its changes to the state as other nodes have left it; if that fails, to the state that it saw itself. Throws
   * `TOO_LARGE` if only both together are too large: its own view would undo the changes of others.
   */
  patch(now: State): Patch | undefined {
    let patch: Patch = {};
    try {
      let state = now;
      for (const change of this.changes) {
        const changed = changedBy(state, change);
        state = { ...state, ...changed };
        patch = { ...patch, ...changed };
      }
    } catch {
      // It did not throw when it was given.
      patch = this.#own;
    }
    return Object.keys(patch).length === 0 ? undefined : fitting(patch, CHANGES, this.maxBytes);
  }
}

/** Returns the top-level keys with a changed value. */
function changedBy(state: State, change: Change): Patch {
  if (typeof change !== "function") {
    const needed = "a function of the state, which gives what it changes";
    throw belayError("OPTION_INVALID", { option: "setState()", value: shown(change), needed });
  }
  const next = toJson(change(structuredClone(state) as never), "The state of a graph");
  if (typeof next !== "object" || next === null || Array.isArray(next)) {
    const needed = "the keys that it changes, with their values; it is not changed in place";
    throw belayError("OPTION_INVALID", { option: "setState()", value: JSON.stringify(next), needed });
  }
  return Object.fromEntries(
    Object.entries(next).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(state[key])),
  );
}
