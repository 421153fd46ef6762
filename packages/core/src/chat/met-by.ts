// The part of a stop's receipt for calls that did not move in this segment.

import type { Frame } from "../frame.ts";
import type { CallState } from "../journal/state.ts";

/** With the calls of agents inside them. */
export function metBy({ desk, place }: Frame, open: readonly CallState[]) {
  const met: { readonly stopped: string[]; readonly notStarted: string[] } = { stopped: [], notStarted: [] };
  const inside = (path: string) => {
    for (const scope of desk.begunBelow(path, place.runId)) {
      if (scope.ended === undefined) meet(scope.calls);
      inside(scope.path);
    }
  };
  const meet = (calls: readonly CallState[]) => {
    for (const { part, status, address } of calls) {
      if (status === "ended") continue;
      met[status === "held" ? "notStarted" : "stopped"].push(part.id);
      if (status === "started") inside(address);
    }
  };
  meet(open);
  return met;
}
