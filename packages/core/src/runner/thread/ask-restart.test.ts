import {
  eachStore,
  factProblems,
  factsOf,
  faultyStore,
  goOnToTheEnd,
  ORDERED,
  openKit,
  orderTool,
  settle,
  stepsOf,
  toolResult,
  type Witness,
  witness,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import type { Store } from "../../index.ts";

/** The script, from the history alone: any process plays it. */
const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
  messages.some(({ role }) => role === "tool") ? "done" : ([{ call: "order", id: "o" }] as const);

const ways = ["answer", "resume"] as const;

function openOn(store: Store, truth: Store, seen: Witness, more = {}) {
  return openKit(script, { store, tools: [orderTool(truth, seen)], ...more });
}

/** Returns the broken promises of a life that has ended. */
async function problemsOf(store: Store, seen: Witness): Promise<string[]> {
  const facts = await factsOf(store);
  const problems = [...seen.problems, ...factProblems(facts)];
  const steps = stepsOf(facts);
  if (steps.join() !== "one,two") problems.push(`steps on record: ${steps.join()}`);
  const given = toolResult(facts, "o");
  if (given !== ORDERED) problems.push(`the tool gave ${JSON.stringify(given)}`);
  const end = facts.findLast((fact) => fact.type === "run-end");
  if (end?.type !== "run-end" || end.status !== "completed") problems.push("it has no end");
  return problems;
}

describe.each(eachStore)("code that asks twice, on $name", ({ make }) => {
  test.each(ways)("Q1, Q2: undisturbed it runs once from end to end (by %s)", async (by) => {
    const store = await make();
    const seen = witness();
    const kit = await openOn(store, store, seen);
    await goOnToTheEnd(kit.session, by);
    expect(await problemsOf(store, seen)).toEqual([]);
    expect(seen).toMatchObject({ entries: 1, did: ["one", "two", "returned", "finally"] });
  });

  test.each(ways)(
    "Q1, Q2, F4: the process ends at any append, before it is written or after: each recorded step is computed once, no answer is lost, and the result is the same (by %s)",
    async (by) => {
      let deaths = 0;
      for (let at = 1; ; at++) {
        let reached = 0;
        for (const when of ["before", "after"] as const) {
          const store = await make();
          const seen = witness();
          const faulty = faultyStore(store);
          let appends = 0;
          const dying: Store = {
            ...faulty,
            append: async (key, append) => {
              appends += 1;
              if (appends !== at) return faulty.append(key, append);
              if (when === "after") await store.append(key, append);
              faulty.kill();
              return new Promise(() => {});
            },
          };
          const first = await openOn(dying, store, seen, { leaseTtlMs: 60_000 });
          void goOnToTheEnd(first.session, by);
          await settle(60);
          if (appends >= at) reached += 1;
          // Its lease lapses with it.
          const fence = (await store.load({ tenant: "default", threadId: "thread" }))?.row.lease?.fence;
          if (fence !== undefined) await store.release({ tenant: "default", threadId: "thread" }, fence);
          const next = await openOn(store, store, seen);
          await goOnToTheEnd(next.session, by);
          expect(await problemsOf(store, seen), `${when} append ${at}`).toEqual([]);
          expect(next.problems()).toEqual([]);
        }
        if (reached === 0) break;
        deaths += 1;
      }
      expect(deaths).toBeGreaterThan(6);
    },
  );

  test("Q1: closed between any two moments and opened by another runner: no catch and no finally runs over it, and the other one continues from the record", async () => {
    for (let rounds = 0; rounds < 40; rounds++) {
      const store = await make();
      const seen = witness();
      const first = await openOn(store, store, seen);
      const ended = goOnToTheEnd(first.session).catch(() => {});
      await settle(rounds);
      await first.session.close();
      await ended;
      const next = await openOn(store, store, seen);
      const facts = await factsOf(store);
      const cut = facts.some((fact) => fact.type === "tool-end" && fact.outcome === "interrupted");
      await goOnToTheEnd(next.session);
      // Closed in the middle of a step, a call is cut off as by any close; else it continues.
      if (!cut) expect(await problemsOf(store, seen), `closed after ${rounds} rounds`).toEqual([]);
    }
  });
});
