import {
  type AnyAgent,
  doing,
  eachStore,
  enter,
  gate,
  type Log,
  newLog,
  settle,
  talker,
  until,
  worker,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, END, graph, START, tool } from "../index.ts";
import { defineAgent } from "./define-agent.ts";
import { parallel } from "./parallel.ts";

/** Wants two payments approved; the check of the value takes time once `slow` is set. */
function payer(log: Log, checks: { slow: boolean; readonly began: () => void; readonly over: Promise<void> }) {
  const input = {
    "~standard": {
      version: 1 as const,
      vendor: "test",
      validate: async (value: unknown) => {
        if (checks.slow) {
          checks.slow = false;
          checks.began();
          await checks.over;
        }
        return { value: value as { to: string } };
      },
      jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
    },
  };
  const pay = tool({
    name: "pay",
    description: "Pays",
    input,
    needsApproval: true,
    execute: ({ to }) => {
      log.did.push(to);
      return `paid ${to}`;
    },
  });
  const calls = ["ann", "bob"].map((to) => ({ call: "pay", id: to, args: { to } }));
  return talker(log, "payer", ({ messages }) => (messages.some(({ role }) => role === "tool") ? "paid" : calls), [pay]);
}

const around: readonly { readonly how: string; readonly tree: (a: AnyAgent, b: AnyAgent) => AnyAgent }[] = [
  { how: "parallel", tree: (a, b) => parallel({ name: "root", agents: [a, b] }) },
  {
    how: "graph",
    tree: (a, b) =>
      graph("root").node("a", a).node("b", b).edge(START, "a").edge(START, "b").edge("a", END).edge("b", END).compile(),
  },
  {
    how: "code",
    tree: (a, b) =>
      defineAgent({ name: "root", agents: [a, b], run: (ctx) => Promise.all([ctx.run(a, "go"), ctx.run(b, "go")]) }),
  },
];

describe.each(eachStore)("two answers, the second while the first is looked at, on $name", ({ make }) => {
  test.each(around)("Q3: in a $how both calls run, and the run continues by itself", async ({ tree }) => {
    const store = await make();
    const log = newLog();
    const began = gate();
    const over = gate();
    const go = gate();
    const checks = { slow: false, began: () => began.open(), over: over.opened };
    const slow = worker(
      log,
      "slow",
      doing(log, "wait", () => go.opened.then(() => "waited")),
      "wait-call",
    );
    const session = await enter(tree(payer(log, checks), slow), store);
    const run = session.run("hi");
    await until(() => session.interrupts.length === 2 && log.did.includes("wait"));
    await settle();
    const [ann, bob] = session.interrupts;
    checks.slow = true;
    expect(await session.answer(ann!.id, approve())).toEqual({ open: 1 });
    await began.opened;
    expect(await session.answer(bob!.id, approve())).toEqual({ open: 0 });
    over.open();
    await until(() => log.did.length === 3);
    go.open();
    expect((await run.result).status).toBe("completed");
    expect(log.did).toEqual(["wait", "ann", "bob"]);
    expect(await wrong(store, log)).toEqual([]);
  });
});
