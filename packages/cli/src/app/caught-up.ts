// How a thread stands once its past is drawn.

import type { Session } from "@belay/core";
import type { Happening } from "../view/view.ts";

/** `begun`: another terminal runs it, which this session has not read of yet. */
export function caughtUp(session: Session, begun: boolean): Happening {
  const now = Date.now();
  if (begun) return { type: "caught-up", state: "running", pauseType: undefined, requests: [], now };
  const { state, pauseType, interrupts } = session;
  // Beside them may stand that somebody has paused it, or that a node waits.
  const asked = interrupts.filter(({ kind }) => kind !== "manual" && kind !== "node");
  return { type: "caught-up", state, pauseType, requests: pauseType === "tool_interrupt" ? asked : [], now };
}
