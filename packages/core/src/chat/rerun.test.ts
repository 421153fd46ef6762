import { eachStore } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  agent,
  agentTool,
  approve,
  createRunner,
  defineAgent,
  jsonSchema,
  memoryStore,
  parallel,
  rerun,
  tool,
} from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
import { detachedContext } from "../tool/context.ts";

const query = jsonSchema<{ q: string }>({ type: "object", properties: { q: { type: "string" } } });

describe.each(eachStore)("a tool that asks to be run again, on $name", ({ make }) => {
  test("O1: of four calls two ask again: two results are kept, two run again with their arguments, the model is called once", async () => {
    const store = await make();
    const done: string[] = [];
    const deps: { key?: string } = {};
    const search = tool({
      name: "search",
      description: "Searches.",
      input: query,
      execute: ({ q }, ctx) => {
        done.push(q);
        const { key } = ctx.deps as typeof deps;
        if (q.startsWith("web") && key === undefined) throw rerun({ missing: "key", q });
        return `${q} by ${key ?? "nobody"}`;
      },
    });
    const ask = (q: string) => ({ call: "search", args: { q }, id: `id-${q}` });
    const script = () => scriptedModel([[ask("local1"), ask("web1"), ask("local2"), ask("web2")], "all found"]);
    const model = script();
    const root = (of: typeof model) => agent({ name: "a", model: of, tools: [search] });
    const runner = createRunner({ agent: root(model), store, deps });
    const first = await runner.open("t");
    const result = await first.run("find").result;
    expect(result).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
    if (result.status !== "interrupted") return;
    expect(result.interrupts).toMatchObject([
      { kind: "rerun", callId: "id-web1", tool: "search", args: { q: "web1" }, address: "a/t1/c1/rerun" },
      { kind: "rerun", callId: "id-web2", tool: "search", args: { q: "web2" }, address: "a/t1/c3/rerun" },
    ]);
    expect(result.interrupt.data).toMatchObject({
      type: "tools",
      executedTools: { "id-local1": "local1 by nobody", "id-local2": "local2 by nobody" },
      rerunTools: ["id-web1", "id-web2"],
      extra: { "id-web1": { missing: "key", q: "web1" }, "id-web2": { missing: "key", q: "web2" } },
    });
    expect((await runner.inbox()).items).toHaveLength(0);
    expect(model.requests).toHaveLength(1);
    await runner.close();

    // Another process resumes it, now with the key.
    const again = scriptedModel(["all found"]);
    const second = createRunner({ agent: root(again), store, deps: { key: "k" } });
    const session = await second.open("t");
    expect(session.interrupts.map(({ kind }) => kind)).toEqual(["rerun", "rerun"]);
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "all found" });
    expect(done).toEqual(["local1", "web1", "local2", "web2", "web1", "web2"]);
    expect(again.requests).toHaveLength(1);
    const results = session.messages.find(({ role }) => role === "tool")?.parts;
    expect(results).toMatchObject([
      { id: "id-local1", outcome: "ok", output: "local1 by nobody" },
      { id: "id-web1", outcome: "ok", output: "web1 by k" },
      { id: "id-local2", outcome: "ok", output: "local2 by nobody" },
      { id: "id-web2", outcome: "ok", output: "web2 by k" },
    ]);
    await second.close();
  });

  test("O1: it may ask again and again, and keeps its recorded steps", async () => {
    const store = await make();
    let tries = 0;
    let steps = 0;
    const flaky = tool({
      name: "flaky",
      description: "Fails twice.",
      input: query,
      execute: async (_args, ctx) => {
        const once = await ctx.step("prepare", () => ++steps);
        // Inside a step it leaves no outcome behind.
        return ctx.step("send", () => {
          tries += 1;
          if (tries < 3) throw rerun();
          return `sent ${once}`;
        });
      },
    });
    const model = scriptedModel([[{ call: "flaky", args: {} }], "done"]);
    const runner = createRunner({ agent: agent({ name: "a", model, tools: [flaky] }), store });
    const session = await runner.open("t");
    expect(await session.run("go").result).toMatchObject({ interruptType: "tool_interrupt" });
    expect(await session.resume().result).toMatchObject({ interruptType: "tool_interrupt" });
    expect(await session.resume().result).toMatchObject({ status: "completed" });
    expect([tries, steps]).toEqual([3, 1]);
    const [part] = session.messages.find(({ role }) => role === "tool")!.parts;
    expect(part).toMatchObject({ outcome: "ok", output: "sent 1" });
    await runner.close();
  });

  test("O1: an approved call that asks again in the pause is listed there, and waits for resume()", async () => {
    const store = await make();
    let ready = false;
    const guarded = tool({
      name: "guarded",
      description: "Needs approval.",
      input: query,
      needsApproval: true,
      execute: ({ q }) => {
        if (!ready) throw rerun("not yet");
        return q;
      },
    });
    const call = (q: string) => ({ call: "guarded", args: { q }, id: `id-${q}` });
    const model = scriptedModel([[call("a"), call("b")], "done"]);
    const runner = createRunner({ agent: agent({ name: "a", model, tools: [guarded] }), store });
    const session = await runner.open("t");
    await session.run("go").result;
    const [one, two] = (await runner.inbox()).items;
    await runner.answer(one!.id, approve());
    await expect.poll(() => session.interrupts.map(({ kind }) => kind).sort()).toEqual(["approval", "rerun"]);
    await runner.answer(two!.id, approve());
    await expect.poll(() => session.interrupts.map(({ kind }) => kind)).toEqual(["rerun", "rerun"]);
    expect(session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    // A worker does not speak for the person.
    const ending = new AbortController();
    const working = runner.work({ pollMs: 1, signal: ending.signal });
    await new Promise((resolve) => setTimeout(resolve, 50));
    ending.abort();
    await working;
    expect(session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    ready = true;
    expect(await session.resume().result).toMatchObject({ status: "completed" });
    expect(model.requests).toHaveLength(2);
    await runner.close();
  });

  test("O1, S7: an approved call of a failed run asks again: the run stays failed, and resume() runs it once more", async () => {
    const store = await make();
    const now = { ready: false };
    const guarded = tool({
      name: "guarded",
      description: "Needs approval.",
      input: query,
      needsApproval: true,
      execute: () => {
        if (!now.ready) throw rerun("not yet");
        return "done";
      },
    });
    const asks = agent({
      name: "asks",
      model: scriptedModel([[{ call: "guarded", args: { q: "x" } }], "asked"]),
      tools: [guarded],
    });
    const failed = [{ throw: Object.assign(new Error("no"), { isRetryable: false }) }];
    const fails = agent({ name: "fails", model: scriptedModel([failed, "well"]) });
    const runner = createRunner({ agent: parallel({ name: "both", agents: [asks, fails] }), store });
    const session = await runner.open("t");
    expect(await session.run("go").result).toMatchObject({ status: "failed" });
    const [request] = (await runner.inbox()).items;
    await runner.answer(request!.id, approve());
    await expect.poll(async () => (await store.load({ tenant: "default", threadId: "t" }))!.row.lease).toBeUndefined();
    expect(await runner.look("t")).toMatchObject({ state: "error" });
    now.ready = true;
    expect(await session.resume().result).toMatchObject({ status: "completed", output: ["asked", "well"] });
    await runner.close();
  });

  test("O1: a stop, and another direction, end the call as interrupted", async () => {
    const store = await make();
    const never = tool({
      name: "never",
      description: "Asks again always.",
      input: query,
      execute: () => {
        throw rerun();
      },
    });
    const model = scriptedModel([[{ call: "never", args: {}, id: "n" }], "then not"]);
    const runner = createRunner({ agent: agent({ name: "a", model, tools: [never] }), store });
    const session = await runner.open("t");
    await session.run("go").result;
    expect(await session.interrupt()).toMatchObject({ accepted: false });
    expect(await session.resume({ input: "leave it" }).result).toMatchObject({ status: "completed" });
    const [part] = session.messages.find(({ role }) => role === "tool")!.parts;
    expect(part).toMatchObject({ id: "n", outcome: "interrupted" });
    await runner.close();
  });

  test("O1: a custom agent asks again, also inside a call of another agent; its children are not run again", async () => {
    const store = await make();
    let ready = false;
    let steps = 0;
    const worker = defineAgent({
      name: "worker",
      run: async (ctx, input) => {
        await ctx.step("once", () => ++steps);
        if (!ready) ctx.rerun({ wants: "a key" });
        return `worked on ${String(input)}`;
      },
    });
    const model = scriptedModel([[{ call: "worker", args: { request: "it" }, id: "w" }], "done"]);
    const root = agent({ name: "a", model, tools: [agentTool(worker)] });
    const runner = createRunner({ agent: root, store });
    const session = await runner.open("t");
    const result = await session.run("go").result;
    expect(result).toMatchObject({
      interruptType: "tool_interrupt",
      interrupts: [{ kind: "rerun", by: "worker", address: "a/t1/c0/worker/rerun", extra: { wants: "a key" } }],
    });
    ready = true;
    expect(await session.resume().result).toMatchObject({ status: "completed" });
    expect(steps).toBe(1);
    const [part] = session.messages.find(({ role }) => role === "tool")!.parts;
    expect(part).toMatchObject({ outcome: "ok", output: "worked on it" });
    await runner.close();
  });
});

