import type { Runner, Session } from "@belay/core";
import type { Stoppable } from "../keys/interrupt-token.ts";

/** Stops a run of another terminal that this one shows, by the same key: its owner gets the stop. */
export function stopAnywhere(runner: Runner, session: Session): Stoppable {
  return {
    async interrupt(options) {
      const receipt = await session.interrupt(options);
      if (receipt.accepted || session.state === "created") return receipt;
      return runner.interrupt(session.threadId, options);
    },
  };
}
