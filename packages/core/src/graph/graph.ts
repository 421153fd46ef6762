// graph(…): nodes that are functions, agents or graphs, and the ways between them. Compiled, it is an agent like any other.

import { type Agent, definitionOf, published } from "../agent.ts";
import type { GraphDescription } from "../describe.ts";
import { belayError, shown } from "../error.ts";
import type { HooksGiven } from "../hooks/hooks.ts";
import { canonical } from "../interrupt/digest.ts";
import { type Approval, type Request, readRequest } from "../interrupt/request.ts";
import { type Json, toJson } from "../json.ts";
import { NAME } from "../message.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { type AnyAgent, composite } from "../workflow/composite.ts";
import type { ApprovalPoint, ApprovalPoints } from "./approval.ts";
import { checkpointOf } from "./checkpoint.ts";
import type { State as AnyState, Trigger } from "./flow.ts";
import { type MermaidOptions, toMermaid } from "./mermaid.ts";
import { functionNode, type NodeCode, type NodeContext } from "./node.ts";
import type { Breakpoints, Plan } from "./record.ts";
import { runGraph } from "./run-graph.ts";
import { type Branch, checkShape, END, type Node, type Shape, START, shapeWith } from "./shape.ts";

/** The options of a node. */
export interface NodeOptions<State> {
  /** Makes the input of the node from the arriving value. Runs once for each visit: its result is recorded. */
  before?(input: Json, state: Readonly<State>): unknown;
}

/** The options of `compile()`. */
export interface GraphOptions<State, Keys extends string> {
  /** The state at the beginning of a run. */
  readonly state?: State | undefined;
  /** Pauses before these nodes run: always, or when `when` returns true for the input. */
  readonly interruptBefore?: readonly Breakpoint<State, Keys>[] | undefined;
  /** Pauses after these nodes have run: always, or when `when` returns true for the output. */
  readonly interruptAfter?: readonly Breakpoint<State, Keys>[] | undefined;
  /**
   * Nodes that a person approves before they run. Each visit raises a request, with approvers, quorum and expiry. An
   * approval runs the node, with an edited input if it has one. A rejection leads to `onReject`; without it the run fails
   * with REQUEST_REJECTED when it is resumed.
   */
  readonly approveBefore?: readonly ApproveBefore<State, Keys>[] | undefined;
  /**
   * For nodes with several sources: `any` runs them for each value that arrives; `all` once for all values, and passes them
   * by their source. By default they run once for all values, and a value that comes alone is passed as
   * it is.
   */
  readonly trigger?: Trigger | undefined;
  /** The most node runs of one run of the graph. */
  readonly maxSteps?: number | undefined;
  readonly hooks?: HooksGiven<unknown> | undefined;
}

/** A node at which a graph pauses; with `when`, only for values that it accepts. */
export type Breakpoint<State, Keys extends string> =
  | Keys
  /** Must be pure: it is called again with recorded values. */
  | { readonly node: Keys; when(value: Json, state: Readonly<State>): boolean };

export type ApproveBefore<State, Keys extends string> =
  | Keys
  | {
      readonly node: Keys;
      /** Made by humanApproval(); a function makes it of the node's input when the visit is asked for. */
      readonly request?: Request<Approval> | ((input: Json, state: Readonly<State>) => Request<Approval>) | undefined;
      /** The node, or END, that the input goes to if the request is rejected. */
      readonly onReject?: Keys | typeof END | undefined;
    };

/** A compiled graph: an agent, and its diagram. */
export type Graph<Out = unknown, Deps = unknown> = Agent<Out, Deps> & {
  /** As a Mermaid diagram. */
  toMermaid(options?: MermaidOptions): string;
};

/** A graph that is being built. Each call adds to it and returns it. */
export interface GraphBuilder<State, In, Out, Deps, Keys extends string> {
  node<K extends string, I = Json>(
    key: K,
    work: ((input: I, ctx: NodeContext<State, Deps>) => unknown) | Agent<unknown, Deps>,
    options?: NodeOptions<State>,
  ): GraphBuilder<State, In, Out, Deps, Keys | K>;
  /** Adds an edge: the output of `from` is the input of `to`. */
  edge(from: Keys | typeof START, to: Keys | typeof END): GraphBuilder<State, In, Out, Deps, Keys>;
  /**
   * Passes the output of `from` to the nodes that `choose` returns. `choose` must be pure: it is called again with recorded outputs. `to` names
   * its possible targets. Default: any node.
   */
  branch<O = Json>(
    from: Keys | typeof START,
    choose: (output: O, state: Readonly<State>) => Chosen<Keys>,
    to?: readonly (Keys | typeof END)[],
  ): GraphBuilder<State, In, Out, Deps, Keys>;
  compile(options?: GraphOptions<State, Keys>): Graph<Out, Deps>;
}

const NODE_OPTIONS: KnownOptions<NodeOptions<never>> = { before: true };

const OPTIONS: KnownOptions<GraphOptions<never, never>> = {
  state: true,
  interruptBefore: true,
  interruptAfter: true,
  approveBefore: true,
  trigger: true,
  maxSteps: true,
  hooks: true,
};

