// The view of the present pause: the one that the pausing append recorded, without the requests that were decided since,
// and with those that were raised since.

import { type Interrupt, isRequest, waitsForResume } from "../interrupt/interrupt.ts";
import { above, type InterruptView, leaf, mapLeaves } from "../interrupt/view.ts";
import { openRequests } from "./requests.ts";
import type { ThreadState } from "./state.ts";

/** Returns undefined if the thread is not paused, or nothing is left to wait for. */
export function presentView(state: ThreadState): InterruptView | undefined {
  if (state.state !== "paused") return undefined;
  const all = [...openRequests(state), ...state.interrupts];
  if (all.length === 0) return undefined;
  // A pause of an earlier release has none.
  if (state.view === undefined) return listed(state, all);
  const listedIds = new Set<string>();
  const isOpen = (id: string) => state.requests?.get(id)?.decision === undefined;
  let allOpen = true;
  let view = mapLeaves(state.view, (each) => {
    listedIds.add(each.id);
    allOpen &&= isOpen(each.id);
    const request = state.requests?.get(each.id);
    return request === undefined ? each : leaf(request.interrupt);
  });
  const raised = all.filter((each) => isRequest(each) || waitsForResume(each));
  for (const each of raised) if (!listedIds.has(each.id) && view !== undefined) view = withLeaf(view, each, isOpen);
  const open = allOpen ? view : view && mapLeaves(view, (each) => (isOpen(each.id) ? each : undefined));
  return open ?? listed(state, all);
}

function listed({ agent = "" }: ThreadState, all: readonly Interrupt[]): InterruptView {
  const [first] = all;
  if (all.length === 1) return leaf(first!);
  return above(agent, first!, { type: "tools", interrupts: all.map(leaf) });
}

/** Returns the view with one more request in the innermost level around it. */
function withLeaf(view: InterruptView, added: Interrupt, isOpen: (id: string) => boolean): InterruptView {
  const { data } = view;
  switch (data.type) {
    case "none":
      // The code that asked before asks again.
      return isOpen(view.id) ? list(view, [view, leaf(added)]) : leaf(added);
    case "tools":
    case "graph": {
      const at = data.interrupts.findIndex((each) => isAround(each, added));
      const around = data.interrupts[at];
      const interrupts =
        around === undefined
          ? [...data.interrupts, leaf(added)]
          : data.interrupts.with(at, withLeaf(around, added, isOpen));
      return { ...view, data: { ...data, interrupts } };
    }
    case "workflow": {
      const [index, around] = Object.entries(data.parallel).find(([, each]) => isAround(each, added)) ?? [];
      if (around !== undefined)
        return {
          ...view,
          data: { ...data, parallel: { ...data.parallel, [Number(index)]: withLeaf(around, added, isOpen) } },
        };
      if (data.interrupt === undefined) return { ...view, data: { ...data, interrupt: leaf(added) } };
      return { ...view, data: { ...data, interrupt: withLeaf(data.interrupt, added, isOpen) } };
    }
    default:
      return data satisfies never;
  }
}

/** A level is around everything below its path. A leaf is around requests of the same call or the same code. */
function isAround({ address, data }: InterruptView, added: Interrupt): boolean {
  const path = data.type === "none" ? address.slice(0, address.lastIndexOf("/")) : address;
  return added.address.startsWith(`${path}/`);
}

function list(first: InterruptView, interrupts: readonly InterruptView[]): InterruptView {
  return above(first.address.slice(0, first.address.lastIndexOf("/")), first, { type: "tools", interrupts });
}
