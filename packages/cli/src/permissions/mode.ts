// The person's present mode, beside the rules. It is set by a key, holds in one terminal, and is not kept.

/** `ask`: as the rules say. `accept-edits`: files are changed unasked. `plan`: nothing is changed. */
export type Mode = "ask" | "accept-edits" | "plan";

export const modes: readonly Mode[] = ["ask", "accept-edits", "plan"];

export function nextMode(mode: Mode): Mode {
  return modes[(modes.indexOf(mode) + 1) % modes.length]!;
}
