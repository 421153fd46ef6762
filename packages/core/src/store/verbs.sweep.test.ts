// The table of verbs on the stores that are servers. Memory and SQLite play it in runner/front/verbs.test.ts.

import { verbTable } from "@belay/testkit";
import { openStore, places } from "@belay/testkit/processes";
import { describe, expect, inject, test } from "vitest";

const { verbsOnServers } = inject("effort");
const { playVerb, verbCases } = verbTable;

const servers = places.filter(({ isInFolder }) => !isInFolder);
const played = verbCases.filter(
  (_, i) => i % Math.ceil(verbCases.length / Math.min(verbsOnServers, verbCases.length)) === 0,
);

describe.each(servers)("verbs by thread id, on $name", (place) => {
  test.each(played)("V1: $verb of a thread that is $stage", async (each) => {
    const where = await place.at("");
    const opened = await openStore(where);
    try {
      const { outcome, expected } = await playVerb(opened.store, each);
      expect(outcome).toBe(expected);
    } finally {
      await opened.close();
      await place.remove(where);
    }
  });
});
