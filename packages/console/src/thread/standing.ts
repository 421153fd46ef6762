// The state of a thread for a page: the fold, unless the server has looked at the same facts and found the owner gone.

import { shownState, type ThreadView } from "@belay/client";
import type { Look } from "../wire/shapes.ts";

export function standing(
  view: ThreadView | undefined,
  look: Look | undefined,
): Pick<Look, "state" | "pauseType"> | undefined {
  if (view === undefined || view.head === 0) return look;
  const folded = shownState(view);
  const isGone = look?.pauseType === "crash" && folded.state === "running" && look.head >= view.head;
  return isGone
    ? look
    : { state: folded.state, ...(folded.pauseType !== undefined && { pauseType: folded.pauseType }) };
}
