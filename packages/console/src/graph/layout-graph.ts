// The layout of a graph, by dagre: from left to right, START and END at the edges.

import dagre from "@dagrejs/dagre";
import type { GraphShape } from "../wire/shapes.ts";

export interface Placed {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly {
    readonly key: string;
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
    readonly isEdge: boolean;
  }[];
  readonly ways: readonly {
    readonly from: string;
    readonly to: string;
    readonly path: string;
    readonly branch: boolean;
  }[];
}

export const START = "__start__";
export const END = "__end__";

const isEdge = (key: string) => key === START || key === END;

/** What stands before or after a node that a graph stopped at: a ring around the node, and the mark in it. */
const RING = 7;
const MARK = 25;

/** `stopped` has the nodes with a mark: ways end at the mark, not below it. */
export function layoutGraph(shape: GraphShape, stopped: ReadonlyMap<string, "before" | "after"> = new Map()): Placed {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 40, ranksep: 52, marginx: 16, marginy: 32 });
  graph.setDefaultEdgeLabel(() => ({}));
  const keys = [START, ...shape.nodes.map(({ key }) => key), END];
  for (const key of keys)
    graph.setNode(
      key,
      isEdge(key) ? { width: 64, height: 28 } : { width: Math.max(136, key.length * 8 + 56), height: 56 },
    );
  const ways = [
    ...shape.edges.map(({ from, to }) => ({ from, to, branch: false })),
    ...shape.branches.flatMap(({ from, to }) =>
      (to ?? shape.nodes.map(({ key }) => key)).map((each) => ({ from, to: each, branch: true })),
    ),
  ].filter(({ from, to }) => keys.includes(from) && keys.includes(to));
  for (const { from, to } of ways) graph.setEdge(from, to);
  dagre.layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  const boxes = new Map<string, Box>(keys.map((key) => [key, graph.node(key) as Box]));
  const boxOf = (key: string) => boxes.get(key)!;
  const lands = landings(ways, boxOf);
  return {
    width,
    height,
    nodes: keys
      .map((key) => ({ key, ...graph.node(key) }))
      .filter(({ x }) => x !== undefined)
      .map(({ key, x, y, width: w, height: h }) => ({
        key,
        x: x! - w / 2,
        y: y! - h / 2,
        width: w,
        height: h,
        isEdge: isEdge(key),
      })),
    ways: ways.map((way) => ({
      ...way,
      path: wayPath(
        boxOf(way.from),
        boxOf(way.to),
        graph.edge(way.from, way.to)?.points ?? [],
        room(stopped.get(way.from), "after", 0),
        room(stopped.get(way.to), "before", 1),
        lands.get(way) ?? 0,
      ),
    })),
  };
}

/** From the right side of one node to the left side of the other; backwards and around as dagre says. */
function wayPath(a: Box, b: Box, points: readonly Point[], beside: number, ahead: number, land: number): string {
  if (a === b) return around(a);
  const [x1, x2] = [a.x + a.width / 2 + beside, b.x - b.width / 2 - ahead];
  if (x2 <= x1 || points.length > 3) return smooth(points);
  const middle = (x1 + x2) / 2;
  const y2 = b.y + land;
  return `M${x1} ${a.y}C${middle} ${a.y} ${middle} ${y2} ${x2} ${y2}`;
}

interface Way {
  readonly from: string;
  readonly to: string;
}

const APART = 10;

/** How far above or below the middle of its node each way ends: several that come together keep their own arrows. */
function landings(ways: readonly Way[], boxOf: (key: string) => Box): ReadonlyMap<Way, number> {
  const lands = new Map<Way, number>();
  for (const to of new Set(ways.map((way) => way.to))) {
    const come = ways.filter((way) => way.to === to && boxOf(way.from).x < boxOf(to).x);
    come.sort((a, b) => boxOf(a.from).y - boxOf(b.from).y);
    const apart = Math.min(APART, (boxOf(to).height - 16) / come.length);
    for (const [at, way] of come.entries()) lands.set(way, (at - (come.length - 1) / 2) * apart);
  }
  return lands;
}

/** How much of a way the mark or the ring of a node takes. */
function room(stop: "before" | "after" | undefined, side: "before" | "after", none: number): number {
  return stop === undefined ? none : stop === side ? MARK : RING;
}

/** A node as dagre places it: by its middle. */
interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function smooth(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  const last = rest.at(-1) ?? first;
  const middle = (first.x + last.x) / 2;
  if (rest.length <= 2 && last.x > first.x)
    return `M${first.x} ${first.y}C${middle} ${first.y} ${middle} ${last.y} ${last.x} ${last.y}`;
  return `M${first.x} ${first.y}${rest.map((point, at) => (at === rest.length - 1 ? `L${point.x} ${point.y}` : `Q${point.x} ${point.y} ${(point.x + rest[at + 1]!.x) / 2} ${(point.y + rest[at + 1]!.y) / 2}`)).join("")}`;
}

function around({ x, y, height }: Box): string {
  const bottom = y + height / 2;
  return `M${x + 24} ${bottom}C${x + 24} ${bottom + 44} ${x - 24} ${bottom + 44} ${x - 24} ${bottom + 2}`;
}
