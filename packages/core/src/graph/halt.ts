// Where a graph stops until somebody goes on: before a node, after it, or because the node asked for it.

import type { Frame } from "../frame.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import type { Json } from "../json.ts";

export type HaltReason = "before" | "after" | "rerun";

/** `address` is that of the visit, `keys` are all nodes that stop here for this reason. */
export function haltOf(
  { place, clock }: Frame,
  reason: HaltReason,
  address: string,
  keys: readonly string[],
  extra?: Json,
): Interrupt {
  const { runId, segment } = place;
  const around = address.slice(0, address.lastIndexOf("/"));
  return {
    id: `${runId}.${segment}.${address}`,
    kind: "node",
    address,
    raisedAt: clock.now(),
    by: around.slice(Math.max(around.lastIndexOf("/"), around.lastIndexOf(":")) + 1),
    reason,
    message: `interrupt happened, ${reason} nodes: [${keys.join(" ")}]`,
    ...(extra !== undefined && extra !== null && { extra }),
  };
}