const BREAKPOINT: KnownOptions<Exclude<Breakpoint<never, never>, string>> = { node: true, when: true };
const APPROVAL: KnownOptions<Exclude<ApproveBefore<never, never>, string>> = {
  node: true,
  request: true,
  onReject: true,
};

type Chosen<Keys extends string> = Keys | typeof END | readonly (Keys | typeof END)[];

const MOST_STEPS = 1000;

/**
 * Begins a graph: nodes that are functions, agents or graphs, and the edges between them. `compile()` makes it an agent.
 *
 * @example
 * ```ts
 * const review = graph("review")
 *   .node("write", writer)
 *   .node("publish", (text: string) => publish(text))
 *   .edge(START, "write")
 *   .edge("write", "publish")
 *   .edge("publish", END)
 *   .compile({ interruptBefore: ["publish"] });
 * ```
 */
export function graph<State extends object = Record<string, Json>, In = unknown, Out = unknown, Deps = unknown>(
  name: string,
): GraphBuilder<State, In, Out, Deps, never> {
  return new Builder(name) as unknown as GraphBuilder<State, In, Out, Deps, never>;
}

interface Declared {
  readonly work: NodeCode | AnyAgent;
  readonly before: Node["before"];
}

class Builder {
  readonly #name: string;
  readonly #nodes = new Map<string, Declared>();
  readonly #edges = new Map<string, string[]>();
  readonly #branches = new Map<string, Branch[]>();

  constructor(name: string) {
    this.#name = String(name);
  }

