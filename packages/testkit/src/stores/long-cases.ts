// Cases of the store suite that make hundreds of calls which are all alike. A store that runs the suite a second time, behind
// a wire that breaks for instance, may leave them to `npm run endure`.

import type { StoreCaseName } from "@belay/core/testing";

export const longCases: readonly StoreCaseName[] = [
  "many lines come back, all of them and each once, from any cursor",
  "names of any characters are kept apart and come back as given",
  "random calls are answered as by the store in memory",
  "each method answers a tenant as if it were alone",
];

/** A relay is lossy (L1): over a wire that breaks it loses bodies, and should. */
export const lossyCases: readonly StoreCaseName[] = [
  "the owner's bodies reach every reader of its thread, and a reader's the owner, whole and in order, until they leave",
];
