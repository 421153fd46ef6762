import {
  asker,
  doing,
  eachStore,
  echo,
  enter,
  factsOf,
  faultyStore,
  gated,
  type Log,
  newLog,
  until,
  worker,
  wrapStore,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, createRunner, humanInput, jsonSchema, reject, respond, tool } from "../index.ts";
import { defineAgent } from "./define-agent.ts";
import { loop } from "./loop.ts";
import { parallel } from "./parallel.ts";
import { sequential } from "./sequential.ts";

const done = (output: unknown) => ({ status: "completed", output });

/** Three people are asked at once: an approval in an agent-tool, a question in a tool in a loop, one in an agent-tool in code. */
const tree = (log: Log) => {
  const question = (name: string) =>
    doing(log, name, async (ctx) => `${name} ${await ctx.ask(humanInput(`${name}?`))}`);
  const coded = asker(log, "coded", worker(log, "deep", question("deepest"), "deepest-call"));
  return parallel({
    name: "par",
    agents: [
      sequential({ name: "seq", agents: [asker(log, "outer", worker(log, "inner", gated(log, "pay"), "pay-call"))] }),
      loop({ name: "loop", maxIterations: 1, agents: [worker(log, "w", question("why"), "why-call")] }),
      defineAgent({ name: "code", agents: [coded], run: (ctx) => ctx.run(coded, "go", { key: "first" }) }),
      echo(log, "e"),
    ],
  });
};
const addresses = [
  "par/0:seq/0:outer/t1/c0/inner/t1/c0/approval",
  "par/1:loop/0.0:w/t1/c0/s:ask#0",
  "par/2:code/first:coded/t1/c0/deep/t1/c0/s:ask#0",
];
const output = ["outer[ok inner[ok pay done]]", "w[ok why 1]", "coded[ok deep[ok deepest 2]]", "e(hi)"];
const answers = [approve(), respond("1"), respond("2")];
const orders = [
  [0, 1, 2],
  [2, 1, 0],
  [1, 2, 0],
];

