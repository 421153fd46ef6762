import {
  eachStore,
  factProblems,
  factsOf,
  faultyStore,
  gate,
  history,
  type Kit,
  openKit,
  said,
  settle,
  toolOf,
  until,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agent, agentTool, humanApproval, humanInput, type Store, type Tool } from "../../index.ts";
import { scriptedModel } from "../../testing/index.ts";

const key = { tenant: "default", threadId: "thread" };
const never = () => new Promise<never>(() => {});
const ids = (facts: readonly { readonly callId?: string }[]) => facts.map(({ callId }) => callId);

const gated = toolOf("work", () => "worked", { needsApproval: true });
const asking = toolOf("work", (ctx) => ctx.ask(humanInput("Who?")));
const doubtful = (work: () => unknown) => toolOf("work", work, { onCrash: "ask" });
const delegating = () => {
  const model = scriptedModel(() => [{ call: "work", id: "inner" }]);
  return { ...agentTool(agent({ name: "inner", model, tools: [gated] })), name: "work" };
};

/** A thread after the death of its process during its calls. */
async function crash(store: Store, tools: readonly Tool<unknown>[]): Promise<void> {
  const dying = faultyStore(store);
  const kit = await openKit([turn], { store: dying, tools });
  void kit.session.run("go");
  await settle();
  dying.kill();
  await store.release(key, (await store.load(key))!.row.lease!.fence);
}

const turn = [
  { call: "work", id: "a", args: { request: "go" } },
  { call: "slow", id: "s" },
];

describe.each(eachStore)("terminate(), on $name", ({ make }) => {
  /** Runs the turn until the call `a` is in its phase; the call `s` runs until `go` opens or the stop aborts it. */
  async function inPhase(phase: string, go: Promise<void>): Promise<Kit> {
    const store = await make();
    const begun = gate();
    const slow = toolOf(
      "slow",
      ({ signal }) => {
        begun.open();
        return Promise.race([
          go,
          new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason))),
        ]);
      },
      { onCrash: "retry" },
    );
    const tools: Record<string, Tool<unknown>> = {
      gated,
      parked: asking,
      doubted: doubtful(never),
      agent: delegating(),
    };
    if (phase === "doubted") await crash(store, [tools[phase]!, toolOf("slow", never, { onCrash: "retry" })]);
    const kit = await openKit([turn], { store, tools: [tools[phase]!, slow] });
    void (phase === "doubted" ? kit.session.resume() : kit.session.run("go"));
    await begun.opened;
    await settle();
    return kit;
  }

  test.each([
    ["gated", ["tool-end a not-executed"]],
    ["parked", ["tool-end a interrupted"]],
    ["doubted", ["tool-end a unknown"]],
    ["agent", ["tool-end inner not-executed", "run-end terminated", "tool-end a interrupted"]],
  ])("S9: a call that is %s ends the same at rest and while another call runs", async (phase, ends) => {
    for (const rests of [true, false]) {
      const go = gate();
      const kit = await inPhase(phase, go.opened);
      if (rests) {
        go.open();
        await until(() => kit.session.state === "paused");
      }
      const { length } = await factsOf(kit.store);
      await kit.session.terminate();
      const facts = await factsOf(kit.store);
      const written = said(facts.slice(length)).filter((line) => !/^(tool-end s|turn-end)/.test(line));
      expect(written, rests ? "at rest" : "while it runs").toEqual([
        ...ends,
        "answered withdraw by user",
        "run-end terminated",
        "state terminated",
      ]);
      expect(factProblems(facts)).toEqual([]);
    }
  });
});

