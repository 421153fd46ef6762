import { eachStore, factsOf, history, listen, openKit, paying, pays, requestOf, waiting } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  type Answer,
  approve,
  createRunner,
  END,
  graph,
  humanApproval,
  reject,
  respond,
  START,
} from "../../index.ts";

const large = "x".repeat(2000);
const limited = { runner: { maxBytes: 1000 } };
const tooLarge = { code: "TOO_LARGE" };

describe.each(eachStore)("values of a caller larger than maxBytes, on $name", ({ make }) => {
  test.each<[string, Answer]>([
    ["respond(value)", respond({ text: large })],
    ["approve({ args })", approve({ args: { n: 1, text: large } })],
    ["approve({ note })", approve({ note: large })],
    ["reject(reason)", reject(large)],
  ])(
    "P12: %s is ANSWER_INVALID whichever way it comes; nothing is written, and the right answer still counts",
    async (_, answer) => {
      const { tools, ran } = paying();
      const kit = await waiting(["p"], { store: await make(), tools, ...limited });
      const { id } = requestOf(kit, "p");
      const facts = await factsOf(kit.store);
      const refused = {
        code: "ANSWER_INVALID",
        message: expect.stringMatching(/: it takes 2\d\d\d bytes, and at most 1000 are taken\.$/),
      };
      await expect(kit.session.answer(id, answer)).rejects.toMatchObject(refused);
      await expect(kit.runner.answer(id, answer)).rejects.toMatchObject(refused);
      expect(() => kit.session.resume({ answers: { [id]: answer } })).toThrow(expect.objectContaining(refused));
      const handle = await kit.session.handle();
      const issued = await factsOf(kit.store);
      await expect(kit.runner.resume(handle, { answers: { [id]: answer } })).rejects.toMatchObject(refused);
      expect([ran, issued.slice(0, facts.length), await factsOf(kit.store)]).toEqual([[], facts, issued]);
      const run = await kit.runner.resume(handle, { answers: { [id]: approve() } });
      expect(await run.result).toMatchObject({ status: "completed" });
      expect(ran).toEqual(["pay 1"]);
    },
  );

  test("P12, G4: resume({ state }) and the condition of a breakpoint are TOO_LARGE; the thread is as it was, and continues", async () => {
    const g = graph<{ by: string }>("g")
      .node("a", (_input: string, ctx) => ctx.state.by)
      .edge(START, "a")
      .edge("a", END)
      .compile({ state: { by: "me" }, interruptBefore: ["a"] });
    const store = await make();
    const session = await createRunner({ agent: g as Agent<unknown, unknown>, store, maxBytes: 1000 }).open("thread");
    expect(await session.run("go").result).toMatchObject({ status: "interrupted" });
    const facts = await factsOf(store);
    expect(() => session.resume({ state: { by: large } })).toThrow(expect.objectContaining(tooLarge));
    await expect(session.setBreakpoint({ node: "a", when: large })).rejects.toMatchObject(tooLarge);
    expect([session.state, await factsOf(store)]).toEqual(["paused", facts]);
    expect(await session.resume({ state: { by: "you" } }).result).toMatchObject({ output: "you" });
  });

  test("P12, S10: a stop that says more than maxBytes is refused as a whole, here and from afar: nothing is stopped", async () => {
    const store = await make();
    const kit = await openKit([[{ text: "Well, " }, { stall: true }]], { store, ...limited });
    const run = kit.session.run("go");
    const heard = listen(run);
    await heard.until(({ type }) => type === "text-delta");
    const afar = await openKit([], { store, threadId: "other", ...limited });
    for (const said of [{ message: large }, { reason: large }]) {
      await expect(kit.session.interrupt(said)).rejects.toMatchObject(tooLarge);
      await expect(afar.runner.interrupt("thread", said)).rejects.toMatchObject(tooLarge);
    }
    expect(kit.session.state).toBe("running");
    expect(await kit.session.interrupt({ message: "short" })).toMatchObject({ accepted: true });
    expect(history(kit.session.messages)).toEqual(["user: go", "assistant~user: Well, "]);
  });

  test("P12: a needsApproval that asks with more than maxBytes asks a person, with the reason", async () => {
    const { tools, ran } = paying({ needsApproval: () => humanApproval("May it?", { context: large }) });
    const kit = await openKit([pays("p"), "done"], { store: await make(), tools, ...limited });
    await kit.session.run("go").result;
    const asked = requestOf(kit, "p");
    expect(asked.reason).toMatch(/could not be told: The request takes 2\d\d\d bytes; at most 1000 are taken\.$/);
    expect(asked.context).toBeUndefined();
    await kit.session.resume({ answers: { [asked.id]: approve() } }).result;
    expect(ran).toEqual(["pay 1"]);
  });
});
