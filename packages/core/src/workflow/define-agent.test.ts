import {
  eachStore,
  echo,
  enter,
  factsOf,
  gated,
  hanging,
  listen,
  newLog,
  runs,
  settle,
  talker,
  unhandled,
  until,
  worker,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, humanInput, memoryStore, respond } from "../index.ts";
import { defineAgent } from "./define-agent.ts";
import type { AgentContext } from "./live-agent.ts";
import { loop } from "./loop.ts";
import { sequential } from "./sequential.ts";

const done = (output: unknown) => ({ status: "completed", output });
const code = (run: (ctx: AgentContext, input: unknown) => unknown, agents: readonly never[] = []) =>
  defineAgent({ name: "code", agents, run });

describe.each(eachStore)("an agent of user code, on $name", ({ make }) => {
  test("W1: it runs agents by key, each once, and its return value is its output", async () => {
    const store = await make();
    const log = newLog();
    const a = echo(log, "a");
    const root = code(async (ctx, input) => {
      const one = await ctx.run(a, input as string, { key: "one" });
      const two = await ctx.run(a, one, { key: "two" });
      await expect(ctx.run(a, "x", { key: "two" })).rejects.toMatchObject({ code: "KEY_REUSED" });
      return { two };
    });
    const session = await enter(root, store);
    expect(await session.run("hi").result).toMatchObject(done({ two: "a(a(hi))" }));
    expect(runs(await factsOf(store))).toEqual([
      "+ code",
      "+ code/one:a",
      "- code/one:a",
      "+ code/two:a",
      "- code/two:a",
      "- code",
    ]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("Q2: a child that fails before the code waits for it ends no process; the code meets it when it waits", async () => {
    const store = await make();
    const bad = defineAgent({ name: "bad", run: () => Promise.reject(new Error("it broke")) });
    const slow = defineAgent({ name: "slow", run: () => settle().then(() => "slow") });
    const root = code(async (ctx) => {
      const [first, second] = [ctx.run(slow, null), ctx.run(bad, null)];
      return [await first, await second.catch((error: Error) => error.message)];
    });
    const seen = await unhandled(async () => {
      const session = await enter(root, store);
      expect(await session.run("hi").result).toMatchObject(done(["slow", "Agent bad failed: it broke"]));
    });
    expect(seen).toEqual([]);
  });

  test("Q1: while it waits for a person it stays in memory, and continues with its local state", async () => {
    const store = await make();
    let entered = 0;
    const root = code(async (ctx) => {
      entered += 1;
      const local = Symbol("here");
      const name = await ctx.ask(humanInput("Who?"));
      return `${name} ${String(local)} ${entered}`;
    });
    const session = await enter(root, store);
    await session.run("hi").result;
    const [request] = session.interrupts;
    expect(request!.address).toBe("code/s:ask#0");
    expect(await session.answer(request!.id, respond("ann"))).toEqual({ open: 0 });
    await settle();
    expect(session.state).toBe("paused");
    expect(await session.resume().result).toMatchObject(done("ann Symbol(here) 1"));
  });

  test("Q2: in another process it begins again, and gets its recorded work: steps, answers, children, the error of a child", async () => {
    const store = await make();
    const log = newLog();
    const fails = talker(log, "fails", () => [{ throw: Object.assign(new Error("no"), { isRetryable: false }) }]);
    const root = () =>
      code(async (ctx, input) => {
        const step = await ctx.step("s", () => log.did.push("s"));
        const child = await ctx.run(echo(log, "a"), input as string);
        const caught = await ctx.run(fails, "x").catch((error: { code: string }) => error.code);
        const name = await ctx.ask(humanInput("Who?"));
        await ctx.step("t", () => log.did.push("t"));
        return [step, child, caught, name].join(" ");
      });
    const session = await enter(root(), store);
    await session.run("hi").result;
    await session.close();
    const other = await enter(root(), store);
    const [request] = other.interrupts;
    const result = await other.resume({ answers: { [request!.id]: respond("ann") } }).result;
    expect(result).toMatchObject({ status: "completed", text: expect.stringMatching(/^1 a\(hi\) [A-Z_]+ ann$/) });
    expect(log.did).toEqual(["s", "t"]);
    expect(log.calls.filter((call) => call.startsWith("fails"))).toHaveLength(1);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("Q2: code that leaves out a recorded step or child is REPLAY_DIVERGED; with the original code it continues", async () => {
    const store = await make();
    const log = newLog();
    const right = () =>
      code(async (ctx) => {
        await ctx.run(echo(log, "a"), "x");
        return ctx.ask(humanInput("Who?"));
      });
    const session = await enter(right(), store);
    await session.run("hi").result;
    const [request] = session.interrupts;
    await session.close();
    const wrongly = await enter(
      code((ctx) => ctx.ask(humanInput("Who?"))),
      store,
    );
    expect(await wrongly.resume({ answers: { [request!.id]: respond("ann") } }).result).toMatchObject({
      status: "failed",
      error: { code: "REPLAY_DIVERGED", message: expect.stringContaining('"a:a"') },
    });
    await wrongly.close();
    const other = await enter(right(), store);
    expect(await other.resume().result).toMatchObject(done("ann"));
    expect(log.calls).toHaveLength(1);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("W3: readers get each yielded value of a generator once, however often it begins again; its return value is its output", async () => {
    const store = await make();
    const log = newLog();
    const root = () =>
      defineAgent({
        name: "code",
        async *run(ctx) {
          yield { at: 1 };
          const name = await ctx.ask(humanInput("Who?"));
          yield { at: 2 };
          return `hello ${name}`;
        },
      });
    const session = await enter(root(), store);
    await session.run("hi").result;
    await session.close();
    const other = await enter(root(), store);
    const [request] = other.interrupts;
    expect(await other.resume({ answers: { [request!.id]: respond("ann") } }).result).toMatchObject(done("hello ann"));
    const told = (await factsOf(store)).flatMap((fact) =>
      fact.type === "action" && fact.action.customized !== undefined ? [fact.action.customized] : [],
    );
    expect(told).toEqual([{ at: 1 }, { at: 2 }]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("W3: exit ends the whole run, breakLoop the nearest loop, from code", async () => {
    const log = newLog();
    const exits = defineAgent({ name: "code", run: (ctx) => ctx.exit("out") });
    const one = await enter(sequential({ name: "seq", agents: [exits, echo(log, "never")] }), await make());
    expect(await one.run("hi").result).toMatchObject(done("out"));
    const breaks = defineAgent({ name: "code", run: (ctx) => ctx.breakLoop("enough") });
    const rounds = loop({ name: "loop", agents: [breaks, echo(log, "never")] });
    const two = await enter(sequential({ name: "seq", agents: [rounds, echo(log, "z")] }), await make());
    expect(await two.run("hi").result).toMatchObject(done("z(enough)"));
    expect(log.calls).toEqual(["z: enough"]);
  });

  test("S4: after a stop it has its grace to end: its return value is then its output", async () => {
    const store = await make();
    let began = false;
    const root = code(async (ctx) => {
      began = true;
      await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
      return "cleaned up";
    });
    const session = await enter(root, store);
    const run = session.run("hi");
    await until(() => began);
    expect(await session.interrupt()).toMatchObject({ accepted: false });
    expect(await run.result).toMatchObject(done("cleaned up"));
  });

  test("S1, S4: deaf code is dropped after its grace; its steps are kept, and it begins again", async () => {
    const store = await make();
    const log = newLog();
    let deaf = true;
    const root = () =>
      code(async (ctx) => {
        await ctx.step("s", () => log.did.push("s"));
        if (deaf) await new Promise(() => log.did.push("deaf"));
        return "done";
      });
    const session = await enter(root(), store);
    const run = session.run("hi");
    await until(() => log.did.length === 2);
    expect(await session.interrupt({ graceMs: 5 })).toMatchObject({ accepted: true });
    expect((await run.result).status).toBe("interrupted");
    deaf = false;
    expect(await session.resume().result).toMatchObject(done("done"));
    expect(log.did).toEqual(["s", "deaf"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S8: a stop cuts all its children, the text of each is kept, and each continues", async () => {
    const store = await make();
    const log = newLog();
    const [x, y] = [{}, {}];
    const root = () =>
      code((ctx) => Promise.all([ctx.run(hanging(log, "x", x), "1"), ctx.run(hanging(log, "y", y), "2")]));
    const session = await enter(root(), store);
    const run = session.run("hi");
    const heard = listen(run);
    await heard.until((event) => event.type === "text-delta" && event.agentName === "y");
    await heard.until((event) => event.type === "text-delta" && event.agentName === "x");
    expect(await session.interrupt()).toMatchObject({ accepted: true, partialText: "one one " });
    expect(await session.resume().result).toMatchObject(done(["one two", "one two"]));
    expect(log.calls).toHaveLength(4);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S6: pause() while a child runs parks before the next one", async () => {
    const store = await make();
    const log = newLog();
    const slow = () => talker(log, "slow", () => [{ wait: 10 }, { text: "slow" }]);
    const root = () => code(async (ctx) => ctx.run(echo(log, "b"), await ctx.run(slow(), "x"), { key: "second" }));
    const session = await enter(root(), store);
    const run = session.run("hi");
    await until(() => log.calls.length === 1);
    expect(await session.pause()).toMatchObject({ accepted: true });
    expect(await run.result).toMatchObject({ interruptType: "manual" });
    expect(log.calls).toHaveLength(1);
    await session.close();
    const other = await enter(root(), store);
    expect(await other.resume().result).toMatchObject(done("b(slow)"));
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S9: a stop while it waits for a person withdraws the question; it asks again after a resume", async () => {
    for (const cold of [false, true]) {
      const store = await make();
      const log = newLog();
      const root = () => code(async (ctx) => `hello ${await ctx.ask(humanInput("Who?"))}`);
      let session = await enter(root(), store);
      await session.run("hi").result;
      const [first] = session.interrupts;
      if (cold) {
        await session.close();
        session = await enter(root(), store);
      }
      expect(await session.interrupt()).toMatchObject({ accepted: true });
      expect(session.pauseType).toBe("user_interrupt");
      await expect(session.answer(first!.id, respond("late"))).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
      expect(await session.resume().result).toMatchObject({ interruptType: "tool_interrupt" });
      const [second] = session.interrupts;
      expect(second!.id).not.toBe(first!.id);
      expect(await session.resume({ answers: { [second!.id]: respond("ann") } }).result).toMatchObject(
        done("hello ann"),
      );
      expect(await wrong(store, log)).toEqual([]);
    }
  });

  test("S6, S8: code that waits for a child and for an answer is stopped once the answer is on record and the child was cut", async () => {
    for (const mode of ["after-model", "after-tools"] as const) {
      const store = await make();
      const log = newLog();
      const root = () =>
        code((ctx) =>
          Promise.all([ctx.run(worker(log, "payer", gated(log, "pay")), "pay"), ctx.ask(humanInput("Who?"))]),
        );
      const session = await enter(root(), store);
      await session.run("hi").result;
      const answers = Object.fromEntries(
        session.interrupts.map(({ id, kind }) => [id, kind === "approval" ? approve() : respond("ann")]),
      );
      const run = session.resume({ answers });
      void session.interrupt({ mode });
      expect(await run.result).toMatchObject({ interruptType: "user_interrupt" });
      expect(await session.resume().result).toMatchObject(done(["payer[ok pay done]", "ann"]));
      expect(log.did).toEqual(["pay"]);
      expect(await wrong(store, log)).toEqual([]);
    }
  });

  test("R1: its input stays the same when it begins again after new input", async () => {
    const store = await make();
    const log = newLog();
    const inputs: unknown[] = [];
    const root = () =>
      code(async (ctx, input) => {
        inputs.push(input);
        await ctx.ask(humanInput("Who?"));
        return ctx.run(echo(log, "a"), "given");
      });
    const session = await enter(root(), store);
    await session.run("hi").result;
    await session.interrupt();
    expect(await session.resume({ input: "and this" }).result).toMatchObject({ interruptType: "tool_interrupt" });
    const [request] = session.interrupts;
    expect(await session.resume({ answers: { [request!.id]: respond("x") } }).result).toMatchObject(
      done("a(and this)"),
    );
    expect(new Set(inputs)).toEqual(new Set(["hi"]));
    expect(await wrong(store, log)).toEqual([]);
  });

  test("Q3: while people answer nothing of it moves; children it lists in `agents` do", async () => {
    for (const listed of [true, false]) {
      const store = await make();
      const log = newLog();
      const child = () => worker(log, "w", gated(log, "pay"), "pay-call");
      const root = () => {
        const w = child();
        return defineAgent({ name: "code", agents: listed ? [w] : [], run: (ctx) => ctx.run(w, "go") });
      };
      const session = await enter(root(), store);
      await session.run("hi").result;
      await session.close();
      const other = await enter(root(), store);
      await other.answer(other.interrupts[0]!.id, approve());
      await settle(10);
      await until(() => !listed || log.did.length === 1);
      expect(log.did).toEqual(listed ? ["pay"] : []);
      expect(other.state).toBe("paused");
      expect(await other.resume().result).toMatchObject(done("w[ok pay done]"));
      expect(log.did).toEqual(["pay"]);
      expect(await wrong(store, log)).toEqual([]);
    }
  });

  test("Q1: requests that are open at its end are withdrawn, and children that it does not await end first", async () => {
    const store = await make();
    const log = newLog();
    const slow = talker(log, "slow", () => [{ wait: 10 }, { text: "slow" }]);
    const root = code(async (ctx) => {
      void ctx.run(slow, "x");
      void ctx.ask(humanInput("Who?")).catch(() => {});
      await ctx.step("s", () => 1);
      return "done";
    });
    const session = await enter(root, store);
    expect(await session.run("hi").result).toMatchObject(done("done"));
    expect(session.interrupts).toEqual([]);
    expect(await store.requests("default")).toEqual([]);
    expect(await wrong(store, log)).toEqual([]);
  });
});

test("Q3, W4: a key may have slashes in it: a call of the agent under it runs when it is answered, and is seen inside", async () => {
  const store = memoryStore();
  const log = newLog();
  const kid = worker(log, "kid", gated(log, "pay"));
  const root = defineAgent({
    name: "code",
    agents: [kid],
    run: (ctx) => ctx.run(kid, "go", { key: "https://a.b/c%2F" }),
  });
  const session = await enter(root, store);
  const result = await session.run("hi").result;
  expect(result).toMatchObject({ status: "interrupted", interrupt: { data: { type: "tools" } } });
  const [request] = session.interrupts;
  expect(request!.address).toContain("code/https:%2F%2Fa.b%2Fc%252F:kid/");
  await session.answer(request!.id, approve());
  await until(async () => (await factsOf(store)).some(({ type }) => type === "tool-end"));
  expect(await session.resume().result).toMatchObject({ status: "completed" });
  expect(await wrong(store, log)).toEqual([]);
});

test("a key that is not text, and an agent that is not one, are refused when they are given", async () => {
  const a = echo(newLog(), "a");
  const root = code(async (ctx) => {
    await expect(ctx.run(a, "x", { key: 5 as never })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(ctx.run(a, "x", { key: "" })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(ctx.run(null as never, "x")).rejects.toMatchObject({ code: "AGENT_INVALID" });
    return "refused";
  });
  const session = await enter(root, memoryStore());
  expect(await session.run("hi").result).toMatchObject(done("refused"));
});

test("W1: an until that gives a promise fails the loop, and does not end it as if it were enough", async () => {
  const root = loop({ name: "rounds", agents: [echo(newLog(), "a")], until: (async () => false) as never });
  const session = await enter(root, memoryStore());
  const problem = "its until gave a promise; it must say at once, by what it is given";
  expect(await session.run("hi").result).toMatchObject({
    status: "failed",
    error: { code: "AGENT_INVALID", details: { agent: "rounds", problem } },
  });
});

test("W3: breakLoop outside a loop ends the whole run", async () => {
  const log = newLog();
  const breaking = code((ctx) => ctx.breakLoop("broken"));
  const session = await enter(sequential({ name: "seq", agents: [breaking, echo(log, "after")] }), memoryStore());
  expect(await session.run("hi").result).toMatchObject(done("broken"));
  expect(log.calls).toEqual([]);
});
