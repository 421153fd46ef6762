// The key that user code gives to a nested agent, as it is written in paths.

import { readName } from "../read-name.ts";

/** Refuses a value that is no key. */
export function childKey(key: string): string {
  // A slash would be read as another agent inside.
  return readName("key", key).replace(/[%/]/g, (found) => (found === "/" ? "%2F" : "%25"));
}
