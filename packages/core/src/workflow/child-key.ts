// A key that code of one's own gives an agent inside it, as it stands in paths.

import { belayError } from "../error.ts";
import { readName } from "../read-name.ts";
import type { AnyAgent } from "./composite.ts";

/** Refuses what is no agent, or no key: later it would be somebody else's riddle. */
export function childKey(of: string, agent: AnyAgent, key: string): string {
  if (typeof agent?.run !== "function") {
    throw belayError("AGENT_INVALID", { agent: of, problem: "it runs something inside it that is no agent" });
  }
  // A slash would be read as another agent inside.
  return readName("key", key).replace(/[%/]/g, (found) => (found === "/" ? "%2F" : "%25"));
}
