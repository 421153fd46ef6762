// The choice of a dialog, as the answer that a session takes. Rules for a folder are the app's own, and not part of it.

import { type Answer, approve, reject, respond } from "@belay/core";
import type { DialogAnswer } from "../view/view.ts";

export function answerOf(given: DialogAnswer, by: string): Answer {
  switch (given.type) {
    case "approve": {
      const { remember, args } = given;
      return approve({ by, ...(remember === "thread" && { remember }), ...(args !== undefined && { args }) });
    }
    case "reject":
      return reject(given.reason, { by });
    case "respond":
      return respond(given.value, { by });
    default:
      return given satisfies never;
  }
}
