import {
  type AnyAgent,
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
  runs,
  settle,
  talker,
  until,
  worker,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, createRunner, humanInput, messageText, respond } from "../index.ts";
import { defineAgent } from "./define-agent.ts";
import { parallel } from "./parallel.ts";

const failing = (log: Log, name: string): AnyAgent =>
  talker(log, name, () => [{ throw: Object.assign(new Error("no"), { isRetryable: false }) }]);

describe.each(eachStore)("every start has its end, also of abandoned agents, on $name", ({ make }) => {
  test("W1: code that ends with the first of its agents: the other one ends with it, and its question is withdrawn", async () => {
    const store = await make();
    const log = newLog();
    const [quick, slow] = [echo(log, "quick"), worker(log, "slow", gated(log, "pay"))];
    const root = defineAgent({
      name: "code",
      agents: [quick, slow],
      run: async (ctx) => {
        const both = [ctx.run(slow, "x"), ctx.run(quick, "x")];
        return `${await Promise.race(both)}, ${await ctx.ask(humanInput("Enough?"))}`;
      },
    });
    const session = await enter(root, store);
    expect((await session.run("hi").result).status).toBe("interrupted");
    const own = session.interrupts.find(({ kind }) => kind === "input")!;
    const answers = { [own.id]: respond("yes") };
    expect(await session.resume({ answers }).result).toMatchObject({ status: "completed", output: "quick(x), yes" });
    expect(session.interrupts).toEqual([]);
    expect(runs(await factsOf(store)).slice(-2)).toEqual(["! code/slow:slow", "- code"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("R1: input goes to the next agent that begins, not to an abandoned one", async () => {
    const store = await make();
    const log = newLog();
    const [quick, slow, next] = [echo(log, "quick"), worker(log, "slow", gated(log, "pay")), echo(log, "next")];
    const first = defineAgent({
      name: "first",
      agents: [quick, slow],
      run: (ctx) => Promise.race([ctx.run(slow, "x"), ctx.run(quick, "x")]),
    });
    const root = defineAgent({
      name: "code",
      agents: [first, next],
      run: async (ctx) => {
        await ctx.run(first, "x");
        return ctx.run(next, await ctx.ask(humanInput("Who?", { onNewInput: "keep" })));
      },
    });
    const session = await enter(root, store);
    expect((await session.run("hi").result).status).toBe("interrupted");
    expect((await session.resume({ input: "to all" }).result).status).toBe("interrupted");
    const answers = { [session.interrupts[0]!.id]: respond("you") };
    expect(await session.resume({ answers }).result).toMatchObject({ status: "completed", output: "next(to all)" });
    const heard = (await factsOf(store)).filter(
      (fact) => fact.type === "message" && messageText(fact.message) === "to all",
    );
    expect(heard.map(({ runPath }) => runPath)).toEqual(["code", "code/next:next"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("W4: code that catches the error of an agent: the agents inside that one end with the code", async () => {
    const store = await make();
    const log = newLog();
    const asks = asker(log, "outer", worker(log, "asks", gated(log, "pay")));
    const inner = parallel({ name: "par", agents: [failing(log, "bad"), asks] });
    const root = defineAgent({
      name: "code",
      agents: [inner],
      run: async (ctx) => ctx.run(inner, "go").catch(({ code }) => code),
    });
    const session = await enter(root, store);
    expect(await session.run("hi").result).toMatchObject({ status: "completed", output: "MODEL_FAILED" });
    expect(await wrong(store, log)).toEqual([]);
    expect((await session.run("and?").result).status).toBe("completed");
    expect(await wrong(store, log)).toEqual([]);
  });

  test("R1: the agent in a call ends with the call that new input closes", async () => {
    const store = await make();
    const log = newLog();
    const root = asker(log, "outer", worker(log, "inner", gated(log, "pay")));
    const session = await enter(root, store);
    expect((await session.run("hi").result).status).toBe("interrupted");
    expect((await session.resume({ input: "no, wait" }).result).status).toBe("completed");
    expect(runs(await factsOf(store))).toEqual(["+ outer", "+ outer/t1/c0/inner", "! outer/t1/c0/inner", "- outer"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S9: terminate() ends the agents that wait for people, and those in their calls", async () => {
    const store = await make();
    const log = newLog();
    const agents = [asker(log, "outer", worker(log, "inner", gated(log, "pay"))), echo(log, "quick")];
    const session = await enter(parallel({ name: "par", agents }), store);
    expect((await session.run("hi").result).status).toBe("interrupted");
    await session.terminate();
    const ended = ["! par/0:outer/t1/c0/inner", "! par/0:outer", "! par"];
    expect(runs(await factsOf(store)).slice(-3)).toEqual(ended);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("W1: the open calls of a failed run end before the next run begins", async () => {
    const store = await make();
    const log = newLog();
    const agents = [failing(log, "bad"), worker(log, "asks", gated(log, "pay"))];
    const session = await enter(parallel({ name: "par", agents }), store);
    expect((await session.run("hi").result).status).toBe("failed");
    expect((await session.run("again").result).status).toBe("failed");
    expect(runs(await factsOf(store)).slice(0, 7)).toEqual([
      "+ par",
      "+ par/0:bad",
      "+ par/1:asks",
      "! par/0:bad",
      "! par",
      "! par/1:asks",
      "+ par",
    ]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("C1, Q2: code that diverges before it reaches an agent whose call a crash has cut: the call has its end, and a person is asked for its outcome once the code is right", async () => {
    const store = await make();
    const log = newLog();
    const dying = faultyStore(store);
    const now = { right: true };
    const hangs = doing(log, "hangs", () => (log.did.length > 1 ? "done" : new Promise(() => {})));
    const inner = worker(log, "inner", hangs, "hangs-call");
    const root = () =>
      defineAgent({
        name: "code",
        agents: [inner],
        run: async (ctx) => {
          await (now.right ? ctx.step("s", () => 1) : ctx.ask(humanInput("Who?"), { key: "s" }));
          return ctx.run(inner, "x");
        },
      });
    const first = await createRunner<unknown, unknown>({ agent: root(), store: dying, leaseTtlMs: 20 }).open("thread");
    void first.run("hi");
    await until(() => log.did.length === 1);
    dying.kill();
    await settle(5);
    await until(async () => (await enter(root(), store)).state === "paused");
    now.right = false;
    const wrongly = await enter(root(), store);
    expect(await wrongly.resume().result).toMatchObject({ status: "failed", error: { code: "REPLAY_DIVERGED" } });
    expect(await wrong(store, log)).toEqual([]);
    await wrongly.close();
    now.right = true;
    const other = await enter(root(), store);
    expect((await other.resume().result).status).toBe("interrupted");
    const [doubt] = other.interrupts;
    expect(doubt).toMatchObject({ kind: "unknown", callId: "hangs-call" });
    const ended = await other.resume({ answers: { [doubt!.id]: approve() } }).result;
    expect(ended).toMatchObject({ status: "completed", output: "inner[ok done]" });
    expect(log.did).toEqual(["hangs", "hangs"]);
    expect(await wrong(store, log)).toEqual([]);
  });
});
