// The append of a command to a thread at rest.

import type { BelayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import type { ThreadState } from "../../journal/state.ts";
import type { Command } from "../decide/command.ts";
import { decide } from "../decide/decide.ts";
import type { LiveThread } from "./live-thread.ts";
import type { Opened } from "./tenure.ts";

export interface Written {
  readonly opened: Opened;
  /** The state with the facts. */
  readonly state?: ThreadState | undefined;
}

/** Writes the facts of a command. An answer begins a tenure, for the call that it lets run. */
export async function written(thread: LiveThread, command: Command, byRow: boolean): Promise<Written> {
  if (command.do === "answer") {
    const tenure = thread.startAtRest(command, byRow);
    return { opened: await tenure.opening, state: tenure.state };
  }
  const { clock, groups } = thread.setup;
  let written: Written | undefined;
  const make = (place: FramePlace, state: ThreadState): readonly Fact[] => {
    const decision = decide(state, command, { place, now: clock.now(), groups, callsRun: false, byRow }) as Opened;
    written = { opened: decision, state };
    return "facts" in decision ? decision.facts : [];
  };
  try {
    await thread.append(make, byRow ? command.key : undefined);
    return written!;
  } catch (error) {
    return { opened: { refusal: error as BelayError } };
  }
}
