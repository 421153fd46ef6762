// The parts of a graph, and the faults of a graph that cannot run: refused when it is compiled, by name (G4).

import { belayError } from "../error.ts";
import type { Json } from "../json.ts";
import type { AnyAgent } from "../workflow/composite.ts";

/** The beginning of a graph: its output is the input of the graph. */
export const START = "__start__";
/** The end: a value that arrives here is the output of the graph. */
export const END = "__end__";

/** Returns the next node, or nodes, for the output of a node. Must be pure: it is called again with recorded values. */
export type Choose = (output: never, state: never) => string | readonly string[];

export interface Branch {
  readonly choose: Choose;
  /** Its possible targets. Default: any node. */
  readonly to: readonly string[] | undefined;
}

export interface Node {
  readonly key: string;
  readonly agent: AnyAgent;
  /** Makes its input from the arriving value and the state. */
  readonly before: ((input: Json, state: Json) => unknown) | undefined;
}

export interface Shape {
  readonly name: string;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly edges: ReadonlyMap<string, readonly string[]>;
  readonly branches: ReadonlyMap<string, readonly Branch[]>;
  /** The node that a rejection leads to, by the node that was not approved. */
  readonly rejections: ReadonlyMap<string, string>;
  /** The known sources of each node. */
  readonly sources: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The shape with its derived tables, made once for all its runs. */
export function shapeWith(
  name: string,
  nodes: Shape["nodes"],
  edges: Shape["edges"],
  branches: Shape["branches"],
  rejections: Shape["rejections"],
): Shape {
  return { name, nodes, edges, branches, rejections, sources: sourcesOf(edges, branches, rejections) };
}

function sourcesOf(
  edges: Shape["edges"],
  branches: Shape["branches"],
  rejections: Shape["rejections"],
): Shape["sources"] {
  const sources = new Map<string, Set<string>>();
  const add = (from: string, to: string) => {
    const known = sources.get(to);
    if (known === undefined) sources.set(to, new Set([from]));
    else known.add(from);
  };
  for (const [from, targets] of edges) for (const to of targets) add(from, to);
  for (const [from, all] of branches) for (const { to } of all) for (const key of to ?? []) add(from, key);
  for (const [from, to] of rejections) add(from, to);
  return sources;
}

/** Throws GRAPH_INVALID with the first problem. */
export function checkShape(shape: Shape): void {
  const problem = problemOf(shape);
  if (problem !== undefined) throw belayError("GRAPH_INVALID", { graph: shape.name, problem });
}

function problemOf({ nodes, edges, branches, rejections }: Shape): string | undefined {
  if (nodes.size === 0) return "it has no nodes";
  const known = (key: string) => nodes.has(key);
  for (const [from, targets] of [...edges, ...listed(branches)]) {
    if (from !== START && !known(from)) return `an edge leaves ${from}, which is no node of it`;
    for (const to of targets) if (to !== END && !known(to)) return `an edge leads to ${to}, which is no node of it`;
  }
  for (const [from, to] of rejections) {
    if (to === from) return `a rejection of node ${from} leads back to it`;
    if (to !== END && !known(to)) return `a rejection of node ${from} leads to ${to}, which is no node of it`;
  }
  const named = new Map<string, AnyAgent>();
  for (const { agent, key } of nodes.values()) {
    if ((named.get(agent.name) ?? agent) !== agent) return `node ${key} is another agent of the name ${agent.name}`;
    named.set(agent.name, agent);
  }
  const forth = (key: string) => leadsTo({ nodes, edges, branches, rejections }, key);
  const met = reach([START], forth);
  for (const key of nodes.keys())
    if (!met.has(key)) return `node ${key} is unreachable: no path leads to it from START`;
  const back = reversed([START, ...nodes.keys()], forth);
  const ending = reach([END], (key) => back.get(key) ?? []);
  for (const key of [START, ...nodes.keys()]) {
    if (!ending.has(key)) return `${key === START ? "it" : `node ${key}`} has no path to END`;
  }
  return undefined;
}

function listed(branches: Shape["branches"]): [string, readonly string[]][] {
  return [...branches].map(([from, all]) => [from, all.flatMap(({ to }) => to ?? [])]);
}

/** Returns all nodes that the output of a node may reach next. */
export function leadsTo(
  { nodes, edges, branches, rejections }: Pick<Shape, "nodes" | "edges" | "branches" | "rejections">,
  key: string,
): readonly string[] {
  const rejected = rejections.get(key);
  const plain = rejected === undefined ? (edges.get(key) ?? []) : [...(edges.get(key) ?? []), rejected];
  const chosen = branches.get(key);
  if (chosen === undefined) return plain;
  if (chosen.some(({ to }) => to === undefined)) return [...nodes.keys(), END];
  return [...plain, ...chosen.flatMap(({ to }) => to!)];
}

/** All that lies on the way from `from`, itself included, without going past `around`. */
export function reach(
  from: Iterable<string>,
  next: (key: string) => readonly string[],
  around?: string,
): ReadonlySet<string> {
  const met = new Set<string>(from);
  for (const key of met) {
    if (key !== around) for (const to of next(key)) met.add(to);
  }
  return met;
}

function reversed(keys: readonly string[], next: (key: string) => readonly string[]): Map<string, string[]> {
  const back = new Map<string, string[]>();
  for (const from of keys) {
    for (const to of next(from)) {
      const known = back.get(to);
      if (known === undefined) back.set(to, [from]);
      else known.push(from);
    }
  }
  return back;
}
