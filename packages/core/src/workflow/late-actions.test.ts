import {
  type AnyAgent,
  eachStore,
  echo,
  enter,
  factsOf,
  gate,
  newLog,
  toolOf,
  until,
  worker,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agent, createRunner, type Store, type ToolContext } from "../index.ts";
import { type ScriptedPart, scriptedModel } from "../testing/index.ts";
import { agentTool } from "./agent-tool.ts";
import { loop } from "./loop.ts";
import { sequential } from "./sequential.ts";

const key = { tenant: "default", threadId: "thread" };
const done = (output: unknown) => ({ status: "completed", output });

/** A tool that ignores a stop, acts when the test says so, and returns "late". */
function deaf(act: (ctx: ToolContext) => void, name = "deaf") {
  const begun = gate();
  const end = gate();
  const tool = toolOf(
    name,
    async (ctx) => {
      begun.open();
      await end.opened;
      act(ctx);
      return "late";
    },
    { graceMs: 1 },
  );
  return { tool, begun: begun.opened, end: end.open };
}

const mailIn = (store: Store) => until(async () => ((await store.load(key))?.commands.length ?? 0) > 0);

/** Stops the run of `root` while its call continues; then the call ends. */
async function ended(root: AnyAgent, store: Store, { begun, end }: ReturnType<typeof deaf>) {
  const session = await enter(root, store);
  const run = session.run("go");
  await begun;
  await session.interrupt();
  await run.result;
  end();
  await mailIn(store);
  return session;
}

const actions = async (store: Store) =>
  (await factsOf(store)).flatMap((fact) => (fact.type === "action" && !fact.action.interrupted ? [fact.action] : []));

