import type { Effect } from "../view/view.ts";

/** Returns the person's words; they are given back if the command has no effect. */
export function wordsOf(effect: Effect): string | undefined {
  switch (effect.do) {
    case "run":
    case "resume":
      return effect.input;
    case "mail":
      return effect.text;
    default:
      return undefined;
  }
}
