// The promises of a dispatcher, held with the real engine: the suite that every dispatcher passes, and the cases that only an
// engine of its own has. DP1 to DP10 are in docs/scaling.md.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Dispatcher, ThreadRef } from "@belay/core/dispatch";
import { type DispatcherUnderTest, dispatcherSuite, type ServePlan } from "@belay/core/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startEngine } from "../../../../scripts/services/engines.mjs";
import { bundlePrograms, type Child, type EngineSettings, openDispatcher, startChild } from "../processes/index.ts";
import { serve, sleep, until } from "./served.ts";

/** An engine under test, and the promises of its adapter. */
export interface EngineKit {
  readonly engine: "bullmq" | "dbos" | "restate";
  /** The latest that a timer is delivered after its time. */
  readonly latenessMs: number;
  /** The latest that a wake of a killed process is delivered again. */
  readonly takeoverMs: number;
  readonly order: "fair" | "fifo";
  /** Words that the engine has stored. */
  readonly stored: (settings: EngineSettings) => Promise<string>;
}

/** A wait in vain ends: the engine may not have come back. */
const MOST_MS = 240_000;
/** So much may a process have loaded by chance, or hold for an engine that pushes. Ten thousand wakes in memory are more. */
const MOST_HEAP = 6 * 1024 * 1024;

let spaces = 0;
const freshSpace = () => `t${process.pid}x${Date.now().toString(36)}x${++spaces}`;
const thread = (threadId: string, tenant = "acme"): ThreadRef => ({ tenant, threadId });
const LOOKS_AT_ONCE: ServePlan = { concurrency: 4, moves: {} };

interface Amounts {
  /** Also the promises that need processes killed and the engine halted. */
  readonly everyVariant: boolean;
  /** How many wakes wait for a process. */
  readonly backlog: number;
}

