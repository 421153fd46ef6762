import {
  eachStore,
  type Fault,
  factsOf,
  faultyStore,
  gate,
  history,
  openKit,
  settle,
  unhandled,
  until,
} from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { belayError } from "../../error.ts";
import { jsonSchema, type LogEntry, memoryStore, tool } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const key = { tenant: "default", threadId: "thread" };
const input = jsonSchema<object>({ type: "object" });
const failing = (times: number, fail: Fault["fail"]) => Array.from({ length: times }, (): Fault => ({ fail }));
const days = 24 * 3_600_000;

/** A run that was stopped while its one call kept running, on a store that can be made to fail. */
async function leftBehind(inner = memoryStore(), clock?: ReturnType<typeof fakeClock>) {
  const begun = gate();
  const ended = gate<string>();
  const execute = () => {
    begun.open();
    return ended.opened;
  };
  const deaf = tool({ name: "deaf", description: "", input, execute });
  const store = faultyStore(inner);
  const told: LogEntry[] = [];
  const kit = await openKit([[{ call: "deaf" }], "seen"], {
    store,
    tools: [deaf],
    ...(clock && { clock }),
    runner: { log: (entry) => void told.push(entry) },
  });
  const run = kit.session.run("go");
  await begun.opened;
  void kit.session.interrupt({ force: true });
  await run.result;
  expect(kit.session.late).toEqual(["call_1"]);
  const lates = async () => (await factsOf(inner)).filter((fact) => fact.type === "tool-late").length;
  const waiting = async () => (await inner.load(key))?.commands.length ?? 0;
  return { ...kit, faults: store, told, lates, waiting, end: ended.open };
}

describe.each(eachStore)("S5: a late result on a $name store that fails", ({ make }) => {
  it.each(["before", "after"] as const)(
    "is tried again until it is taken, and reported once: %s the commit",
    async (when) => {
      const { session, end, faults, lates, waiting, told, problems } = await leftBehind(await make());
      faults.plan("send", ...failing(3, when));
      end("late news");
      await until(async () => faults.failed && session.late.length === 0);
      expect(await waiting()).toBe(1);
      await session.resume().result;
      await session.run("more").result;
      expect([await lates(), told]).toEqual([1, []]);
      expect(history(session.messages)[2]).toBe("tool: call_1 ok");
      expect(problems()).toEqual([]);
    },
  );

  it("is tried again when the thread cannot be read, too", async () => {
    const { session, end, faults, waiting } = await leftBehind(await make());
    faults.plan("load", ...failing(2, "before"));
    end("late news");
    await until(async () => faults.failed && session.late.length === 0);
    expect(await waiting()).toBe(1);
  });
});

