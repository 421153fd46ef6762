import type { Fact } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import type { StopSignal } from "../../interrupt/stop-signal.ts";
import type { ThreadState } from "../../journal/state.ts";

/** Returns the first facts of a segment for the thread as it is. Throws a refusal. */
export type Opening = (
  state: ThreadState,
  place: FramePlace,
  signal: StopSignal,
) => readonly Fact[] | Promise<readonly Fact[]>;