describe("rerun() given wrongly", () => {
  test("O1: outside a run it is a typed error", () => {
    expect(() => detachedContext().rerun()).toThrow(expect.objectContaining({ code: "RERUN_OUTSIDE" }));
    expect(rerun()).toMatchObject({ code: "RERUN_OUTSIDE" });
  });

  test("O1: a value that is not JSON is refused when it is given, and one that is too large ends the call as an error", async () => {
    expect(() => rerun({ at: new Date(0) })).toThrow(expect.objectContaining({ code: "NOT_SERIALIZABLE" }));
    const large = tool({
      name: "large",
      description: "Says too much.",
      input: query,
      execute: () => {
        throw rerun("x".repeat(5000));
      },
    });
    const model = scriptedModel([[{ call: "large", args: {} }], "done"]);
    const runner = createRunner({
      agent: agent({ name: "a", model, tools: [large] }),
      store: memoryStore(),
      maxBytes: 4096,
    });
    const session = await runner.open("t");
    expect(await session.run("go").result).toMatchObject({ status: "completed" });
    const [part] = session.messages.find(({ role }) => role === "tool")!.parts;
    expect(part).toMatchObject({ outcome: "error" });
    expect(JSON.stringify(part)).toMatch(/rerun\(\) was given/);
    await runner.close();
  });
});
