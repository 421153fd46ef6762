// The part of a stop's receipt for calls that did not move in this segment.

import type { MetCall } from "../agent.ts";
import type { Frame } from "../frame.ts";
import type { CallState } from "../journal/state.ts";

/** With the calls of agents inside them. */
export function metBy({ desk, place }: Frame, open: readonly CallState[]): MetCall[] {
  const met: MetCall[] = [];
  const inside = (path: string) => {
    for (const scope of desk.begunBelow(path, place.runId)) {
      if (scope.ended === undefined) meet(scope.calls);
      inside(scope.path);
    }
  };
  const meet = (calls: readonly CallState[]) => {
    for (const { part, status, address } of calls) {
      if (status === "ended") continue;
      met.push({ id: part.id, address, how: status === "held" ? "notStarted" : "stopped" });
      if (status === "started") inside(address);
    }
  };
  meet(open);
  return met;
}
