import {
  type AnyAgent,
  asker,
  doing,
  eachStore,
  echo,
  enter,
  factsOf,
  gate,
  gated,
  hanging,
  heldStore,
  type Log,
  line,
  newLog,
  runs,
  settle,
  talker,
  until,
  worker,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, createRunner, humanInput, respond, type Store } from "../index.ts";
import { defineAgent } from "./define-agent.ts";
import { parallel } from "./parallel.ts";

/** Fails until the test lets it succeed. */
const failing = (log: Log, name: string, now: { well: boolean }): AnyAgent =>
  talker(log, name, () => (now.well ? "well" : [{ throw: Object.assign(new Error("no"), { isRetryable: false }) }]));

const asking = (log: Log, name: string): AnyAgent =>
  worker(
    log,
    name,
    doing(log, "ask", async (ctx) => `heard ${await ctx.ask(humanInput("Who?"))}`),
    "ask-call",
  );

const open = async (store: Store) =>
  (await factsOf(store)).reduce((ids, fact) => {
    if (fact.type === "action" && fact.action.interrupted?.kind !== undefined) ids.add(fact.action.interrupted.id);
    if (fact.type === "request-answered" && !fact.open) ids.delete(fact.id);
    return ids;
  }, new Set<string>()).size;

describe.each(eachStore)("one branch fails while another one waits for people, on $name", ({ make }) => {
  for (const how of ["interrupt", "pause"] as const) {
    test(`S7, Q3: ${how}() while a call runs that was approved after the run had failed: it stays failed, and resume() continues it`, async () => {
      const store = await make();
      const log = newLog();
      const now = { well: false };
      const works = gate();
      const go = gate();
      const pay = doing(log, "pay", async () => {
        works.open();
        await go.opened;
        return "paid";
      });
      const payer = worker(log, "payer", { ...pay, needsApproval: true, onStop: "finish" }, "pay-call");
      const root = () => parallel({ name: "par", agents: [failing(log, "bad", now), payer] });
      const session = await enter(root(), store);
      expect((await session.run("hi").result).status).toBe("failed");
      const [request] = session.interrupts.length > 0 ? session.interrupts : await openIn(store);
      expect(await session.answer(request!.id, approve())).toEqual({ open: 0 });
      await works.opened;
      const receipt = session[how]();
      go.open();
      await receipt;
      await until(async () => (await factsOf(store)).some((fact) => fact.type === "tool-end"));
      await settle();
      expect(session.state).toBe("error");
      now.well = true;
      const other = await enter(root(), store);
      expect(await other.resume().result).toMatchObject({
        status: "completed",
        output: ["well", "payer[ok paid]"],
      });
      expect(log.did).toEqual(["pay"]);
      expect(await wrong(store, log)).toEqual([]);
    });
  }

  for (const where of ["here", "another runner"] as const) {
    test(`S2, V2: interrupt() by ${where} of a call that was approved after the run had failed cuts the call, and says so again under its id`, async () => {
      const store = await make();
      const log = newLog();
      const works = gate();
      const pay = doing(log, "pay", async ({ signal }) => {
        works.open();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return "cut";
      });
      const payer = worker(log, "payer", { ...pay, needsApproval: true }, "pay-call");
      const root = () => parallel({ name: "par", agents: [failing(log, "bad", { well: false }), payer] });
      const session = await enter(root(), store);
      expect((await session.run("hi").result).status).toBe("failed");
      const [request] = await openIn(store);
      await session.answer(request!.id, approve());
      await works.opened;
      const other = createRunner<unknown, unknown>({ agent: root(), store });
      const stop = { id: "stop", by: "ann" };
      const receipt = await (where === "here" ? session.interrupt(stop) : other.interrupt("thread", stop));
      expect(receipt).toMatchObject({ accepted: true, segment: 1, finished: [expect.any(String)] });
      expect(await session.interrupt(stop)).toEqual(receipt);
      expect(await other.interrupt("thread", stop)).toEqual(receipt);
      expect(session.state).toBe("error");
      expect(await wrong(store, log)).toEqual([]);
    });
  }

  test("S9: terminate() of a run that has failed: its requests are withdrawn, and every call has its end", async () => {
    const store = await make();
    const log = newLog();
    const root = parallel({
      name: "par",
      agents: [failing(log, "bad", { well: false }), asker(log, "x", asking(log, "asks"))],
    });
    const session = await enter(root, store);
    expect((await session.run("hi").result).status).toBe("failed");
    await session.terminate();
    expect(session.state).toBe("terminated");
    expect(await open(store)).toBe(0);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("W4: code fails beside an agent that asks: the request is withdrawn, its call has its end, and resume() continues it", async () => {
    const store = await make();
    const log = newLog();
    const now = { well: false };
    const both = [failing(log, "bad", now), asking(log, "asks")] as const;
    const root = () =>
      defineAgent({
        name: "code",
        agents: both,
        run: async (ctx) => {
          const [bad, asks] = both;
          const asked = ctx.run(asks, "go");
          await ctx.step("waits", () => until(async () => (await open(store)) === 1).then(() => null));
          return [await ctx.run(bad, "go"), await asked];
        },
      });
    const session = await enter(root(), store);
    expect((await session.run("hi").result).status).toBe("failed");
    expect(await open(store)).toBe(0);
    expect(await wrong(store, log)).toEqual([]);
    now.well = true;
    expect(await session.resume().result).toMatchObject({ status: "completed" });
    expect(log.did).toEqual(["ask"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("Q3, C1: an answer that comes after its branch was left, and before the run fails: resume() continues the call with it, in another process too", async () => {
    const store = await make();
    const log = newLog();
    const now = { well: false };
    const go = gate();
    const slow = worker(
      log,
      "slow",
      doing(log, "wait", () => go.opened.then(() => "waited")),
      "wait-call",
    );
    const inner = () => parallel({ name: "inner", agents: [failing(log, "bad", now), asking(log, "asks")] });
    const root = () => parallel({ name: "par", agents: [inner(), slow] });
    const session = await enter(root(), store);
    const run = session.run("hi");
    await until(() => session.interrupts.length === 1 && log.did.includes("wait"));
    await settle();
    expect(await session.answer(session.interrupts[0]!.id, respond("ann"))).toEqual({ open: 0 });
    go.open();
    expect((await run.result).status).toBe("failed");
    expect(await wrong(store, log)).toEqual([]);
    await session.close();
    now.well = true;
    const other = await enter(root(), store);
    expect(await other.resume().result).toMatchObject({
      status: "completed",
      output: [["well", "asks[ok heard ann]"], "slow[ok waited]"],
    });
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S9, Q3: a stop that keeps the questions, with a failed branch beside a cut one: the answer to a request in it counts once the branch is tried again", async () => {
    const store = await make();
    const log = newLog();
    const now = { well: false };
    const inner = () => parallel({ name: "inner", agents: [failing(log, "bad", now), asking(log, "asks")] });
    const root = () => parallel({ name: "par", agents: [inner(), hanging(log, "slow", once)] });
    const once: { hung?: boolean } = {};
    const session = await enter(root(), store);
    const run = session.run("hi");
    await until(() => session.interrupts.length === 1 && once.hung === true);
    await settle();
    await session.interrupt({ requests: "keep" });
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
    expect(runs(await factsOf(store))).toContain("! par/0:inner");
    const { id } = session.interrupts.find(({ kind }) => kind === "input")!;
    expect(await session.answer(id, respond("ann"))).toEqual({ open: 0 });
    expect(await session.resume().result).toMatchObject({ status: "failed", error: { code: "MODEL_FAILED" } });
    now.well = true;
    expect(await session.resume().result).toMatchObject({
      status: "completed",
      output: [["well", "asks[ok heard ann]"], "one two"],
    });
    expect(await wrong(store, log)).toEqual([]);
  });

  test("W4: an agent in a call fails while one inside it asks: the call has its end, and the request is withdrawn", async () => {
    const store = await make();
    const log = newLog();
    const inner = parallel({
      name: "par",
      agents: [failing(log, "bad", { well: false }), asking(log, "asks"), worker(log, "payer", gated(log, "pay"))],
    });
    const session = await enter(asker(log, "outer", inner), store);
    const result = await session.run("hi").result;
    expect(result.status).toBe("completed");
    expect(await open(store)).toBe(0);
    expect(await wrong(store, log)).toEqual([]);
    expect((await session.run("and?").result).status).toBe("completed");
  });

  test("Q3, W4: code that catches the error of an agent: the requests inside that agent are withdrawn", async () => {
    const store = await make();
    const log = newLog();
    const inner = parallel({ name: "par", agents: [failing(log, "bad", { well: false }), asking(log, "asks")] });
    const root = defineAgent({
      name: "code",
      agents: [inner],
      run: async (ctx) => {
        const failed = await ctx.run(inner, "go").catch(({ code }) => code);
        return `${failed}, ${await ctx.ask(humanInput("And now?"))}`;
      },
    });
    const session = await enter(root, store);
    expect((await session.run("hi").result).status).toBe("interrupted");
    expect(session.interrupts.map(({ address }) => address)).toEqual(["code/s:ask#0"]);
    expect(await wrong(store, log)).toEqual([]);
    await session.close();
    const other = await enter(root, store);
    const answers = { [other.interrupts[0]!.id]: respond("on") };
    expect(await other.resume({ answers }).result).toMatchObject({ status: "completed", output: "MODEL_FAILED, on" });
  });

  test("W4: an agent in a call fails beside one that has handed its question on: each call inside has its end", async () => {
    const store = await make();
    const log = newLog();
    const both = [asker(log, "x", asking(log, "asks")), failing(log, "bad", { well: false })] as const;
    const code = defineAgent({
      name: "code",
      agents: both,
      run: async (ctx) => {
        const [x, bad] = both;
        const asked = ctx.run(x, "go");
        await ctx.step("waits", () => until(async () => (await open(store)) === 1).then(() => null));
        return [await ctx.run(bad, "go"), await asked];
      },
    });
    const session = await enter(asker(log, "outer", code), store);
    expect((await session.run("hi").result).status).toBe("completed");
    expect(await wrong(store, log)).toEqual([]);
  });

  for (const how of ["fails", "ends"] as const) {
    test(`Q3, W4: an answer that is being written while code ${how} without the agents that ask: every call has its end${how === "fails" ? ", and resume() continues the answered one" : ""}`, async () => {
      const writing = gate();
      const write = gate();
      const before = (_: number, { close }: { readonly close?: unknown }) => {
        if (close === undefined) return undefined;
        writing.open();
        return write.opened;
      };
      const store = heldStore(await make(), { before });
      const log = newLog();
      const now = { well: false };
      const go = gate();
      const both = ["a", "b"].map((name) =>
        worker(
          log,
          name,
          doing(log, name, async (ctx) => `heard ${await ctx.ask(humanInput("Who?"))}`),
        ),
      );
      const root = defineAgent({
        name: "code",
        agents: both,
        run: async (ctx) => {
          const asked = both.map((each) => ctx.run(each, "go"));
          if (now.well) return Promise.all(asked);
          void ctx.step("works", () => new Promise(() => {}));
          await go.opened;
          if (how === "fails") throw new Error("no");
          return "enough";
        },
      });
      const session = await enter(root, store);
      const run = session.run("hi");
      await until(() => session.interrupts.length === 2);
      await settle();
      const { id } = session.interrupts.find(({ address }) => address.startsWith("code/a:a/"))!;
      const answered = session.answer(id, respond("ann"));
      await writing.opened;
      go.open();
      await settle();
      write.open();
      expect(await answered).toEqual({ open: 1 });
      expect((await run.result).status).toBe(how === "fails" ? "failed" : "completed");
      const ends = (await factsOf(store)).filter(({ type }) => type === "tool-end").map(line);
      expect(ends.sort()).toEqual([
        `tool-end a-call ${how === "fails" ? "held" : "unknown"}`,
        "tool-end b-call interrupted",
      ]);
      if (how === "ends") return;
      now.well = true;
      expect(await session.resume().result).toMatchObject({
        output: ["a[ok heard ann]", expect.stringContaining("b[interrupted")],
      });
      expect(await wrong(store, log)).toEqual([]);
    });
  }

  test("W4: code that ends without the agent that asks: its call has its end, and the request is withdrawn", async () => {
    const store = await make();
    const log = newLog();
    const asks = asking(log, "asks");
    const says = echo(log, "e");
    const root = defineAgent({
      name: "code",
      agents: [asks, says],
      run: async (ctx) => {
        void ctx.run(asks, "go").catch(() => {});
        await ctx.step("waits", () => until(async () => (await open(store)) === 1).then(() => null));
        return ctx.run(says, "go");
      },
    });
    const session = await enter(root, store);
    expect(await session.run("hi").result).toMatchObject({ status: "completed", output: "e(go)" });
    const facts = await factsOf(store);
    const calls = facts.filter(({ type }) => type === "tool-start" || type === "tool-end").map(({ type }) => type);
    expect(calls).toEqual(["tool-start", "tool-end"]);
    expect(await open(store)).toBe(0);
  });
});

async function openIn(store: Store) {
  return (await factsOf(store)).flatMap((fact) =>
    fact.type === "action" && fact.action.interrupted?.kind === "approval" ? [fact.action.interrupted] : [],
  );
}
