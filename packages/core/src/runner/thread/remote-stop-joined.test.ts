import { eachStore, factsOf, gate, heldStore, listen, openKit, paying, pays, toolOf, until } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import type { Store } from "../../index.ts";

const key = { tenant: "default", threadId: "thread" };

/** Holds the append that pauses a run and returns its lease, until `go` is opened. */
function holdPause(inner: Store) {
  const [closing, go] = [gate(), gate()];
  const store = heldStore(inner, {
    before: async (_, { state, release }) => {
      if (state !== "paused" || !release) return;
      closing.open();
      await go.opened;
    },
  });
  return { store, closing, go };
}

describe.each(eachStore)("a stop from another runner that joins one, on $name", ({ make }) => {
  it("S2: a stop that joined another one, which was being appended, is on record, too, and sent again hits nothing later", async () => {
    const inner = await make();
    const { store, closing, go } = holdPause(inner);
    const owner = await openKit(
      [
        [{ text: "half" }, { stall: true }],
        [{ text: " more" }, { stall: true }],
      ],
      { store },
    );
    const first = owner.session.run("go");
    await listen(first).until((event) => event.type === "text-delta");
    const stopped = owner.session.interrupt();
    await closing.opened;
    const other = await openKit([], { store: inner, threadId: "elsewhere" });
    const merged = other.runner.interrupt("thread", { id: "x" });
    await until(async () => (await inner.load(key))?.commands.length === 1);
    go.open();
    const receipt = await stopped;
    expect([receipt.accepted, await merged]).toEqual([true, receipt]);
    expect((await inner.load(key))?.commands).toEqual([]);
    expect(await other.runner.interrupt("thread", { id: "x" })).toEqual(receipt);
    const second = owner.session.resume();
    await listen(second).until((event) => event.type === "text-delta");
    expect(await owner.session.interrupt({ id: "x" })).toEqual(receipt);
    expect(await other.runner.interrupt("thread", { id: "x" })).toEqual(receipt);
    expect(owner.session.state).toBe("running");
    await owner.session.interrupt();
    const commands = (await factsOf(inner)).filter((fact) => fact.type === "command");
    expect(commands).toMatchObject([{ key: "stop:x" }]);
  });

  it("S9: a stop that meets one which keeps requests, as that is being appended, withdraws them from its pause", async () => {
    const inner = await make();
    const { store, closing, go } = holdPause(inner);
    const begun = gate();
    const stuck = toolOf("stuck", () => {
      begun.open();
      return new Promise(() => {});
    });
    const tools = [...paying().tools, stuck];
    const owner = await openKit([[{ call: "stuck", id: "s" }, ...pays("a")]], { tools, store });
    const run = owner.session.run("go");
    await begun.opened;
    await until(() => owner.session.interrupts.length === 1);
    const kept = owner.session.interrupt({ requests: "keep", graceMs: 0 });
    await closing.opened;
    const other = await openKit([], { tools, store: inner, threadId: "elsewhere" });
    const stopped = other.runner.interrupt("thread");
    await until(async () => (await inner.load(key))?.commands.length === 1);
    go.open();
    expect(await kept).toMatchObject({ runId: run.runId });
    expect(await run.result).toMatchObject({ interruptType: "tool_interrupt" });
    expect(await stopped).toMatchObject({ accepted: true, runId: run.runId, notStarted: ["a"] });
    expect(await inner.requests("default")).toEqual([]);
    expect(await owner.runner.look("thread")).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
  });
});
