import {
  asker,
  doing,
  eachStore,
  echo,
  enter,
  factsOf,
  gated,
  listen,
  newLog,
  runs,
  talker,
  until,
  worker,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agent, approve, humanInput, jsonSchema, respond, tool } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
import { defineAgent } from "./define-agent.ts";
import { parallel } from "./parallel.ts";
import { sequential } from "./sequential.ts";

const done = (output: unknown) => ({ status: "completed", output });
const refused = () => [{ throw: Object.assign(new Error("no"), { isRetryable: false }) }];

describe.each(eachStore)("an agent inside another one, on $name", ({ make }) => {
  test("Q2: the results of children and steps are handed out in the order of the record: a race ends as it did", async () => {
    const store = await make();
    const log = newLog();
    const slow = () => talker(log, "slow", () => [{ wait: 20 }, { text: "child" }]);
    const won: unknown[] = [];
    const root = () =>
      defineAgent({
        name: "code",
        run: async (ctx) => {
          const child = ctx.run(slow(), "x");
          const step = ctx.step("s", () => "step");
          won.push(await Promise.race([child, step]));
          await child;
          await ctx.ask(humanInput("On?"));
          return won.at(-1);
        },
      });
    const session = await enter(root(), store);
    await session.run("hi").result;
    await session.close();
    const other = await enter(root(), store);
    const [request] = other.interrupts;
    expect(await other.resume({ answers: { [request!.id]: respond("yes") } }).result).toMatchObject(done("step"));
    expect(won).toEqual(["step", "step"]);
    expect(log.calls).toHaveLength(1);
  });

  test.each(["gives something", "fails"])(
    "Q2: a race that a child has won is won by it again: another child, which continues and %s at once, comes after the recorded outcomes",
    async (how) => {
      const store = await make();
      const log = newLog();
      const once: { hung?: boolean } = {};
      const slow = () =>
        talker(log, "slow", () => {
          if (once.hung) return how === "fails" ? refused() : "slow";
          once.hung = true;
          return [{ stall: true }];
        });
      const root = () =>
        defineAgent({
          name: "code",
          run: async (ctx) => {
            const first = await Promise.race([ctx.run(slow(), "x"), ctx.run(echo(log, "quick"), "y")]);
            return [first, await ctx.step("first", () => first)];
          },
        });
      const session = await enter(root(), store);
      void session.run("hi");
      await until(async () => (await factsOf(store)).some(({ type }) => type === "step"));
      await session.interrupt();
      await session.close();
      const other = await enter(root(), store);
      expect(await other.resume().result).toMatchObject(done(["quick(y)", "quick(y)"]));
      expect(await wrong(store, log)).toEqual([]);
    },
  );

  test("S6: pause() parks user code before its next step", async () => {
    const store = await make();
    const log = newLog();
    const root = () =>
      defineAgent({
        name: "code",
        run: async (ctx) => {
          for (const key of ["a", "b", "c"]) {
            await ctx.step(key, async () => {
              log.did.push(key);
              await new Promise((resolve) => setTimeout(resolve, 5));
            });
          }
          return "done";
        },
      });
    const session = await enter(root(), store);
    const run = session.run("hi");
    await until(() => log.did.length === 1);
    expect(await session.pause()).toMatchObject({ accepted: true });
    expect(await run.result).toMatchObject({ interruptType: "manual" });
    expect(log.did).toEqual(["a"]);
    expect(await session.resume().result).toMatchObject(done("done"));
    expect(log.did).toEqual(["a", "b", "c"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("H1: an id that the models of two agents give at once is one call's; each runs with its own arguments, in another process, too", async () => {
    const store = await make();
    const log = newLog();
    const note = tool({
      name: "note",
      description: "",
      input: jsonSchema<{ of: string }>({ type: "object" }),
      needsApproval: true,
      execute: ({ of }) => `note of ${of} ${log.did.push(of) > 0}`,
    });
    const says = (name: string) => worker(log, name, note, "same", { of: name });
    const root = () => parallel({ name: "par", agents: [says("x"), says("y")] });
    const first = await enter(root(), store);
    await first.run("hi").result;
    const asked = first.interrupts.map(({ args }) => args);
    expect(asked).toEqual([{ of: "x" }, { of: "y" }]);
    await first.close();
    const second = await enter(root(), store);
    const ids = second.interrupts.map(({ callId }) => callId);
    expect(new Set(ids).size).toBe(2);
    expect(ids).toContain("same");
    expect(second.interrupts.map(({ args }) => args)).toEqual(asked);
    const answers = Object.fromEntries(second.interrupts.map(({ id }) => [id, approve()]));
    const output = ["x[ok note of x true]", "y[ok note of y true]"];
    expect(await second.resume({ answers }).result).toMatchObject({ status: "completed", output });
    expect(log.did.sort()).toEqual(["x", "y"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("Q4: edited arguments are judged by the tool of the agent that asks, although another agent has its name", async () => {
    const log = newLog();
    const typed = (type: string) =>
      tool({
        name: "pay",
        description: "",
        input: jsonSchema<{ n: unknown }>({ type: "object", properties: { n: { type } }, required: ["n"] }),
        needsApproval: true,
        execute: ({ n }) => `${type} ${n}`,
      });
    const same = (type: string, n: unknown, id: string) => worker(log, "same", typed(type), id, { n });
    const root = parallel({ name: "par", agents: [same("number", 1, "one"), same("string", "x", "two")] });
    const session = await enter(root, await make());
    await session.run("hi").result;
    const at = (call: string) => session.interrupts.find(({ callId }) => callId === call)!.id;
    await expect(session.answer(at("two"), approve({ args: { n: 2 } }))).rejects.toMatchObject({
      code: "ANSWER_INVALID",
    });
    const answers = { [at("one")]: approve({ args: { n: 3 } }), [at("two")]: approve({ args: { n: "y" } }) };
    expect(await session.resume({ answers }).result).toMatchObject({
      output: [expect.stringContaining("number 3"), expect.stringContaining("string y")],
    });
  });

  test("W1, W4: one fails while another waits for a person: both are taken up again, each on its own", async () => {
    const store = await make();
    const log = newLog();
    let fails = true;
    const root = () =>
      parallel({
        name: "par",
        agents: [
          talker(log, "flaky", () => (fails ? refused() : "fine")),
          worker(log, "w", gated(log, "pay"), "pay-call"),
        ],
      });
    const session = await enter(root(), store);
    expect((await session.run("hi").result).status).toBe("failed");
    await session.close();
    fails = false;
    const other = await enter(root(), store);
    expect(await other.resume().result).toMatchObject({ interruptType: "tool_interrupt" });
    const [request] = other.interrupts;
    expect(await other.resume({ answers: { [request!.id]: approve() } }).result).toMatchObject(
      done(["fine", "w[ok pay done]"]),
    );
    expect(log.did).toEqual(["pay"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("E2: a child that has used up its turns fails the run; resume() allows it as many again", async () => {
    const store = await make();
    const log = newLog();
    let turns = 0;
    const model = scriptedModel(() => (++turns < 4 ? [{ call: "t", id: `t${turns}` }] : "enough"));
    const limited = agent({ name: "limited", model, tools: [doing(log, "t")], maxTurns: 2 });
    const session = await enter(sequential({ name: "seq", agents: [limited] }), store);
    expect(await session.run("hi").result).toMatchObject({ status: "failed", error: { code: "MAX_TURNS" } });
    expect(await session.resume().result).toMatchObject(done("enough"));
    expect(await wrong(store, log)).toEqual([]);
  });

  test("F1: a child's answer that was shown and not kept is another try after the stop", async () => {
    const store = await make();
    const log = newLog();
    let hung = false;
    const x = talker(log, "x", () => {
      if (hung) return "all of it";
      hung = true;
      return [{ text: "some" }, { stall: true }];
    });
    const session = await enter(sequential({ name: "seq", agents: [x] }), store);
    const run = session.run("hi");
    await listen(run).until((event) => event.type === "text-delta");
    expect(await session.interrupt({ rollbackPartial: true })).toMatchObject({ partialText: "" });
    const again = session.resume();
    const events = await listen(again).all;
    expect(events.find((event) => event.type === "turn-start")).toMatchObject({ attempt: 2 });
    expect(events.some((event) => event.type === "superseded")).toBe(true);
    expect(await again.result).toMatchObject(done("all of it"));
  });

  test("C1, R1: after a crash in the deepest agent, with input: its calls are unknown or interrupted, the outer agent re-reasons", async () => {
    const store = await make();
    const log = newLog();
    const root = () =>
      sequential({
        name: "seq",
        agents: [
          asker(
            log,
            "outer",
            worker(
              log,
              "inner",
              doing(log, "t", () => new Promise(() => {})),
              "t-call",
            ),
          ),
        ],
      });
    const first = await enter(root(), store);
    void first.run("hi");
    await until(() => log.did.length === 1);
    // Its process lets go in the middle of the tool.
    await first.close();
    const other = await enter(root(), store);
    expect(other.pauseType).toBe("crash");
    expect(await other.resume({ input: "leave it" }).result).toMatchObject(done("outer[leave it]"));
    expect(log.did).toEqual(["t"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S8: terminate() ends all of them for good, and every call has its end", async () => {
    const store = await make();
    const log = newLog();
    const session = await enter(
      parallel({
        name: "par",
        agents: [asker(log, "outer", worker(log, "inner", gated(log, "pay"), "pay-call")), echo(log, "e")],
      }),
      store,
    );
    await session.run("hi").result;
    await session.terminate();
    expect(session.state).toBe("terminated");
    expect(await store.requests("default")).toEqual([]);
    expect(runs(await factsOf(store)).at(-1)).toBe("! par");
    expect(await wrong(store, log)).toEqual([]);
  });
});
