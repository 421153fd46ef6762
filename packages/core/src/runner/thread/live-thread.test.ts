import { setImmediate as macrotask } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gate, toolOf, until } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  agent,
  createRunner,
  defineAgent,
  humanInput,
  type Runner,
  respond,
  type Session,
  type Tool,
} from "../../index.ts";
import { type ScriptedTurn, scriptedModel } from "../../testing/index.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

async function forgetAll(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    collect();
    await macrotask();
  }
}

function runnerOf(turns: readonly ScriptedTurn[], tools: readonly Tool<unknown>[] = []): Runner {
  return createRunner({ agent: agent({ name: "helper", model: scriptedModel(turns), tools }) });
}

/** After this only the runtime may hold the session. */
async function leave(runner: Runner, use: (session: Session) => unknown): Promise<WeakRef<Session>> {
  const session = await runner.open("thread");
  await use(session);
  return new WeakRef(session);
}

describe("a session that no caller holds", () => {
  test("is forgotten while nothing runs, and its thread is as it was", async () => {
    const runner = runnerOf(["hello"]);
    const left = await leave(runner, async (session) => {
      await session.run("hi").result;
    });
    await forgetAll();
    expect(left.deref()).toBeUndefined();
    expect((await runner.open("thread")).messages).toHaveLength(2);
  });

  test("Q1: nor is code kept that pause() has parked: it begins again from its steps", async () => {
    let had: WeakRef<object> | undefined;
    const park = gate();
    const code = defineAgent({
      name: "code",
      run: async (ctx) => {
        const mine = {};
        had ??= new WeakRef(mine);
        await ctx.step("one", () => park.opened.then(() => null));
        await ctx.step("two", () => null);
        return mine;
      },
    });
    const runner = createRunner<unknown>({ agent: code });
    const run = (await runner.open("thread")).run("hi");
    await until(() => had !== undefined);
    const parked = (await runner.open("thread")).pause();
    park.open();
    await parked;
    expect((await run.result).status).toBe("interrupted");
    await forgetAll();
    expect(had?.deref()).toBeUndefined();
    expect((await (await runner.open("thread")).resume().result).status).toBe("completed");
  });

  test("is kept while it runs: open() returns the same one", async () => {
    const held = gate();
    const runner = runnerOf([() => held.opened.then(() => "hello")]);
    const left = await leave(runner, (session) => {
      session.run("hi");
    });
    await forgetAll();
    const session = await runner.open("thread");
    expect(left.deref()).toBe(session);
    expect(session.state).toBe("running");
    held.open();
    await until(() => session.state === "completed");
  });

  test("Q1: is kept while code waits in it for a person: that code continues in place", async () => {
    let entries = 0;
    const ask = toolOf("ask", async (ctx) => {
      entries += 1;
      return `hello ${await ctx.ask(humanInput("Who?"))}`;
    });
    const runner = runnerOf([[{ call: "ask", id: "a" }], "done"], [ask]);
    const left = await leave(runner, async (session) => {
      await session.run("hi").result;
    });
    await forgetAll();
    expect(left.deref()).toBeDefined();
    const [request] = (await runner.inbox()).items;
    expect(await runner.answer(request!.id, respond("ann"))).toEqual({ open: 0 });
    expect(await (await runner.open("thread")).resume().result).toMatchObject({ status: "completed", text: "done" });
    expect(entries).toBe(1);
  });
});
