import type { FramePlace } from "../../frame.ts";
import type { ThreadState } from "../../journal/state.ts";

/** Returns the place in the last segment that is on record, for an append that begins none. */
export function placeIn({ run }: ThreadState, place: FramePlace): FramePlace {
  return run === undefined ? place : { ...place, runId: run.id, segment: run.segment };
}
