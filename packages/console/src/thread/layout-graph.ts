// Where the nodes of a graph go, by dagre: from left to right, START and END at the edges.

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

const isEdge = (key: string) => key === "START" || key === "END";

export function layoutGraph(shape: GraphShape): Placed {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 40, ranksep: 56, marginx: 32, marginy: 32 });
  graph.setDefaultEdgeLabel(() => ({}));
  const keys = ["START", ...shape.nodes.map(({ key }) => key), "END"];
  for (const key of keys)
    graph.setNode(
      key,
      isEdge(key) ? { width: 64, height: 28 } : { width: Math.max(128, key.length * 8 + 56), height: 56 },
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
      path: way.from === way.to ? around(graph.node(way.from)) : smooth(graph.edge(way.from, way.to)?.points ?? []),
    })),
  };
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

function around({ x = 0, y = 0, height }: { x?: number; y?: number; height: number }): string {
  const bottom = y + height / 2;
  return `M${x + 24} ${bottom}C${x + 24} ${bottom + 44} ${x - 24} ${bottom + 44} ${x - 24} ${bottom + 2}`;
}
