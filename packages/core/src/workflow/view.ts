// The view of the interrupts inside an agent made of agents, from outside (W2).

import type { GraphInterrupt, Inside, InterruptData, InterruptView } from "../interrupt/view.ts";

/** `width` is how many agents it is made of. */
export function workflowView(kind: string, width: number, { input, children, own, graph }: Inside): InterruptData {
  const cut = children.filter((child) => child.view !== undefined);
  if (kind === "graph")
    return { type: "graph", ...(graph ?? notBegun), interrupts: [...own, ...cut.map(({ view }) => view!)] };
  const at = { type: "workflow", origInput: input } as const;
  if (kind === "parallel") {
    const parallel: { [index: number]: InterruptView } = {};
    for (const { segment, view } of cut) parallel[placeIn(segment).index] = view!;
    return { ...at, loopIterations: 0, parallel };
  }
  const [only] = cut;
  const done = children.filter(({ ended }) => ended).length;
  const { round, index } =
    only !== undefined
      ? placeIn(only.segment)
      : kind === "loop"
        ? { round: Math.floor(done / width), index: done % width }
        : { round: 0, index: done };
  const where = { ...at, sequentialIndex: index, loopIterations: round, parallel: {} };
  return only === undefined ? where : { ...where, interrupt: only.view! };
}

const notBegun: GraphInterrupt = { state: {}, beforeNodes: [], afterNodes: [], rerunNodes: [], subGraphs: {} };

/** `2:name`, or, in a loop, `5.2:name`. */
function placeIn(segment: string): { readonly round: number; readonly index: number } {
  const [place = ""] = segment.split(":");
  const [first, second] = place.split(".").map(Number);
  return second === undefined ? { round: 0, index: first ?? 0 } : { round: first ?? 0, index: second };
}
