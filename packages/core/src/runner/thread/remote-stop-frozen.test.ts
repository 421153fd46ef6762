import {
  eachStore,
  factsOf,
  faultyStore,
  gate,
  happens,
  openKit,
  paying,
  pays,
  requestOf,
  said,
  toolOf,
} from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { approve } from "../../index.ts";

const key = { tenant: "default", threadId: "thread" };

describe.each(eachStore)("a stop of an owner that stands still past its lease, on $name", ({ make }) => {
  /** One call runs, with a model for the turn after it; another runner has only the store. */
  async function frozen() {
    const store = await make();
    const side = faultyStore(store);
    const [begun, heard, go] = [gate(), gate(), gate()];
    const act = toolOf(
      "act",
      async (ctx) => {
        begun.open();
        ctx.signal.addEventListener("abort", () => heard.open());
        await go.opened;
        return "done";
      },
      { onStop: "finish", repeatable: true },
    );
    const owner = await openKit([[{ call: "act" }], "well"], { tools: [act], store: side, leaseTtlMs: 200 });
    const other = await openKit([], { store, threadId: "elsewhere" });
    const run = owner.session.run("go");
    await begun.opened;
    return { store, side, heard, go, act, owner, other, run };
  }

  it("S2: a stop that was reported as nothing to stop is not heeded when the owner wakes up", async () => {
    const { store, side, go, act, owner, other, run } = await frozen();
    side.freeze();
    expect(await other.runner.interrupt("thread")).toMatchObject({ accepted: false, runId: run.runId, segment: 1 });
    expect((await store.load(key))?.commands).toEqual([]);
    const before = said(await factsOf(store));
    side.thaw();
    go.open();
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "FENCED" } });
    expect(said(await factsOf(store))).toEqual(before);
    expect(owner.session).toMatchObject({ state: "paused", pauseType: "crash" });
    const next = await openKit(["well"], { tools: [act], store });
    expect(await next.session.resume().result).toMatchObject({ status: "completed", text: "well" });
  });

  it("S2, F3: nor is one recorded that the owner had begun to heed before it stood still", async () => {
    const { store, side, heard, go, owner, other, run } = await frozen();
    const stopping = other.runner.interrupt("thread");
    await heard.opened;
    side.freeze();
    expect(await stopping).toMatchObject({ accepted: false, runId: run.runId, segment: 1 });
    expect((await store.load(key))?.commands).toEqual([]);
    const before = said(await factsOf(store));
    go.open();
    side.thaw();
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "FENCED" } });
    expect(said(await factsOf(store))).toEqual(before);
    expect(owner.session).toMatchObject({ state: "paused", pauseType: "crash" });
  });

  it("S2: an owner that wakes up in time heeds it, and the sender gets the receipt", async () => {
    const { side, go, other, run } = await frozen();
    const stopping = other.runner.interrupt("thread");
    side.freeze();
    await new Promise((resolve) => setTimeout(resolve, 100));
    side.thaw();
    go.open();
    expect(await stopping).toMatchObject({ accepted: true, finished: ["call_1"] });
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
  });

  it("S2, Q3: nor does one that met answered calls of a process that died hit the next that is answered in the same pause", async () => {
    const store = await make();
    const side = faultyStore(store);
    const { tools, ran } = paying();
    const begun = gate();
    const never = () => {
      begun.open();
      return new Promise(() => {});
    };
    const stuck = toolOf("stuck", never, { needsApproval: true });
    const all = [...tools, stuck];
    const turn = [{ call: "stuck", id: "s" }, ...pays("a")];
    const owner = await openKit([turn, "done"], { tools: all, store: side, leaseTtlMs: 200 });
    const run = owner.session.run("go");
    await run.result;
    const [s, a] = [requestOf(owner, "s").id, requestOf(owner, "a").id];
    const other = await openKit([], { tools: all, store, threadId: "elsewhere" });
    void owner.session.answer(s, approve());
    await begun.opened;
    side.kill();
    const told = await other.runner.interrupt("thread", { requests: "keep" });
    expect(told).toMatchObject({ accepted: false, runId: run.runId, segment: 1 });
    expect((await store.load(key))?.commands).toEqual([]);
    await other.runner.answer(a, approve());
    await happens(ran, "pay 1");
    expect(said(await factsOf(store)).at(-1)).not.toContain("user_interrupt");
    expect(said(await factsOf(store))).toContain("tool-end a ok");
  });
});