describe.each(eachStore)("S5, W3: actions of a call that was left behind, on $name", ({ make }) => {
  test("exit ends the run with the late result, and no model is asked", async () => {
    const store = await make();
    const log = newLog();
    const slow = deaf((ctx) => ctx.exit());
    const root = sequential({ name: "seq", agents: [worker(log, "w", slow.tool), echo(log, "never")] });
    const session = await ended(root, store, slow);
    expect(await session.resume().result).toMatchObject(done("late"));
    expect(log.calls).toHaveLength(1);
    expect(await actions(store)).toContainEqual({ exit: { output: "late" } });
    expect(await wrong(store, log)).toEqual([]);
  });

  test("breakLoop leaves the loop; the agent after it runs", async () => {
    const store = await make();
    const log = newLog();
    const slow = deaf((ctx) => ctx.breakLoop("broken"));
    const rounds = loop({ name: "rounds", agents: [worker(log, "w", slow.tool)], maxIterations: 5 });
    const session = await ended(sequential({ name: "seq", agents: [rounds, echo(log, "last")] }), store, slow);
    expect(await session.resume().result).toMatchObject(done("last(broken)"));
    expect(await wrong(store, log)).toEqual([]);
  });

  test("transferTo hands over, and the new agent reads a steer that was sent meanwhile", async () => {
    const store = await make();
    const slow = deaf((ctx) => {
      ctx.customAction({ seen: true });
      ctx.transferTo("other");
    });
    const heard: string[] = [];
    const speak = (name: string, turns: Parameters<typeof scriptedModel>[0]) =>
      agent({ name, model: scriptedModel(turns), ...(name === "root" && { tools: [slow.tool], subAgents: [other] }) });
    const other: ReturnType<typeof agent> = speak("other", (request) => {
      heard.push(JSON.stringify(request.messages.at(-1)!.parts));
      return "other says";
    });
    const root = speak("root", [[{ call: "deaf", id: "d" }], "root says"]);
    const session = await ended(root, store, slow);
    await session.steer("and quickly");
    expect(await session.resume().result).toMatchObject(done("other says"));
    expect(heard.join()).toContain("and quickly");
    expect(await actions(store)).toEqual([{ customized: { seen: true } }, { transferToAgent: { name: "other" } }]);
    expect(await wrong(store, newLog())).toEqual([]);
  });

  test("§9: a steer finds no next model call: it waits for the next run, also where hooks look at the reply", async () => {
    for (const left of ["late", "in time"] as const) {
      const store = await make();
      let replies = 0;
      const afterReply = () => {
        replies += 1;
        if (replies > 5) throw new Error("it goes round");
      };
      const slow = deaf((ctx) => ctx.exit("left"));
      const model = scriptedModel([[{ call: "deaf", id: "d" }], "an answer"]);
      const root = agent({ name: "w", model, tools: [slow.tool], hooks: { afterReply } });
      if (left === "late") {
        const session = await ended(root, store, slow);
        await session.steer("wait");
        expect(await session.resume().result).toMatchObject(done("left"));
      } else {
        const session = await enter(root, store);
        const run = session.run("go");
        await slow.begun;
        await session.steer("wait");
        slow.end();
        expect(await run.result).toMatchObject(done("left"));
      }
      expect(replies).toBe(1);
      expect((await store.load(key))?.commands).toMatchObject([{ kind: "steer" }]);
    }
  });

  test("a note in between is no message of a person: it still leaves", async () => {
    const store = await make();
    const [one, two] = [deaf(() => {}, "one"), deaf((ctx) => ctx.exit("left"), "two")];
    const stalls = gate();
    const model = scriptedModel([
      [{ call: "one", id: "a" }],
      [{ call: "two", id: "b" }],
      () => stalls.opened.then(() => "never said"),
      "an answer",
    ]);
    const session = await enter(agent({ name: "w", model, tools: [one.tool, two.tool] }), store);
    const first = session.run("go");
    await one.begun;
    await session.interrupt();
    await first.result;
    const second = session.resume();
    await two.begun;
    await session.interrupt();
    await second.result;
    one.end();
    await mailIn(store);
    const third = session.resume();
    await until(async () => (await factsOf(store)).some((fact) => fact.type === "tool-late"));
    await session.interrupt();
    await third.result;
    two.end();
    await mailIn(store);
    expect(await session.resume().result).toMatchObject(done("left"));
    expect(await wrong(store, newLog())).toEqual([]);
  });

  test("F3: the late end of a try that another process has repeated is reported, and has no other effect", async () => {
    const store = await make();
    const slow = deaf((ctx) => ctx.exit("zombie"));
    const failing = gate();
    const again = toolOf("deaf", () => failing.opened, { repeatable: true });
    const call: ScriptedPart[] = [{ call: "deaf", id: "d" }];
    const first = agent({ name: "w", model: scriptedModel([call]), tools: [slow.tool] });
    const run = (await createRunner({ agent: first, store, leaseTtlMs: 30 }).open("thread")).run("go");
    await slow.begun;
    await store.release(key, (await store.load(key))!.row.lease!.fence);
    const second = agent({ name: "w", model: scriptedModel(["B said"]), tools: [again] });
    const { result } = (await createRunner({ agent: second, store }).open("thread")).resume();
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "FENCED" } });
    slow.end();
    await mailIn(store);
    failing.fail(new Error("no such order"));
    expect(await result).toMatchObject(done("B said"));
    expect(await actions(store)).toEqual([]);
    expect(await factsOf(store)).toContainEqual(expect.objectContaining({ type: "tool-late", as: "note" }));
  });

  test("a late result without an action is reported in any case", async () => {
    const store = await make();
    const slow = deaf((ctx) => {
      ctx.customAction("seen");
      ctx.exit("left");
    });
    const session = await ended(worker(newLog(), "w", slow.tool), store, slow);
    expect(await session.resume({ input: "stay" }).result).toMatchObject(done("w[stay]"));
    expect(await actions(store)).toEqual([{ customized: "seen" }]);
  });

  test("R1: a message that was sent since is answered", async () => {
    const store = await make();
    const log = newLog();
    const slow = deaf((ctx) => ctx.exit("left"));
    const session = await ended(worker(log, "w", slow.tool), store, slow);
    expect(await session.resume({ input: "stay" }).result).toMatchObject(done("w[stay]"));
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S5: the late end of a call inside a closed call reaches the agent that made the outer call, once", async () => {
    const store = await make();
    const slow = deaf((ctx) => ctx.exit("left"));
    const inner = agent({ name: "inner", model: scriptedModel([[{ call: "deaf", id: "d" }]]), tools: [slow.tool] });
    const heard: string[] = [];
    const model = scriptedModel((request) => {
      heard.push(JSON.stringify(request.messages.slice(1)));
      return request.messages.length === 1 ? [{ call: "inner", id: "i", args: { request: "do it" } }] : "an answer";
    });
    const session = await ended(agent({ name: "w", model, tools: [agentTool(inner)] }), store, slow);
    expect(await session.resume({ input: "stay" }).result).toMatchObject(done("an answer"));
    expect(await session.run("and?").result).toMatchObject(done("an answer"));
    expect(heard.at(-1)!.split("Its result: late")).toHaveLength(2);
    expect((await store.load(key))?.commands).toEqual([]);
    expect(await actions(store)).toEqual([]);
    expect(await wrong(store, newLog())).toEqual([]);
  });

  test("R1: its actions before the stop are taken back by new input, too", async () => {
    const store = await make();
    const log = newLog();
    const other = gate();
    const begun = gate();
    const leave = toolOf("leave", (ctx) => ctx.exit("left"));
    const stay = toolOf("stay", async (ctx) => {
      begun.open();
      await Promise.race([other.opened, new Promise((r) => ctx.signal.addEventListener("abort", r))]);
    });
    const model = scriptedModel([[{ call: "leave" }, { call: "stay" }], "an answer"]);
    const session = await enter(agent({ name: "w", model, tools: [leave, stay] }), store);
    const run = session.run("go");
    await begun.opened;
    await until(async () => (await actions(store)).length > 0);
    await session.interrupt();
    await run.result;
    expect(await session.resume({ input: "stay" }).result).toMatchObject(done("an answer"));
    expect(await wrong(store, log)).toEqual([]);
  });
});
