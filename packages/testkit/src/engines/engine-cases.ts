// The promises of a dispatcher, held with the real engine. DP1 to DP10 are in docs/scaling.md.
import type { Dispatcher, ThreadRef } from "@belay/core/dispatch";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startEngine } from "../../../../scripts/services/engines.mjs";
import { type Child, startChild } from "../processes/index.ts";
import { bundleServer } from "./bundle.mjs";
import { type EngineSettings, openDispatcher } from "./open-dispatcher.ts";
import { type Served, serve, sleep, until } from "./served.ts";

/** An engine under test, and what its adapter states. */
export interface EngineKit {
  readonly engine: EngineSettings["engine"];
  /** Settings for an engine that other tests use, too. */
  readonly shared: () => Promise<EngineSettings>;
  /** The latest that a timer is delivered after its time. */
  readonly latenessMs: number;
  /** The latest that a wake of a killed process is delivered again. */
  readonly takeoverMs: number;
  readonly order: "fair" | "fifo";
  /** Words that the engine has stored. */
  readonly stored: (settings: EngineSettings) => Promise<string>;
}

let spaces = 0;
const freshSpace = () => `t${process.pid}x${Date.now().toString(36)}x${++spaces}`;
const thread = (threadId: string, tenant = "acme"): ThreadRef => ({ tenant, threadId });
/** A busy machine delivers late: all bounds have this much added. */
const BUSY_MS = 1_500;

/** Holds an adapter to its promises: with `everyVariant` also those that need processes killed and the engine halted. */
export function engineCases(kit: EngineKit, { everyVariant }: { readonly everyVariant: boolean }): void {
  momentary(kit);
  if (everyVariant) inTrouble(kit);
}

/** The cases that take a moment. */
function momentary({ engine, shared, latenessMs }: EngineKit): void {
  describe(`wakes on ${engine}`, () => {
    let dispatcher: Dispatcher;
    let served: Served;

    beforeAll(async () => {
      dispatcher = await openDispatcher({ ...(await shared()), space: freshSpace() });
      served = serve(dispatcher);
      // Until the engine knows the process that serves.
      await untilTaken(dispatcher, thread("first"));
      await served.reaches(1);
    });
    afterEach(async () => {
      await until(() => served.running === 0);
      served.onMove = () => ({});
    });
    afterAll(async () => {
      await served.end();
      await dispatcher.close();
    });

    test("DP1: a wake that was confirmed is delivered", async () => {
      const from = served.deliveries.length;
      await dispatcher.wake(thread("a"));
      await dispatcher.wake(thread("b", "other: tenant/ü"));
      await served.reaches(from + 2);
      const delivered = served.deliveries.slice(from).map(({ tenant, threadId }) => `${tenant} ${threadId}`);
      expect(delivered.sort()).toEqual(["acme a", "other: tenant/ü b"]);
    });

    test("DP2: a timer is not early, and late by no more than the adapter states", async () => {
      const at = Date.now() + 700;
      const from = served.deliveries.length;
      await dispatcher.wake(thread("timer"), { at });
      await served.reaches(from + 1);
      const late = served.deliveries[from]!.at - at;
      expect(late).toBeGreaterThanOrEqual(-50);
      expect(late).toBeLessThanOrEqual(latenessMs + BUSY_MS);
    });

    test("DP3: a wake that arrives during a delivery causes another one, and twins of one cause are one wake", async () => {
      let isOpen = false;
      served.onMove = async (_, times) => {
        if (times === 1) await until(() => isOpen);
        return {};
      };
      await dispatcher.wake(thread("during"), { id: "first" });
      await until(() => served.ids.includes("during"));
      const at = Date.now() + 500;
      for (let i = 0; i < 5; i++) await dispatcher.wake(thread("during"), { id: "second", at });
      isOpen = true;
      await until(() => served.ids.filter((id) => id === "during").length === 2);
      await sleep(300);
      expect(served.ids.filter((id) => id === "during")).toHaveLength(2);
    });

    test("DP4: a delivery that fails is tried again, with a growing pause", async () => {
      served.onMove = (_, times) => {
        if (times <= 3) throw new Error("a secret of the thread");
        return {};
      };
      await dispatcher.wake(thread("fails"));
      const tries = () => served.deliveries.filter(({ threadId }) => threadId === "fails").map(({ at }) => at);
      await until(() => tries().length === 4);
      const [one, two, , four] = tries() as [number, number, number, number];
      expect(two - one).toBeGreaterThanOrEqual(50);
      expect(four - one).toBeGreaterThanOrEqual(300);
    });

    test("DP5: `again` is at once or a timer, also under the name of the delivery itself", async () => {
      const later: number[] = [];
      served.onMove = (_, times) => {
        if (times === 1) return { again: Date.now() - 1_000, id: "lease" };
        if (times > 3) return {};
        later.push(Date.now() + 200);
        return { again: later.at(-1)!, id: "lease" };
      };
      await dispatcher.wake(thread("again"), { id: "lease" });
      const looks = () => served.deliveries.filter(({ threadId }) => threadId === "again").map(({ at }) => at);
      await until(() => looks().length === 4);
      expect(looks()[2]! - later[0]!).toBeGreaterThanOrEqual(-50);
      expect(looks()[3]! - later[1]!).toBeGreaterThanOrEqual(-50);
    });

    test("DP5: many deliveries that find a thread held leave one timer", async () => {
      const again = Date.now() + 1_500;
      served.onMove = (_, times) => (times <= 6 ? { again, id: "fence 7" } : {});
      for (let i = 0; i < 6; i++) await dispatcher.wake(thread("held"), { id: `cause ${i}` });
      const looks = () => served.ids.filter((id) => id === "held").length;
      await until(() => looks() >= 7);
      await sleep(300);
      expect(looks()).toBe(7);
    });

    test("DP6: never more deliveries at once than the process asked for", async () => {
      const from = served.deliveries.length;
      served.onMove = async () => {
        await sleep(20);
        return {};
      };
      await Promise.all(Array.from({ length: 20 }, (_, i) => dispatcher.wake(thread(`many-${i}`))));
      await served.reaches(from + 20);
      expect(served.most).toBe(3);
    });

    test("DP7: after the signal no delivery begins, those begun end, and the rest is delivered to the next process", async () => {
      const from = served.deliveries.length;
      served.onMove = async () => {
        await sleep(300);
        return {};
      };
      await Promise.all(Array.from({ length: 6 }, (_, i) => dispatcher.wake(thread(`rest-${i}`))));
      await until(() => served.running === 3);
      const begun = served.deliveries.length;
      await served.end();
      expect(served.running).toBe(0);
      expect(served.deliveries.length).toBe(begun);
      const next = serve(dispatcher);
      await until(() => new Set([...served.ids.slice(from), ...next.ids]).size === 6);
      expect(next.ids.length).toBe(6 - (begun - from));
      served = next;
    });
  });
}

