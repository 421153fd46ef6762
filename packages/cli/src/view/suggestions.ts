// The demo's suggestions: three first inputs, and a tour. The hints follow from the state of the thread, so a person may leave
// the tour at any point.

import type { Texts } from "../texts/texts.ts";
import { isRunning, type View } from "./view.ts";

/** Inputs that Tab and Up offer while nothing is typed; none outside of the demo. */
export function suggestionsOf(view: View, { demo }: Texts): readonly string[] {
  if (!view.demo || isRunning(view) || view.requests.length > 0 || view.state === "terminated") return [];
  if (view.state === "created") return [demo.tour, demo.summarise, demo.write];
  return tourStep(view, demo.tour) === 2 ? [demo.tourInstead] : [];
}

/** The suggestion after the one that is typed; undefined if there is none, or something else is typed. */
export function nextSuggestion(view: View, texts: Texts, by: 1 | -1 = 1): string | undefined {
  const all = suggestionsOf(view, texts);
  const at = all.indexOf(view.draft.text);
  if (all.length === 0 || (at < 0 && view.draft.text !== "")) return undefined;
  if (at < 0) return by > 0 ? all[0] : all.at(-1);
  return all[(at + by + all.length) % all.length];
}

/** The line above the prompt while the tour is taken. */
export function tourHint(view: View, { demo }: Texts): string | undefined {
  const step = tourStep(view, demo.tour);
  return step === undefined ? undefined : demo.steps[step - 1];
}

/**
 * Returns the next step by the state of the thread: stop, say something else, approve, go back. A rewind ends the tour: it
 * opens another thread.
 */
function tourStep(view: View, tour: string): 1 | 2 | 3 | 4 | undefined {
  if (!view.demo || view.epoch > 0) return undefined;
  const blocks = view.transcript.slice(0);
  const begun = blocks.findLastIndex((block) => block.kind === "person" && block.text === tour);
  if (begun < 0) return undefined;
  const since = blocks.slice(begun + 1);
  if (!since.some(({ kind }) => kind === "stop")) return isRunning(view) ? 1 : undefined;
  if (view.requests.length > 0) return 3;
  if (!since.some(({ kind }) => kind === "person")) return isRunning(view) ? undefined : 2;
  const isWritten = since.some((block) => block.kind === "call" && block.tool === "write" && block.outcome === "ok");
  return isWritten && !isRunning(view) ? 4 : undefined;
}
