import type { Effect } from "../view/view.ts";

/** What the person said by it; it is given back where nothing came of it. */
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