/** The cases that kill processes, halt the engine and delete its data. */
function inTrouble(kit: EngineKit): void {
  const { engine, takeoverMs, order, stored } = kit;

  describe(`${engine} in trouble`, () => {
    let own: Awaited<ReturnType<typeof startEngine>>;
    let program: string;
    let children: Child[] = [];
    const dispatchers: Dispatcher[] = [];
    const settings = (place?: number) => own.settings(place) as EngineSettings;
    const start = (place: number, more: object = {}) => {
      const child = startChild(program, "serve", { settings: settings(place), ...more }, 300_000);
      children.push(child);
      return child;
    };
    const open = async (place?: number) => {
      const dispatcher = await openDispatcher(settings(place));
      dispatchers.push(dispatcher);
      return dispatcher;
    };

    beforeAll(async () => {
      program = await bundleServer();
      own = await startEngine(engine, 4);
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

    test("DP1, DP4: a wake is delivered again when its process was killed, also if all were", async () => {
      const dispatcher = await open();
      const first = start(0, { hang: true });
      await first.said("serves");
      await untilTaken(dispatcher, thread("killed"));
      await first.said("move acme killed");
      first.signal("SIGKILL");
      await first.exited;
      const killedAt = Date.now();
      const second = start(1);
      const [, , , at] = (await second.said("move acme killed")).split(" ");
      expect(Number(at) - killedAt).toBeLessThanOrEqual(takeoverMs + BUSY_MS);
    });

    test("DP2: a timer survives the death of every process and a restart of the engine", async () => {
      const dispatcher = await open();
      const first = start(0);
      await untilTaken(dispatcher, thread("warm"));
      await first.said("move acme warm");
      const due = Date.now() + 4_000;
      await dispatcher.wake(thread("timer"), { at: due });
      first.signal("SIGKILL");
      await own.halt("SIGKILL");
      await own.again();
      const [, , , at] = (await start(1).said("move acme timer")).split(" ");
      expect(Number(at) - due).toBeGreaterThanOrEqual(-50);
    });

    test("DP10: while the engine is away a wake is refused in five seconds; a process that serves continues by itself", async () => {
      const dispatcher = await open();
      const child = start(0);
      await untilTaken(dispatcher, thread("before"));
      await child.said("move acme before");
      await own.halt("SIGKILL");
      const asked = Date.now();
      await expect(dispatcher.wake(thread("lost"))).rejects.toMatchObject({ code: "ENGINE_AWAY" });
      expect(Date.now() - asked).toBeLessThanOrEqual(5_000);
      await sleep(Math.max(0, asked + 10_000 - Date.now()));
      await own.again();
      await untilTaken(dispatcher, thread("after"));
      await child.said("move acme after");
    });

    test("an engine whose data was deleted takes and delivers new wakes", async () => {
      const dispatcher = await open();
      const child = start(0);
      await untilTaken(dispatcher, thread("before"));
      await child.said("move acme before");
      await own.wipe();
      await untilTaken(dispatcher, thread("after"));
      // A wake that came before the queue was registered anew may be lost with the data; the sweep of a worker repeats it.
      const again = setInterval(() => void dispatcher.wake(thread("after")).catch(() => {}), 1_000);
      await child.said("move acme after");
      clearInterval(again);
    });

    test("DP8: one wake behind a thousand of another tenant waits as long as the order that the adapter states", async () => {
      const dispatcher = await open(0);
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

    test("the engine stores no words of a thread and none of its errors", async () => {
      const dispatcher = await open(0);
      const served = serve(dispatcher);
      served.onMove = () => {
        throw new Error("the secret word");
      };
      await untilTaken(dispatcher, thread("secret"));
      await served.reaches(2);
      expect(await stored(settings())).not.toContain("the secret word");
      await served.end();
    });
  });
}

/** Wakes a thread, as often as the engine refuses: it may not know the process that serves yet. */
async function untilTaken(dispatcher: Dispatcher, ref: ThreadRef): Promise<void> {
  for (;;) {
    try {
      return await dispatcher.wake(ref, { id: "taken" });
    } catch {
      await sleep(100);
    }
  }
}
