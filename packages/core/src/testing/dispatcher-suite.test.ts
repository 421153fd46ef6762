import { type Flaw, memoryEngine } from "@belay/testkit/dispatchers";
import { describe, expect, test } from "vitest";
import { type DispatcherCaseName, dispatcherSuite } from "./dispatcher-suite.ts";

const options = { kills: true, outages: true, latenessMs: 100, redeliveryMs: 500, backlog: 100 };

describe("the suite of dispatchers", () => {
  for (const { name, run, skip } of dispatcherSuite(() => memoryEngine(), options))
    test.skipIf(skip !== undefined).concurrent(`finds nothing wrong in a right engine: ${name}`, run);

  const away =
    "DP10: while the engine is away a wake is refused within five seconds; serving continues when it is back";
  const flaws: Record<Flaw, DispatcherCaseName> = {
    "drops wakes of a thread that is moved":
      "DP3: a wake that arrives while its thread is moved causes another call afterwards",
    "drops the wakes of a killed process":
      "DP1, DP4: after a kill of the process that moves the thread, its wake is delivered again",
    "delivers early": "DP2: a wake is delivered at its time, not before",
    "forgets timers when a process dies": "DP5: the next look survives a kill right after the move has returned",
    "forgets wakes when a process dies": "DP1: a wake that was confirmed survives the death of every process",
    "ignores the concurrency": "DP6: no more threads at once than the process has room for, however many wait",
    "gives up after a failure": "DP4: a move that rejects is called again, without end, with a growing pause",
    "tries again without a pause": "DP4: a move that rejects is called again, without end, with a growing pause",
    "keeps its fetched wakes when it stops":
      "DP7: after the signal no new move begins, running moves end, and the other wakes go to another process at once",
    "begins new calls after the signal":
      "DP7: after the signal no new move begins, running moves end, and the other wakes go to another process at once",
    "keeps a timer for each look": "DP5: of many deliveries that find a thread held, one timer remains",
    "drops the next look": "DP5: a thread is looked at again when its move asks for that",
    "counts timers as waiting":
      "depth, if the dispatcher tells it, counts the wakes that wait for a process, and since when",
    "takes wakes while it is away": away,
    "stays away": away,
  };

  // A wake that never comes is waited for: all at once, and not for long.
  const impatient = { ...options, slackMs: 1_500 };
  for (const [flaw, caught] of Object.entries(flaws) as [Flaw, DispatcherCaseName][])
    test.concurrent(`DP11: catches an engine that ${flaw}`, async () => {
      const found = dispatcherSuite(() => memoryEngine(flaw), impatient).find(({ name }) => name === caught)!;
      await expect(found.run()).rejects.toThrow();
    });

  const claims = {
    order: [
      "fair",
      "DP8: many wakes of one tenant and one of another are all delivered, and soon if the engine is fair",
    ],
    exclusive: [
      true,
      "DP9: wakes of one thread are never delivered at once, if the adapter says so, and the last of them is",
    ],
  } as const;
  for (const [trait, [value, caught]] of Object.entries(claims))
    test.concurrent(`DP11: catches an adapter that states \`${trait}: ${value}\`, and its engine is not`, async () => {
      const stated = dispatcherSuite(() => memoryEngine(), { ...impatient, [trait]: value });
      await expect(stated.find(({ name }) => name === caught)!.run()).rejects.toThrow();
    });

  test("skips cases that its engine has no means for, each with a reason", () => {
    const skipped = dispatcherSuite(() => memoryEngine()).filter(({ skip }) => skip !== undefined);
    expect(new Set(skipped.map(({ skip }) => skip))).toEqual(
      new Set(["no process is given to kill", "the engine cannot be taken away"]),
    );
    expect(() => dispatcherSuite(() => memoryEngine(), { skips: {} } as never)).toThrow(/skips/);
  });
});