describe.each(eachStore)("people asked at any depth, on $name", ({ make }) => {
  const open = async (cold: boolean) => {
    const store = await make();
    const log = newLog();
    let session = await enter(tree(log), store);
    const result = await session.run("hi").result;
    expect(result).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
    expect(session.interrupts.map(({ address }) => address).sort()).toEqual([...addresses].sort());
    const again = async () => {
      if (!cold) return session;
      await session.close();
      session = await enter(tree(log), store);
      return session;
    };
    const idAt = (at: number) => session.interrupts.find(({ address }) => address === addresses[at])?.id ?? "";
    return { store, log, again, idAt };
  };

  test.each([
    { how: "hot", cold: false },
    { how: "from another process", cold: true },
  ])("W4: all answered at once, $how, each continues in its place", async ({ cold }) => {
    const { store, log, again, idAt } = await open(cold);
    const session = await again();
    const all = Object.fromEntries(answers.map((answer, i) => [idAt(i), answer]));
    expect(await session.resume({ answers: all }).result).toMatchObject(done(output));
    expect(log.calls.filter((call) => call.startsWith("e:"))).toHaveLength(1);
    expect(await wrong(store, log)).toEqual([]);
  });

  test.each(orders.flatMap((order) => [true, false].map((cold) => ({ order, cold }))))(
    "W4, Q3: answered one at a time in the order $order, cold: $cold: that call runs now, the rest stays paused, the model is called by resume() only",
    async ({ order, cold }) => {
      const { store, log, again, idAt } = await open(cold);
      const before = log.calls.length;
      const effects = ["pay", "why", "deepest"];
      for (const [n, at] of order.entries()) {
        const session = await again();
        expect(await session.answer(idAt(at), answers[at]!)).toEqual({ open: 2 - n });
        await until(async () => {
          const facts = await factsOf(store);
          return facts.some((fact) => fact.type === "tool-end" && fact.callId === `${effects[at]}-call`);
        });
        expect(session.state).toBe("paused");
      }
      expect(log.calls).toHaveLength(before);
      const session = await again();
      expect(await session.resume().result).toMatchObject(done(output));
      expect(await wrong(store, log)).toEqual([]);
    },
  );

  test("W4: resume() with some still open continues the answered ones, and lists exactly the open ones", async () => {
    const { store, log, again, idAt } = await open(true);
    const session = await again();
    const first = await session.resume({ answers: { [idAt(0)]: reject("no") } }).result;
    expect(first).toMatchObject({ status: "interrupted" });
    expect(session.interrupts.map(({ address }) => address).sort()).toEqual(addresses.slice(1).sort());
    const other = await again();
    const rest = { [idAt(1)]: respond("1"), [idAt(2)]: respond("2") };
    expect(await other.resume({ answers: rest }).result).toMatchObject({
      status: "completed",
      output: [expect.stringContaining("rejected"), ...output.slice(1)],
    });
    expect(log.did).not.toContain("pay");
    expect(await wrong(store, log)).toEqual([]);
  });

  test("Q8, R1: new input `to` one of them withdraws the requests there, and no others", async () => {
    const { store, log, again, idAt } = await open(true);
    const session = await again();
    const kept = [idAt(0), idAt(2)];
    await session.resume({ input: "instead", to: "par/1:loop" }).result;
    expect(session.interrupts.map(({ id }) => id).sort()).toEqual([...kept].sort());
    const rest = { [kept[0]!]: approve(), [kept[1]!]: respond("2") };
    expect(await session.resume({ answers: rest }).result).toMatchObject(
      done([output[0], "w[instead]", output[2], output[3]]),
    );
    expect(await wrong(store, log)).toEqual([]);
  });

  test("Q8, R1: input to agents with a kept question: a call that a crash cut in another agent continues by its own rule", async () => {
    const store = await make();
    const log = newLog();
    const again = tool({
      name: "again",
      description: "",
      input: jsonSchema<object>({ type: "object" }),
      repeatable: true,
      execute: () => (log.did.push("again") === 1 ? new Promise(() => {}) : "done"),
    });
    const asks = doing(newLog(), "asks", (ctx) => ctx.ask(humanInput("Who?", { onNewInput: "keep" })));
    const root = () => parallel({ name: "par", agents: [worker(log, "a", asks), worker(log, "b", again)] });
    const dying = faultyStore(store);
    const first = await createRunner({ agent: root(), store: dying, leaseTtlMs: 50 }).open("thread");
    void first.run("hi");
    await until(() => log.did.length === 1 && first.interrupts.length === 1);
    dying.kill();
    await new Promise((resolve) => setTimeout(resolve, 80));
    const other = await enter(root(), store);
    expect(other.pauseType).toBe("crash");
    const [request] = other.interrupts.filter(({ kind }) => kind === "input");
    expect(await other.resume({ input: "hm", to: "par/0:a" }).result).toMatchObject({
      interruptType: "tool_interrupt",
    });
    expect(log.did).toEqual(["again", "again"]);
    expect(await other.resume({ answers: { [request!.id]: respond("ann") } }).result).toMatchObject({
      output: ["a[hm]", "b[ok done]"],
    });
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S2: a stop by a process that has not read the failure meets nothing: its requests are kept for a resume", async () => {
    const store = await make();
    const asks = (name: string, then: () => unknown) =>
      defineAgent({ name, run: (ctx) => ctx.ask(humanInput(`${name}?`)).then(then) });
    const fails = () => {
      throw new Error("no");
    };
    const root = () => parallel({ name: "par", agents: [asks("a", () => "well"), asks("b", fails)] });
    const first = await enter(root(), store);
    await first.run("hi").result;
    let reads = 0;
    const counted = wrapStore(store, {
      load: async (...args) => {
        if (++reads > 200) throw new Error("It looks without end.");
        return store.load(...args);
      },
    });
    const other = await enter(root(), counted);
    const [, second] = first.interrupts;
    expect(await first.resume({ answers: { [second!.id]: respond("x") } }).result).toMatchObject({ status: "failed" });
    reads = 0;
    expect(await other.interrupt()).toMatchObject({ accepted: false });
    expect([other.state, await store.requests("default")]).toMatchObject(["error", [{}]]);
  });
});
