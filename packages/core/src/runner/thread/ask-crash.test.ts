import {
  eachStore,
  factProblems,
  factsOf,
  faultyStore,
  history,
  type Kit,
  openKit,
  stepsOf,
  toolOf,
  toolResult,
  until,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, humanInput, reject, respond, type Store } from "../../index.ts";

const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
  messages.some(({ role }) => role === "tool") ? "done" : ([{ call: "pay", id: "p" }] as const);

const key = { tenant: "default", threadId: "thread" };

/** A tool with a step before its question, and, after the answer, something that a crash can cut. */
function paying(onCrash: "ask" | "retry" | "fail", did: string[], after: () => Promise<unknown>) {
  return toolOf(
    "pay",
    async (ctx) => {
      did.push("entered");
      await ctx.step("quote", () => did.push("quote"));
      const who = await ctx.ask(humanInput("Whom?"));
      await ctx.step("pay", () => did.push(`pay ${who}`));
      await after();
      return `paid ${who}`;
    },
    { onCrash },
  );
}

/** Runs to the question in one process, answers in a second, which dies after the payment; opens a third. */
async function crashed(store: Store, onCrash: "ask" | "retry" | "fail", did: string[]): Promise<Kit> {
  const never = () => new Promise(() => {});
  const first = await openKit(script, { store, tools: [paying(onCrash, did, never)] });
  expect((await first.session.run("go").result).status).toBe("interrupted");
  await first.session.close();
  const dying = faultyStore(store);
  const second = await openKit(script, { store: dying, tools: [paying(onCrash, did, never)] });
  await second.session.answer(second.session.interrupts[0]!.id, respond("ann"));
  await until(async () => stepsOf(await factsOf(store)).includes("pay"));
  dying.kill();
  const fence = (await store.load(key))?.row.lease?.fence;
  if (fence !== undefined) await store.release(key, fence);
  return openKit(script, { store, tools: [paying(onCrash, did, async () => {})] });
}

describe.each(eachStore)("C1: a process that dies while code inside a call runs, on $name", ({ make }) => {
  test("C1: parked at its ask: no question is raised, the answer begins it again from its record", async () => {
    for (const onCrash of ["ask", "retry", "fail"] as const) {
      const store = await make();
      const did: string[] = [];
      const dying = faultyStore(store);
      const first = await openKit(script, { store: dying, tools: [paying(onCrash, did, async () => {})] });
      void first.session.run("go");
      await until(() => first.session.interrupts.length === 1);
      dying.kill();
      const fence = (await store.load(key))?.row.lease?.fence;
      if (fence !== undefined) await store.release(key, fence);
      const next = await openKit(script, { store, tools: [paying(onCrash, did, async () => {})] });
      expect((await next.session.resume().result).status).toBe("interrupted");
      expect(next.session.interrupts.map(({ kind }) => kind)).toEqual(["input"]);
      const answers = { [next.session.interrupts[0]!.id]: respond("bob") };
      expect((await next.session.resume({ answers }).result).status).toBe("completed");
      expect(did.filter((line) => line !== "entered")).toEqual(["quote", "pay bob"]);
      expect(toolResult(await factsOf(store), "p")).toBe("paid bob");
      expect(factProblems(await factsOf(store))).toEqual([]);
    }
  });

  test('C1, onCrash "ask": after the answer was consumed it is unknown; "run it again" replays the recorded steps and the answer', async () => {
    const store = await make();
    const did: string[] = [];
    const kit = await crashed(store, "ask", did);
    expect(await kit.session.resume().result).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
    const [doubt] = kit.session.interrupts;
    expect(doubt).toMatchObject({ kind: "unknown", callId: "p" });
    expect((await kit.session.resume({ answers: { [doubt!.id]: approve() } }).result).status).toBe("completed");
    expect(did).toEqual(["entered", "quote", "entered", "pay ann", "entered"]);
    const facts = await factsOf(store);
    expect(toolResult(facts, "p")).toBe("paid ann");
    expect(stepsOf(facts)).toEqual(["quote", "pay"]);
    expect(factProblems(facts)).toEqual([]);
  });

  test('C1, onCrash "ask": "here is the result", and "skip": the code does not run again', async () => {
    for (const [answer, outcome] of [
      [respond("it was paid"), "p ok"],
      [reject("leave it"), "p unknown"],
    ] as const) {
      const store = await make();
      const did: string[] = [];
      const kit = await crashed(store, "ask", did);
      await kit.session.resume().result;
      const answers = { [kit.session.interrupts[0]!.id]: answer };
      expect((await kit.session.resume({ answers }).result).status).toBe("completed");
      expect(did).toEqual(["entered", "quote", "entered", "pay ann"]);
      expect(history(kit.session.messages)[2]).toBe(`tool: ${outcome}`);
    }
  });

  test('C1, onCrash "retry": it begins again by itself, from its recorded steps', async () => {
    const store = await make();
    const did: string[] = [];
    const kit = await crashed(store, "retry", did);
    expect((await kit.session.resume().result).status).toBe("completed");
    expect(did).toEqual(["entered", "quote", "entered", "pay ann", "entered"]);
    expect(toolResult(await factsOf(store), "p")).toBe("paid ann");
  });

  test('C1, onCrash "fail": the model reads that its outcome is unknown', async () => {
    const store = await make();
    const did: string[] = [];
    const kit = await crashed(store, "fail", did);
    expect((await kit.session.resume().result).status).toBe("completed");
    expect(did).toEqual(["entered", "quote", "entered", "pay ann"]);
    expect(history(kit.session.messages)[2]).toBe("tool: p unknown");
    expect(kit.problems()).toEqual([]);
  });

  test("C1: run again and cut off once more: that is a new question", async () => {
    const store = await make();
    const did: string[] = [];
    const kit = await crashed(store, "ask", did);
    await kit.session.resume().result;
    const [doubt] = kit.session.interrupts;
    await kit.session.close();
    const dying = faultyStore(store);
    const again = await openKit(script, { store: dying, tools: [paying("ask", did, () => new Promise(() => {}))] });
    void again.session.resume({ answers: { [doubt!.id]: approve() } });
    await until(() => did.filter((line) => line === "entered").length === 3);
    dying.kill();
    const fence = (await store.load(key))?.row.lease?.fence;
    if (fence !== undefined) await store.release(key, fence);
    const last = await openKit(script, { store, tools: [paying("ask", did, async () => {})] });
    await last.session.resume().result;
    const [second] = last.session.interrupts;
    expect(second).toMatchObject({ kind: "unknown" });
    expect(second!.id).not.toBe(doubt!.id);
    expect((await last.session.resume({ answers: { [second!.id]: approve() } }).result).status).toBe("completed");
    expect(stepsOf(await factsOf(store))).toEqual(["quote", "pay"]);
  });
});
