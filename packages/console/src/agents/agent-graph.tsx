// The nodes and ways of a graph, before any run.

import { useMemo } from "react";
import { Drawing } from "../graph/drawing.tsx";
import { layoutGraph } from "../graph/layout-graph.ts";
import { useTexts } from "../texts/texts.ts";
import type { GraphShape } from "../wire/shapes.ts";

export function AgentGraph({ shape }: { shape: GraphShape }) {
  const t = useTexts();
  const placed = useMemo(() => layoutGraph(shape), [shape]);
  const words = (key: string) => {
    if (shape.interruptBefore.some(({ node }) => node === key)) return t.graph.stopsBefore;
    if (shape.interruptAfter.some(({ node }) => node === key)) return t.graph.stopsAfter;
    return shape.nodes.find((node) => node.key === key)?.agent ?? "";
  };
  return (
    <div className="card overflow-x-auto p-4 grid justify-items-center">
      <Drawing placed={placed} words={words} />
    </div>
  );
}
