// A key that code of one's own gives an agent inside it, as it stands in paths.

import { readName } from "../read-name.ts";

/** Refuses a value that is no key. */
export function childKey(key: string): string {
  // A slash would be read as another agent inside.
  return readName("key", key).replace(/[%/]/g, (found) => (found === "/" ? "%2F" : "%25"));
}