/** Holds an adapter to its promises. */
export function engineCases(kit: EngineKit, { everyVariant, backlog }: Amounts): void {
  const { engine, latenessMs, takeoverMs, order, stored } = kit;

  describe(`wakes on ${engine}`, { timeout: MOST_MS }, () => {
    let own: Awaited<ReturnType<typeof startEngine>>;
    let programs: string;
    let space: string;
    let children: Child[] = [];
    const dispatchers: Dispatcher[] = [];
    const settings = (place = 0) => ({ ...own.settings(place), space }) as EngineSettings;
    // This process has the first place among the workers, processes that are started the second.
    const start = (plan = LOOKS_AT_ONCE) => {
      const child = startChild(programs, "serveEngine", { settings: settings(1), plan }, 300_000);
      children.push(child);
      return child;
    };
    const open = async () => {
      const dispatcher = await openDispatcher(settings());
      dispatchers.push(dispatcher);
      return dispatcher;
    };

    beforeAll(async () => {
      programs = await bundlePrograms();
      own = await startEngine(engine, 2);
    });
    afterEach(async () => {
      for (const child of children) child.signal("SIGKILL");
      await Promise.all(children.map(({ exited }) => exited));
      children = [];
      await Promise.all(dispatchers.splice(0).map((dispatcher) => dispatcher.close()));
    });
    afterAll(async () => {
      await own.stop();
    });

    const make = async (): Promise<DispatcherUnderTest> => {
      space = freshSpace();
      await makeKnown(await openDispatcher(settings()));
      return {
        open: () => openDispatcher(settings()),
        start,
        engine: { stop: () => own.halt("SIGKILL"), start: () => own.again() },
      };
    };
    const suite = dispatcherSuite(make, {
      latenessMs,
      redeliveryMs: takeoverMs,
      order,
      kills: everyVariant,
      outages: everyVariant,
      backlog: Math.min(backlog, 1_000),
    });
    for (const { name, run, skip } of suite) test.skipIf(skip !== undefined)(name, run);

    test("DP1: names of tenants and threads arrive as they were sent", async () => {
      space = freshSpace();
      const dispatcher = await open();
      const served = serve(dispatcher);
      await untilTaken(dispatcher, thread("a: b/ü", "other: tenant/ü"));
      await served.reaches(1);
      expect(served.deliveries[0]).toMatchObject({ tenant: "other: tenant/ü", threadId: "a: b/ü" });
      await served.end();
    });

    test("DP5: `again` under the name of the delivery itself causes another one", async () => {
      space = freshSpace();
      const dispatcher = await open();
      const served = serve(dispatcher);
      served.onMove = (_, times) => (times < 4 ? { again: Date.now() + 200, id: "lease" } : {});
      await untilTaken(dispatcher, thread("again"), "lease");
      await served.reaches(4);
      await served.end();
    });

    test("the engine stores no words of a thread and none of its errors", async () => {
      space = freshSpace();
      const dispatcher = await open();
      const served = serve(dispatcher);
      served.onMove = () => {
        throw new Error("the secret word");
      };
      await untilTaken(dispatcher, thread("secret"));
      await served.reaches(2);
      expect(await stored(settings())).not.toContain("the secret word");
      await served.end();
    });

    describe.runIf(everyVariant)("in trouble", () => {
      test("DP2: a timer survives the death of every process and a restart of the engine", async () => {
        space = freshSpace();
        const dispatcher = await open();
        const first = start();
        await untilTaken(dispatcher, thread("warm"));
        await first.said("moved warm");
        const due = Date.now() + 4_000;
        await dispatcher.wake(thread("timer"), { at: due });
        first.signal("SIGKILL");
        await own.halt("SIGKILL");
        await own.again();
        await start().said("move timer");
        expect(Date.now() - due).toBeGreaterThanOrEqual(-50);
      });

      test("after its data was deleted an engine takes and delivers new wakes", async () => {
        space = freshSpace();
        const dispatcher = await open();
        const child = start();
        await untilTaken(dispatcher, thread("before"));
        await child.said("moved before");
        await own.wipe();
        await untilTaken(dispatcher, thread("after"));
        // A wake that came before the queue was registered anew may be lost with the data; the sweep of a worker repeats it.
        const again = setInterval(() => void dispatcher.wake(thread("after")).catch(() => {}), 1_000);
        await child.said("move after");
        clearInterval(again);
      });

      test("DP6: wakes that wait cost the process that serves no memory", async () => {
        space = freshSpace();
        const dispatcher = await open();
        let isOpen = false;
        // What an engine loads when it serves for the first time is no part of it.
        const warm = serve(dispatcher);
        await untilTaken(dispatcher, thread("warm"));
        await warm.reaches(1);
        await warm.end();
        for (let i = 0; i < backlog; i += 50)
          await Promise.all(Array.from({ length: 50 }, (_, j) => dispatcher.wake(thread(`waits-${i + j}`))));
        const before = heapBytes();
        const served = serve(dispatcher);
        served.onMove = async () => {
          await until(() => isOpen);
          return {};
        };
        await served.reaches(3);
        await sleep(2_000);
        const more = heapBytes() - before;
        console.log(`${engine}: ${backlog} wakes that wait cost ${Math.round(more / 1024)} KB of heap`);
        isOpen = true;
        // Wakes that were left in the engine would be tried again beside those of the next case.
        await until(() => new Set(served.ids).size >= backlog);
        await served.end();
        expect(more).toBeLessThan(MOST_HEAP);
        expect(served.most).toBe(3);
      });

      test("DP8: one wake behind a thousand of another tenant waits as long as the order that the adapter states", async () => {
        space = freshSpace();
        const dispatcher = await open();
        const served = serve(dispatcher, 2);
        let isOpen = false;
        served.onMove = async () => {
          await until(() => isOpen);
          await sleep(2);
          return {};
        };
        await untilTaken(dispatcher, thread("first"));
        for (let i = 0; i < 1_000; i += 50)
          await Promise.all(Array.from({ length: 50 }, (_, j) => dispatcher.wake(thread(`bulk-${i + j}`, "big"))));
        isOpen = true;
        await served.reaches(20);
        const before = served.deliveries.length;
        await dispatcher.wake(thread("small", "small"));
        await until(() => served.ids.includes("small"));
        const behind = served.ids.indexOf("small") - before;
        expect(behind < 100 ? "fair" : "fifo").toBe(order);
        await served.end();
      });
    });
  });
}

/** The heap that is in use, without what nobody holds any more. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** Serves until a wake has come through: an engine refuses wakes for a queue or a service that it has never met. */
async function makeKnown(dispatcher: Dispatcher): Promise<void> {
  const served = serve(dispatcher);
  await untilTaken(dispatcher, thread("first"));
  await served.reaches(1);
  await served.end();
  await dispatcher.close();
}

/** Wakes a thread, as often as the engine refuses: it may not know the process that serves yet. */
async function untilTaken(dispatcher: Dispatcher, ref: ThreadRef, id = "taken"): Promise<void> {
  for (const giveUp = Date.now() + MOST_MS / 2; ; ) {
    try {
      return await dispatcher.wake(ref, { id });
    } catch (error) {
      if (Date.now() > giveUp) throw error;
      await sleep(100);
    }
  }
}
