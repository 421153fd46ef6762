// The table of verbs on the stores that are servers. Memory and SQLite play it in runner/front/verbs.test.ts.

import { verbTable } from "@belay/testkit";
import { openStore, places } from "@belay/testkit/processes";
import { describe, expect, inject, test } from "vitest";
import type { Store } from "../index.ts";

const { verbsOnServers } = inject("effort");
const { playAgain, playVerb, repeatedCases, verbCases } = verbTable;

const servers = places.filter(({ isInFolder }) => !isInFolder);
/** Returns `most` of the cases, spread over the table. */
function some<Case>(cases: readonly Case[], most: number): Case[] {
  return cases.filter((_, i) => i % Math.ceil(cases.length / Math.min(most, cases.length)) === 0);
}

describe.each(servers)("verbs by thread id, on $name", (place) => {
  async function onStore<T>(play: (store: Store) => Promise<T>): Promise<T> {
    const where = await place.at("");
    const opened = await openStore(where);
    try {
      return await play(opened.store);
    } finally {
      await opened.close();
      await place.remove(where);
    }
  }

  test.each(some(verbCases, verbsOnServers))("V1: $verb of a thread that is $stage", async (each) => {
    const { outcome, expected } = await onStore((store) => playVerb(store, each));
    expect(outcome).toBe(expected);
  });

  test.each(some(repeatedCases, Math.ceil(verbsOnServers / 3)))(
    "V2: $verb ($stage) again under its id has the first outcome, here, elsewhere and after a restart",
    async (each) => {
      const { first, again, facts } = await onStore((store) => playAgain(store, each));
      expect(again).toEqual([first, first, first]);
      expect(facts.after).toEqual(facts.before);
    },
  );
});