describe.each(eachStore)("a new run after a failure, on $name", ({ make }) => {
  test.each([
    ["synthetic", ["assistant: call a + call b", "tool: a not-executed + b not-executed"]],
    ["drop", []],
  ] as const)("Q8, S7: with repair %s it withdraws an open approval, and its call never runs", async (repair, told) => {
    const ran: string[] = [];
    let asked = 0;
    const pay = toolOf("pay", () => ran.push("pay"), { needsApproval: true });
    const last = toolOf("last", () => ran.push("last"), { serial: true });
    // The second call waits for the first, and its hook fails when the run continues.
    const beforeTool = ({ tool }: { readonly tool: string }) => {
      if (tool === "last" && ++asked === 2) throw new Error("no");
    };
    const calls = [
      { call: "pay", id: "a" },
      { call: "last", id: "b" },
    ];
    const kit = await openKit([calls, "done"], {
      store: await make(),
      tools: [pay, last],
      agent: { repair, hooks: { beforeTool } },
    });
    expect((await kit.session.run("go").result).status).toBe("interrupted");
    expect((await kit.session.resume().result).status).toBe("failed");
    const [request] = (await kit.runner.inbox()).items;
    expect(request).toMatchObject({ callId: "a", kind: "approval" });
    const { length } = await factsOf(kit.store);
    expect((await kit.session.run("something else").result).status).toBe("completed");
    const facts = await factsOf(kit.store);
    expect(said(facts.slice(length, length + 4))).toEqual([
      "answered withdraw by user",
      "state initialized",
      "run-start",
      "state running rethink",
    ]);
    expect(history(kit.session.messages)).toEqual(["user: go", ...told, "user: something else", "assistant: done"]);
    expect((await kit.runner.inbox()).items).toEqual([]);
    expect([ran, kit.problems(), factProblems(facts)]).toEqual([[], [], []]);
  });
});

describe.each(eachStore)("a call that a crash cut, on $name", ({ make }) => {
  /** The call `a` was cut by a crash; an approval of the call `b` is open. */
  async function cutBesideGate() {
    const store = await make();
    const pay = toolOf("pay", () => "paid", { needsApproval: true });
    const dying = faultyStore(store);
    const calls = [
      { call: "work", id: "a" },
      { call: "pay", id: "b" },
    ];
    const first = await openKit([calls], { store: dying, tools: [doubtful(never), pay] });
    void first.session.run("go");
    await settle();
    dying.kill();
    await store.release(key, (await store.load(key))!.row.lease!.fence);
    const kit = await openKit(["done"], { store, tools: [doubtful(() => "worked"), pay] });
    expect(ids(kit.session.interrupts)).toEqual(["b"]);
    return kit;
  }

  const written = async (kit: Kit, act: () => Promise<unknown>) => {
    const { length } = await factsOf(kit.store);
    await act();
    const facts = await factsOf(kit.store);
    expect(factProblems(facts)).toEqual([]);
    return said(facts.slice(length));
  };

  test("S9, C1: a stop at rest ends it as unknown", async () => {
    const kit = await cutBesideGate();
    expect(await written(kit, () => kit.session.interrupt())).toEqual([
      "tool-end a unknown",
      "tool-end b not-executed",
      "answered withdraw by user",
      "interrupted by user",
      "state paused user_interrupt",
    ]);
    expect(history(kit.session.messages).at(-1)).toBe("tool: a unknown + b not-executed");
  });

  test("S8, C1: a pause() before its agent reaches it holds it; the next resume() asks for its outcome", async () => {
    const kit = await cutBesideGate();
    const paused = await written(kit, async () => {
      const run = kit.session.resume();
      await kit.session.pause();
      await run.result;
    });
    expect(paused).toEqual([
      "state running continue",
      "tool-end a held",
      "interrupted by user",
      "state paused tool_interrupt",
    ]);
    expect((await kit.session.resume().result).status).toBe("interrupted");
    expect(ids(kit.session.interrupts)).toEqual(["b", "a"]);
  });
});

describe.each(eachStore)("new input while approvals are open, on $name", ({ make }) => {
  test.each([
    ["keep", ["tool-end a not-executed", "answered withdraw by user", "state running continue"]],
    ["withdraw", ["answered withdraw by user", "answered withdraw by user", "state running rethink"]],
  ] as const)("Q8: beside one with onNewInput %s", async (onNewInput, wanted) => {
    const pay = toolOf("pay", () => "paid", { needsApproval: true });
    const kept = toolOf("kept", () => "paid", { needsApproval: () => humanApproval("Pay?", { onNewInput }) });
    const calls = [
      { call: "pay", id: "a" },
      { call: "kept", id: "b" },
    ];
    const kit = await openKit([calls, "done"], { store: await make(), tools: [pay, kept] });
    await kit.session.run("go").result;
    const { length } = await factsOf(kit.store);
    await kit.session.resume({ input: "be quick" }).result;
    const facts = await factsOf(kit.store);
    expect(said(facts.slice(length, length + wanted.length))).toEqual(wanted);
    expect([kit.problems(), factProblems(facts)]).toEqual([[], []]);
  });
});
