import {
  asker,
  eachStore,
  echo,
  enter,
  factsOf,
  gated,
  newLog,
  runs,
  talker,
  toolOf,
  worker,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve } from "../index.ts";
import { agentTool } from "./agent-tool.ts";
import { loop } from "./loop.ts";
import { parallel } from "./parallel.ts";
import { sequential } from "./sequential.ts";

const done = (output: unknown) => ({ status: "completed", output });

describe.each(eachStore)("agents made of agents, on $name", ({ make }) => {
  test("W1: in a sequence the output of each is the input of the next", async () => {
    const store = await make();
    const log = newLog();
    const session = await enter(
      sequential({ name: "seq", agents: [echo(log, "a"), echo(log, "b"), echo(log, "c")] }),
      store,
    );
    expect(await session.run("hi").result).toMatchObject(done("c(b(a(hi)))"));
    expect(runs(await factsOf(store))).toEqual([
      "+ seq",
      "+ seq/0:a",
      "- seq/0:a",
      "+ seq/1:b",
      "- seq/1:b",
      "+ seq/2:c",
      "- seq/2:c",
      "- seq",
    ]);
    expect(session.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("W1: at once, each gets the same input; the outputs are in their order, not in the order of their ends", async () => {
    const store = await make();
    const log = newLog();
    const slow = talker(log, "slow", () => [{ wait: 10 }, { text: "slow" }]);
    const session = await enter(parallel({ name: "par", agents: [slow, echo(log, "b"), echo(log, "c")] }), store);
    expect(await session.run("hi").result).toMatchObject(done(["slow", "b(hi)", "c(hi)"]));
    expect(log.calls.map((call) => call.split(": ")[1])).toEqual(["hi", "hi", "hi"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("W1: a loop hands each round the output of the last, until `until` is true or the rounds are used up", async () => {
    const store = await make();
    const log = newLog();
    const rounds = loop({ name: "rounds", agents: [echo(log, "a"), echo(log, "b")], maxIterations: 2 });
    const session = await enter(rounds, store);
    expect(await session.run("x").result).toMatchObject(done("b(a(b(a(x))))"));
    const until = loop({ name: "until", agents: [echo(log, "a")], until: (output) => String(output).length > 6 });
    const other = await enter(sequential({ name: "rounds", agents: [until] }), await make());
    expect(await other.run("x").result).toMatchObject(done("a(a(x))"));
  });

  test("W3: breakLoop ends the nearest loop, also from a tool of an agent in a sequence in it; the agent after the loop runs", async () => {
    const store = await make();
    const log = newLog();
    let calls = 0;
    const enough = toolOf("enough", (ctx) => {
      calls += 1;
      if (calls === 2) ctx.breakLoop("broken");
      return "again";
    });
    const inner = sequential({ name: "inner", agents: [worker(log, "w", enough, undefined), echo(log, "b")] });
    const outer = loop({ name: "outer", agents: [inner], maxIterations: 5 });
    const session = await enter(sequential({ name: "seq", agents: [outer, echo(log, "last")] }), store);
    expect(await session.run("x").result).toMatchObject(done("last(broken)"));
    expect(calls).toBe(2);
    expect(runs(await factsOf(store)).filter((line) => line.includes("1.0") && line.includes(":b"))).toEqual([]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("W1: each call of an agent-tool has a history of its own: two at once, and those of a second run", async () => {
    const store = await make();
    const log = newLog();
    const seen: number[] = [];
    const inner = talker(log, "inner", (request) => {
      seen.push(request.messages.length);
      return `inner(${request.messages.length})`;
    });
    let n = 0;
    const outer = talker(
      log,
      "outer",
      ({ messages }) =>
        messages.at(-1)!.role === "tool"
          ? "done"
          : [
              { call: "inner", id: `x${n}`, args: { request: "one" } },
              { call: "inner", id: `y${n++}`, args: { request: "two" } },
            ],
      [agentTool(inner)],
    );
    const session = await enter(outer, store);
    expect(await session.run("hi").result).toMatchObject(done("done"));
    expect(await session.run("again").result).toMatchObject(done("done"));
    expect(seen).toEqual([1, 1, 1, 1]);
    expect(log.calls.filter((call) => call.startsWith("inner"))).toEqual([
      "inner: one",
      "inner: two",
      "inner: one",
      "inner: two",
    ]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("W1: the model that called an agent-tool reads its error", async () => {
    const store = await make();
    const log = newLog();
    const inner = talker(log, "inner", () => [{ throw: Object.assign(new Error("no"), { isRetryable: false }) }]);
    const session = await enter(asker(log, "outer", inner), store);
    const result = await session.run("hi").result;
    expect(result).toMatchObject({ status: "completed", text: expect.stringMatching(/^outer\[error inner failed: /) });
    expect(await wrong(store, log)).toEqual([]);
  });

  test("W1, F4: one that fails keeps the finished work of the others; resume() repeats only the failed ones", async () => {
    const store = await make();
    const log = newLog();
    let fails = 1;
    const flaky = () =>
      talker(log, "flaky", () =>
        fails-- > 0 ? [{ throw: Object.assign(new Error("no"), { isRetryable: false }) }] : "flaky",
      );
    const root = () =>
      parallel({
        name: "par",
        agents: [echo(log, "a"), sequential({ name: "seq", agents: [echo(log, "b"), flaky()] })],
      });
    const session = await enter(root(), store);
    expect((await session.run("hi").result).status).toBe("failed");
    expect(session.state).toBe("error");
    const other = await enter(root(), store);
    expect(await other.resume().result).toMatchObject(done(["a(hi)", "flaky"]));
    expect(log.calls.map((call) => call.split(":")[0])).toEqual(["a", "b", "flaky", "flaky"]);
    expect(runs(await factsOf(store)).filter((line) => line.includes("seq"))).toEqual([
      "+ par/1:seq",
      "+ par/1:seq/0:b",
      "- par/1:seq/0:b",
      "+ par/1:seq/1:flaky",
      "! par/1:seq/1:flaky",
      "! par/1:seq",
      "+ par/1:seq",
      "+ par/1:seq/1:flaky",
      "- par/1:seq/1:flaky",
      "- par/1:seq",
    ]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("W1, W4: four levels deep, mixing all, an approval continues in place in another process", async () => {
    const store = await make();
    const log = newLog();
    const root = () =>
      sequential({
        name: "seq",
        agents: [
          echo(log, "a"),
          parallel({
            name: "par",
            agents: [
              echo(log, "b"),
              loop({
                name: "loop",
                maxIterations: 2,
                agents: [asker(log, "outer", worker(log, "inner", gated(log, "pay"), "pay-call"), "outer-call")],
              }),
            ],
          }),
          echo(log, "z"),
        ],
      });
    let session = await enter(root(), store);
    let result = await session.run("hi").result;
    const addresses: string[] = [];
    for (let rounds = 0; result.status === "interrupted" && rounds < 5; rounds++) {
      expect(result.interrupts).toHaveLength(1);
      addresses.push(result.interrupts[0]!.address);
      await session.close();
      session = await enter(root(), store);
      const [request] = session.interrupts;
      result = await session.resume({ answers: { [request!.id]: approve() } }).result;
    }
    expect(addresses).toEqual([
      "seq/1:par/1:loop/0.0:outer/t1/c0/inner/t1/c0/approval",
      "seq/1:par/1:loop/1.0:outer/t1/c0/inner/t1/c0/approval",
    ]);
    expect(result).toMatchObject({ status: "completed", text: expect.stringContaining("z(") });
    expect(log.did).toEqual(["pay", "pay"]);
    const count = (name: string) => log.calls.filter((call) => call.startsWith(`${name}:`)).length;
    expect([count("a"), count("b"), count("outer"), count("inner"), count("z")]).toEqual([1, 1, 4, 4, 1]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("F7: two runs on one thread: each child remembers its own, and a new run runs all of them again", async () => {
    const store = await make();
    const log = newLog();
    const counting = (name: string) => talker(log, name, ({ messages }) => `${name}${messages.length}`);
    const root = () => sequential({ name: "seq", agents: [counting("a"), counting("b")] });
    const session = await enter(root(), store);
    expect(await session.run("one").result).toMatchObject(done("b1"));
    await session.close();
    const other = await enter(root(), store);
    expect(await other.run("two").result).toMatchObject(done("b3"));
    expect(await wrong(store, log)).toEqual([]);
  });
});
