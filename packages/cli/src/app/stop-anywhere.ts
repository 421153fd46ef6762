import type { Runner, Session } from "@belay/core";
import type { Stoppable } from "../keys/interrupt-token.ts";

/** Whoever looks on at a run of another terminal stops it by the same key: its owner is told. */
export function stopAnywhere(runner: Runner, session: Session): Stoppable {
  return {
    async interrupt(options) {
      const receipt = await session.interrupt(options);
      if (receipt.accepted || session.state === "created") return receipt;
      return runner.interrupt(session.threadId, options);
    },
  };
}