  node(key: string, given: NodeCode | Agent<unknown, never>, options: NodeOptions<never> = {}): this {
    if (typeof key !== "string" || !NAME.test(key) || key === START || key === END) {
      throw this.#refuse(`no node can be called ${shown(key)}`);
    }
    if (this.#nodes.has(key)) throw this.#refuse(`it has two nodes ${key}`);
    refuseUnknown(`node("${key}") of graph ${this.#name}`, options, NODE_OPTIONS);
    if (options.before !== undefined && typeof options.before !== "function") {
      throw this.#refuse(`before of node ${key} is ${shown(options.before)}, not a function`);
    }
    const refusal = () => this.#refuse(`node ${key} is neither a function nor an agent`);
    const work = typeof given === "function" ? given : definitionOf(given, refusal);
    this.#nodes.set(key, { work, before: options.before as Node["before"] });
    return this;
  }

  edge(from: string, to: string): this {
    const known = this.#edges.get(from) ?? [];
    if (!known.includes(to)) this.#edges.set(from, [...known, to]);
    return this;
  }

  branch(from: string, choose: Branch["choose"], to?: readonly string[]): this {
    if (typeof choose !== "function") throw this.#refuse(`the branch after ${from} has no function to choose`);
    if (to !== undefined && !Array.isArray(to)) {
      throw this.#refuse(`the branch after ${from} may lead to ${shown(to)}, which is no list of nodes`);
    }
    this.#branches.set(from, [...(this.#branches.get(from) ?? []), { choose, to }]);
    return this;
  }

  compile(options: GraphOptions<object, string> = {}): Graph {
    const name = this.#name;
    refuseUnknown(`compile() of graph ${name}`, options, OPTIONS);
    const state = toJson(options.state ?? {}, `The state of graph ${name}`) as AnyState;
    if (typeof state !== "object" || Array.isArray(state))
      throw this.#refuse("its state is not an object of values by key");
    const approvals = this.#approvals(options.approveBefore);
    const rejections = new Map([...approvals].flatMap(([key, { onReject }]) => (onReject ? [[key, onReject]] : [])));
    const nodes = new Map<string, Node>();
    for (const [key, { work, before }] of this.#nodes) {
      const ledHere = [...rejections].flatMap(([from, to]) => (to === key ? [from] : []));
      const setup = { key, initial: state, rejections: ledHere };
      nodes.set(key, { key, before, agent: typeof work === "function" ? functionNode(work, setup) : work });
    }
    const shape = shapeWith(name, nodes, new Map(this.#edges), new Map(this.#branches), rejections);
    checkShape(shape);
    const { trigger, maxSteps = Math.max(MOST_STEPS, nodes.size) } = options;
    if (trigger !== undefined && trigger !== "any" && trigger !== "all")
      throw this.#refuse(`trigger is ${shown(trigger)}, not any or all`);
    if (!Number.isInteger(maxSteps) || maxSteps < 1) {
      throw this.#refuse(`maxSteps is ${shown(maxSteps)}, not a whole number from 1 on`);
    }
    const before = this.#breakpoints("interruptBefore", options);
    const after = this.#breakpoints("interruptAfter", options);
    const plan: Plan = { shape, trigger, maxSteps, state, before, after, approvals };
    const made = composite({
      kind: "graph",
      name,
      children: [...new Set([...nodes.values()].map(({ agent }) => agent))],
      shape: printOf(shape, trigger, state, approvals),
      hooks: options.hooks,
      about: () => ({ graph: described(plan) }),
      run: (frame) => runGraph(frame, plan),
    });
    // Made now, and kept: a resume of a large graph does not wait for it.
    made.fingerprint();
    const definition: AnyAgent = Object.freeze({
      ...made,
      nodes: [...nodes.keys()],
      checkpoint: (...where: Parameters<NonNullable<AnyAgent["checkpoint"]>>) => checkpointOf(plan, ...where),
    });
    return published(definition, { toMermaid: (look?: MermaidOptions) => toMermaid(shape, look) }) as Graph;
  }

  /** Groups conditions by node: with several for one node, the graph stops if one of them says so. */
  #breakpoints(option: "interruptBefore" | "interruptAfter", options: GraphOptions<object, string>): Breakpoints {
    const given = options[option] ?? [];
    if (!Array.isArray(given)) throw this.#refuse(`${option} is ${shown(given)}, which is no list of nodes`);
    const made = new Map<string, When | undefined>();
    for (const one of given as readonly Breakpoint<object, string>[]) {
      if (typeof one !== "string") refuseUnknown(`${option} of graph ${this.#name}`, one, BREAKPOINT);
      const { node, when } = typeof one === "string" ? { node: one, when: undefined } : one;
      if (!this.#nodes.has(node)) throw this.#refuse(`it should stop at ${node}, which is no node of it`);
      if (when !== undefined && typeof when !== "function") {
        throw this.#refuse(`when of its breakpoint at ${node} is ${shown(when)}, not a function`);
      }
      made.set(node, made.has(node) ? either(made.get(node), when as When | undefined) : (when as When | undefined));
    }
    return made;
  }

  #approvals(given: GraphOptions<object, string>["approveBefore"] = []): ApprovalPoints {
    if (!Array.isArray(given)) throw this.#refuse(`approveBefore is ${shown(given)}, which is no list of nodes`);
    const made = new Map<string, ApprovalPoint>();
    for (const one of given as readonly ApproveBefore<object, string>[]) {
      const point = typeof one === "string" ? { node: one } : one;
      if (typeof point !== "object" || point === null) throw this.#refuse(`approveBefore has ${shown(point)} in it`);
      const { node, request, onReject } = point;
      if (!this.#nodes.has(node)) throw this.#refuse(`it should be approved at ${shown(node)}, which is no node of it`);
      if (made.has(node)) throw this.#refuse(`approveBefore has node ${node} twice`);
      if (typeof one === "object") refuseUnknown(`approveBefore of graph ${this.#name}`, one, APPROVAL);
      if (request !== undefined && typeof request !== "function" && readRequest(request).kind !== "approval") {
        throw this.#refuse(`the request of node ${node} is no approval; make it with humanApproval()`);
      }
      if (onReject !== undefined && typeof onReject !== "string") {
        throw this.#refuse(`onReject of node ${node} is ${shown(onReject)}, not the key of a node`);
      }
      made.set(node, { request: request as ApprovalPoint["request"], onReject });
    }
    return made;
  }

  #refuse(problem: string) {
    return belayError("GRAPH_INVALID", { graph: this.#name, problem });
  }
}

type When = (value: Json, state: AnyState) => boolean;

/** Returns a condition that holds if either does. A breakpoint without a condition always stops. */
function either(one: When | undefined, other: When | undefined): When | undefined {
  if (one === undefined || other === undefined) return undefined;
  return (value, state) => one(value, state) || other(value, state);
}

function described({ shape, trigger, before, after, approvals }: Plan): GraphDescription {
  const { nodes, edges, branches } = shape;
  const points = (breakpoints: Breakpoints) =>
    [...breakpoints].map(([node, when]) => ({ node, conditional: when !== undefined }));
  return {
    nodes: [...nodes.values()].map(({ key, agent }) => (agent.plain ? { key } : { key, agent: agent.name })),
    edges: [...edges].flatMap(([from, all]) => all.map((to) => ({ from, to }))),
    branches: [...branches].flatMap(([from, all]) => all.map(({ to }) => (to === undefined ? { from } : { from, to }))),
    ...(trigger !== undefined && { trigger }),
    interruptBefore: points(before),
    interruptAfter: points(after),
    ...(approvals.size > 0 && {
      approveBefore: [...approvals].map(([node, { onReject }]) => (onReject ? { node, onReject } : { node })),
    }),
  };
}

/** Returns the parts that make it another graph: its edges, and its initial state. */
function printOf(
  { nodes, edges, branches }: Shape,
  trigger: Trigger | undefined,
  state: AnyState,
  approvals: ApprovalPoints,
): Json {
  const keys = [...nodes.values()].map(({ key, agent }) => [key, agent.name]);
  const ways = [...edges].map(([from, to]): Json => [from, to]);
  const chosen = [...branches].map(([from, all]): Json => [from, all.map(({ to }) => to ?? null)]);
  const approved = [...approvals].map(([key, { onReject = null }]): Json => [key, onReject]);
  const print = [keys, ways, chosen, trigger ?? null, canonical(state)];
  // A graph without approvals has the fingerprint that it had before there were any.
  return approved.length === 0 ? print : [...print, approved];
}
