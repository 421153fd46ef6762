import { unifiedDiff } from "./diff.ts";

/** The most lines of a difference that are recorded. */
const MOST_LINES = 2_000;

/** A change to a file, as it is recorded beside the result of its call: for people, not for the model. */
export function changeMade(
  callId: string,
  { shown, before, after }: { readonly shown: string; readonly before: string | undefined; readonly after: string },
) {
  return { change: { callId, path: shown, diff: unifiedDiff(shown, before, after, MOST_LINES) } };
}
