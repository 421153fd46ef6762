import { eachStore, factProblems, factsOf, gate, heldStore, openKit, toolOf, until } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { humanInput, respond } from "../../index.ts";

const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
  messages.some(({ role }) => role === "tool") ? "done" : ([{ call: "ask", id: "a" }] as const);

describe.each(eachStore)("pause() while the thread is paused, on $name", ({ make }) => {
  test("Q3: it does not stop a call after the answer to its question, and changes nothing else", async () => {
    const store = await make();
    const working = gate();
    const ask = toolOf("ask", async (ctx) => {
      const said = await ctx.ask(humanInput("?"));
      working.open();
      return `heard ${said}`;
    });
    const first = await openKit(script, { store, tools: [ask] });
    await first.session.run("go").result;
    await first.session.close();
    const kit = await openKit(script, { store, tools: [ask] });
    const [request] = kit.session.interrupts;
    const answered = kit.session.answer(request!.id, respond("x"));
    const receipt = kit.session.pause();
    expect(await answered).toEqual({ open: 0 });
    await working.opened;
    expect(await receipt).toMatchObject({ accepted: false });
    const ends = async () => (await factsOf(store)).flatMap((fact) => (fact.type === "tool-end" ? [fact.outcome] : []));
    await until(async () => (await ends()).length > 0);
    expect(await ends()).toEqual(["ok"]);
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    expect((await kit.session.resume().result).status).toBe("completed");
    expect(factProblems(await factsOf(store))).toEqual([]);
  });
});

describe.each(eachStore)("a stop while pause() is being written, on $name", ({ make }) => {
  test("S2, S9: withdraws the requests: the pause has left them open, and its receipt is not the stop's", async () => {
    const [written, writes] = [gate(), gate()];
    let isHeld = false;
    const store = heldStore(await make(), {
      before: (_, { release }) => {
        if (!isHeld || !release) return undefined;
        isHeld = false;
        written.open();
        return writes.opened;
      },
    });
    const pay = toolOf("pay", () => "paid", { needsApproval: true });
    const { session } = await openKit([[{ call: "pay", id: "p" }], "done"], { store, tools: [pay] });
    await session.run("go").result;
    isHeld = true;
    const run = session.resume();
    const paused = session.pause();
    await written.opened;
    const stopped = session.interrupt();
    writes.open();
    expect(await paused).toMatchObject({ accepted: true });
    expect(await run.result).toMatchObject({ interruptType: "tool_interrupt" });
    expect(await stopped).toMatchObject({ accepted: true, notStarted: ["p"] });
    expect([session.pauseType, await store.requests("default")]).toEqual(["user_interrupt", []]);
    expect(factProblems(await factsOf(store))).toEqual([]);
  });
});
