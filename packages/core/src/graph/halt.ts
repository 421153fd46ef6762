// The place at which a graph waits for resume(): before a node, or after it.

import type { Frame } from "../frame.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";

export type HaltReason = "before" | "after";

/** `address` is that of the visit, `keys` are all nodes that stop here for this reason. */
export function haltOf(
  { place, clock }: Frame,
  reason: HaltReason,
  address: string,
  keys: readonly string[],
): Interrupt {
  const { runId, segment } = place;
  return {
    id: `${runId}.${segment}.${address}`,
    kind: "node",
    address,
    raisedAt: clock.now(),
    by: graphAt(address),
    reason,
    message: `interrupt happened, ${reason} nodes: [${keys.join(" ")}]`,
  };
}

/** Returns the name of the graph around the visit at `address`. */
export function graphAt(address: string): string {
  const around = address.slice(0, address.lastIndexOf("/"));
  return around.slice(Math.max(around.lastIndexOf("/"), around.lastIndexOf(":")) + 1);
}

/** Returns the key of the node that is visited at `address`. */
export function nodeAt(address: string): string {
  return address.slice(address.lastIndexOf("/") + 1, address.lastIndexOf("#"));
}
