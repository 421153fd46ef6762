// How a thread stands once its past is drawn.

import type { Session } from "@belay/core";
import type { Happening } from "../view/view.ts";

/** `begun`: another terminal runs it, which this session has not read of yet. */
export function caughtUp(session: Session, begun: boolean): Happening {
  const now = Date.now();
  if (begun) return { type: "caught-up", state: "running", pauseType: undefined, requests: [], now };
  const { state, pauseType, interrupts } = session;
  // A pause(), a node or a call that asks to be run again may stand beside them.
  const asked = interrupts.filter(({ kind }) => kind !== "manual" && kind !== "node" && kind !== "rerun");
  return { type: "caught-up", state, pauseType, requests: pauseType === "tool_interrupt" ? asked : [], now };
}
