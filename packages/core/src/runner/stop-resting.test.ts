import { describe, expect, it } from "vitest";
import { approve } from "../interrupt/answer.ts";
import { toolOf } from "../testing/asking-tool.ts";
import { eachStore } from "../testing/each-store.ts";
import { gate, heldStore, type Kit, openKit, settle } from "../testing/session-kit.ts";
import { wrapStore } from "../testing/wrap-store.ts";

const pay = toolOf("pay", () => "paid", { needsApproval: true });
const tools = [pay];

describe.each(eachStore)("a stop of a thread that waits for people, on $name", ({ make }) => {
  /** It asks in its first stretch, and again in the next one. */
  async function asking() {
    const store = await make();
    const owner = await openKit([[{ call: "pay", id: "p" }], [{ call: "pay", id: "q" }], "done"], { store, tools });
    await owner.session.run("go").result;
    return { store, owner };
  }

  async function goOn({ session }: Kit): Promise<void> {
    await session.resume({ answers: { [session.interrupts[0]!.id]: approve() } }).result;
  }

  it("S2: takes nothing back in a later segment than the one that is given, also where its session has not heard of that one", async () => {
    const { store, owner } = await asking();
    const { session } = await openKit([], { store, tools });
    await goOn(owner);
    expect(await session.interrupt({ segment: 1 })).toMatchObject({ accepted: false, segment: 1 });
    expect(await store.requests("default")).toHaveLength(1);
    expect(await session.interrupt({ segment: 2, runId: "another" })).toMatchObject({ accepted: false });
    expect(await store.requests("default")).toHaveLength(1);
    await session.refresh();
    expect(await session.interrupt({ segment: 2 })).toMatchObject({ accepted: true, segment: 2 });
    expect(await store.requests("default")).toEqual([]);
  });

  it("S2: nor in one that somebody began while its hooks had the word", async () => {
    const { store, owner } = await asking();
    const [heard, go] = [gate(), gate()];
    const onInterrupt = async () => {
      heard.open();
      await go.opened;
      return "As you say.";
    };
    const { session } = await openKit([], { store, tools, agent: { hooks: { onInterrupt } } });
    const stopped = session.interrupt({ graceMs: 60_000 });
    await heard.opened;
    await goOn(owner);
    go.open();
    expect(await stopped).toMatchObject({ accepted: false, segment: 1 });
    expect(await store.requests("default")).toHaveLength(1);
    expect(owner.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
  });

  it("S2, S9: withdraws what is still asked where an answered call came in between, and has ended by the time that it hears of it", async () => {
    const store = await make();
    const [written, writes, ended, ends] = [gate(), gate(), gate(), gate()];
    let isHeld = false;
    const before = () => {
      if (!isHeld) return undefined;
      isHeld = false;
      written.open();
      return writes.opened;
    };
    const slow = wrapStore(heldStore(store, { before }), {
      async release(key, fence) {
        ended.open();
        await ends.opened;
        return store.release(key, fence);
      },
    });
    const calls = [
      { call: "pay", id: "p" },
      { call: "pay", id: "q" },
    ];
    const { session } = await openKit([calls, "done"], { store: slow, tools });
    await session.run("go").result;
    isHeld = true;
    const stopped = session.interrupt();
    await written.opened;
    expect(await session.answer(session.interrupts[0]!.id, approve())).toEqual({ open: 1 });
    await ended.opened;
    writes.open();
    await settle(20);
    ends.open();
    expect(await stopped).toMatchObject({ accepted: true, notStarted: ["q"] });
    expect([session.pauseType, await store.requests("default")]).toEqual(["user_interrupt", []]);
  });
});