describe("S5: a late result that the store does not take", () => {
  it("is named by session.late as long as it is tried, with growing waits, however long that takes", async () => {
    const clock = fakeClock();
    const { session, end, faults, waiting } = await leftBehind(memoryStore({ clock }), clock);
    let tries = 0;
    const { send } = faults;
    faults.send = (...args) => {
      tries += 1;
      return send(...args);
    };
    faults.plan("send", ...failing(1_000, "before"));
    end("late news");
    await clock.advance(1_000);
    expect(tries).toBeGreaterThan(2);
    expect(session.late).toEqual(["call_1"]);
    const soon = tries;
    await clock.advance(60_000);
    expect(tries - soon).toBeLessThan(20);
    expect(session.late).toEqual(["call_1"]);
    faults.plan("send");
    await clock.advance(60_000);
    expect([session.late, await waiting(), clock.pending]).toEqual([[], 1, 0]);
  });

  it("is tried once more when the runner closes; then it is logged as lost", async () => {
    const clock = fakeClock();
    const { session, runner, end, faults, told } = await leftBehind(memoryStore({ clock }), clock);
    faults.plan("send", ...failing(1_000, "before"));
    end("late news");
    await clock.advance(1_000);
    expect([told, clock.pending]).toEqual([[], 1]);
    await runner.close();
    expect(told).toMatchObject([{ threadId: "thread", error: { code: "LATE_LOST", details: { callId: "call_1" } } }]);
    expect(told[0]?.error.message).toContain("send failed before the commit");
    expect([session.late, clock.pending]).toEqual([[], 0]);
    faults.plan("send");
    await clock.advance(days);
    expect(await faults.load(key)).toMatchObject({ commands: [] });
  });

  it("does not delay the end of a runner with a store that gives no answer: it is logged as lost", async () => {
    const clock = fakeClock();
    const { runner, end, faults, told } = await leftBehind(memoryStore({ clock }), clock);
    faults.freeze();
    end("late news");
    await settle();
    const closed = runner.close();
    await clock.advance(999);
    expect(told).toEqual([]);
    await clock.advance(1);
    await closed;
    expect(told).toMatchObject([{ error: { code: "LATE_LOST" } }]);
    expect(told[0]?.error.message).toContain("does not answer");
  });

  it("is saved by that last try if the store is back", async () => {
    const clock = fakeClock();
    const { runner, end, faults, told, waiting } = await leftBehind(memoryStore({ clock }), clock);
    faults.plan("send", ...failing(3, "before"));
    end("late news");
    await clock.advance(40);
    faults.plan("send");
    await runner.close();
    expect([await waiting(), told, clock.pending]).toEqual([1, [], 0]);
  });

  it("after the runner was closed has one try, and is logged as lost if that fails", async () => {
    const { runner, end, faults, told, waiting } = await leftBehind();
    await runner.close();
    faults.plan("send", { fail: "before" });
    end("too late");
    await until(() => told.length > 0);
    await settle();
    expect([told.map(({ error }) => error.code), await waiting()]).toEqual([["LATE_LOST"], 0]);
  });

  it("does not hold up a drain longer than that may take", async () => {
    const clock = fakeClock();
    const { runner, end, faults } = await leftBehind(memoryStore({ clock }), clock);
    faults.plan("send", ...failing(1, "before"));
    end("late news");
    await settle();
    faults.freeze();
    let drained = false;
    void runner.drain({ timeoutMs: 2_000 }).then(() => {
      drained = true;
    });
    await clock.advance(900);
    expect(drained).toBe(false);
    await clock.advance(200);
    expect(drained).toBe(true);
    faults.thaw();
  });

  it("keeps no process alive", async () => {
    const timers: NodeJS.Timeout[] = [];
    const clock = {
      ...fakeClock(),
      setTimeout(run: () => void, ms: number) {
        const timer = setTimeout(run, ms);
        timers.push(timer);
        return timer;
      },
      clearTimeout: (timer: unknown) => clearTimeout(timer as NodeJS.Timeout),
    };
    const { runner, end, faults } = await leftBehind(memoryStore(), clock);
    faults.plan("send", ...failing(1_000, "before"));
    timers.length = 0;
    end("late news");
    await until(() => timers.length > 0);
    expect(timers[0]!.hasRef()).toBe(false);
    await runner.close();
  });

  it.each(["STORE_FULL", "STORE_FAILED"] as const)(
    "is tried again if the store throws %s: it may be back",
    async (code) => {
      const { session, end, faults, waiting } = await leftBehind();
      const { send } = faults;
      let failures = 0;
      faults.send = async (...args) => {
        if (++failures < 4) throw belayError(code, { reason: "for now" });
        return send(...args);
      };
      end("late news");
      await until(() => session.late.length === 0);
      expect([await waiting(), failures]).toEqual([1, 4]);
    },
  );

  it("is given up at once where another try would find the same; a log that throws is of no consequence", async () => {
    const { session, end, faults, told } = await leftBehind();
    faults.send = async () => {
      throw belayError("JOURNAL_CORRUPT", { threadId: "thread", seq: 0, problem: "its row does not fit" });
    };
    const seen = await unhandled(async () => {
      told.push = () => {
        throw new Error("no log");
      };
      end("too late");
      await until(() => session.late.length === 0);
    });
    expect(seen).toEqual([]);
  });

  it("is of no consequence on a thread that is deleted between the look and the send", async () => {
    const { session, end, faults, told } = await leftBehind();
    const { send } = faults;
    faults.send = async (...args) => {
      await faults.delete(key);
      return send(...args);
    };
    end("too late");
    await until(() => session.late.length === 0);
    expect(told).toEqual([]);
  });
});
