import type { Handle } from "../../interrupt/interrupt.ts";
import { newHandle } from "../decide/ending.ts";
import { stateFact } from "../decide/facts.ts";
import { newToken } from "../decide/idle.ts";
import type { LiveThread } from "./live-thread.ts";

/** A new handle on the present pause; the one before it is void (R5). */
export async function issueHandle(thread: LiveThread): Promise<Handle> {
  thread.refuseIfBusy();
  await thread.calls?.over;
  thread.refuseIfBusy();
  const { clock, tokenTtlMs } = thread.setup;
  let handle: Handle | undefined;
  await thread.append(
    newToken((place, state) => {
      const { pauseType = "manual", interrupts } = state;
      const made = newHandle(place, pauseType, { now: clock.now(), tokenTtlMs });
      handle = made.handle;
      return stateFact(place, "paused", { pauseType, ...(interrupts.length > 0 && { interrupts }), ...made.token });
    }),
  );
  return handle!;
}
