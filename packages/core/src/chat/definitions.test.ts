import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { definitionOf } from "../agent.ts";
import { createRunner, jsonSchema, memoryStore, type Tool, tool } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
import { agent } from "./agent.ts";

const model = scriptedModel(["ok"]);
const input = jsonSchema({ type: "object" });
const good = { name: "look", description: "Looks.", input, execute: () => 1 };
const coded = (code: string, words = "") => expect.objectContaining({ code, message: expect.stringContaining(words) });

describe("bad definitions are refused when they are made", () => {
  it.each([
    [undefined, "not an object"],
    [null, "not an object"],
    [{}, "name"],
    [{ ...good, name: "" }, "name"],
    [{ ...good, name: "has space" }, "has space"],
    [{ ...good, name: "9lives" }, "9lives"],
    [{ ...good, name: "x".repeat(65) }, "name"],
    [{ ...good, description: undefined }, "description"],
    [{ ...good, execute: "no" }, "execute"],
    [{ ...good, input: undefined }, "Standard Schema"],
    [{ ...good, input: { type: "object" } }, "jsonSchema(…)"],
    [{ ...good, input: z.string() }, "not an object"],
    [{ ...good, onStop: "maybe" }, "onStop"],
    [{ ...good, onCrash: "pray" }, "onCrash"],
    [{ ...good, timeoutMs: -1 }, "timeoutMs"],
    [{ ...good, timeoutMs: Number.NaN }, "timeoutMs"],
    [{ ...good, graceMs: "1s" }, "graceMs"],
  ])("TOOL_INVALID: tool(%j)", (options, words) => {
    expect(() => tool(options as never)).toThrow(coded("TOOL_INVALID", words));
  });

  it.each([
    [undefined, "name"],
    [{}, "name"],
    [{ name: "a b", model }, "a b"],
    [{ name: "a" }, "model"],
    [{ name: "a", model: "gpt" }, "model"],
    [{ name: "a", model: { stream: () => {} } }, "model"],
    [{ name: "a", model, instructions: 7 }, "instructions"],
    [{ name: "a", model, tools: {} }, "tools"],
    [{ name: "a", model, tools: [{ name: "x" }] }, "tool(…)"],
    [{ name: "a", model, tools: [null] }, "tool(…)"],
    [{ name: "a", model, output: {} }, "output"],
    [{ name: "a", model, context: "the last ten" }, "context"],
    [{ name: "a", model, context: null }, "context"],
    [{ name: "a", model, context: [] }, "context"],
    [{ name: "a", model, context: { maxTokens: "100" } }, 'maxTokens of its context is "100", not a number above 0'],
    [{ name: "a", model, context: { maxTokens: 100, keepTokens: -5 } }, "keeps -5 of 100 tokens"],
    [{ name: "a", model, context: { maxTokens: 100, model: "gpt" } }, "fromAiSdk"],
    [{ name: "a", model, context: { maxTokens: 100, instructions: 5 } }, "instructions of its context"],
    [{ name: "a", model, maxTurns: 0 }, "maxTurns"],
    [{ name: "a", model, maxTurns: 1.5 }, "maxTurns"],
    [{ name: "a", model, maxTurns: "3" }, "maxTurns"],
    [{ name: "a", model, graceMs: -1 }, "graceMs"],
    [{ name: "a", model, repair: "no" }, "repair"],
    [{ name: "a", model, timeouts: { idleMs: -5 } }, "timeouts.idleMs"],
    [{ name: "a", model, timeouts: { totalMs: Number.NaN } }, "timeouts.totalMs"],
    [{ name: "a", model, settings: { retry: { attempts: 0 } } }, "retry.attempts"],
    [{ name: "a", model, settings: { retry: { attempts: Number.NaN } } }, "retry.attempts"],
    [{ name: "a", model, settings: { retry: { delayMs: -1 } } }, "retry.delayMs"],
  ])("AGENT_INVALID: agent(%j)", (options, words) => {
    expect(() => agent(options as never)).toThrow(coded("AGENT_INVALID", words));
  });

  it("TOOL_DUPLICATE, NOT_SERIALIZABLE: two tools of one name, settings that cannot be sent", () => {
    expect(() => agent({ name: "a", model, tools: [tool(good), tool(good)] })).toThrow(coded("TOOL_DUPLICATE", "look"));
    const settings = { providerOptions: { at: new Date() as never } };
    expect(() => agent({ name: "a", model, settings })).toThrow(coded("NOT_SERIALIZABLE", "providerOptions.at"));
  });

  it.each([[{}], [{ agents: [] }], [{ agent: {} }], [{ agents: [null] }], [{ agents: {} }]])(
    "AGENT_INVALID: createRunner(%j)",
    (options) => {
      expect(() => createRunner(options as never)).toThrow(coded("AGENT_INVALID"));
    },
  );

  it("AGENT_INVALID, OPTION_INVALID: two agents of one name; a lease that cannot last", () => {
    const a = agent({ name: "a", model });
    expect(() => createRunner({ agents: [a, a] })).toThrow(coded("AGENT_INVALID", "that name"));
    for (const leaseTtlMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => createRunner({ agent: a, leaseTtlMs })).toThrow(coded("OPTION_INVALID", "leaseTtlMs"));
    }
  });

  it("OPTION_INVALID: a store that was not made, or is none; a tenant that is none", () => {
    const a = agent({ name: "a", model });
    expect(() => createRunner({ agent: a, store: memoryStore as never })).toThrow(
      coded("OPTION_INVALID", "Option store is the function memoryStore"),
    );
    for (const store of [null, {}, "file.db"]) {
      expect(() => createRunner({ agent: a, store: store as never })).toThrow(coded("OPTION_INVALID", "store"));
    }
    for (const tenant of ["", 7]) {
      expect(() => createRunner({ agent: a, tenant: tenant as never })).toThrow(coded("OPTION_INVALID", "tenant"));
    }
  });

  it("OPTION_INVALID: a thread id that is none", async () => {
    const runner = createRunner({ agent: agent({ name: "a", model }) });
    for (const id of ["", "x".repeat(201), 7, 7n, null]) {
      await expect(runner.open(id as never)).rejects.toEqual(coded("OPTION_INVALID", "threadId"));
    }
  });

  it("agents and tools are frozen", () => {
    const one = tool(good);
    const made = agent({ name: "a", model, tools: [one] });
    expect(Object.isFrozen(one)).toBe(true);
    expect(Object.isFrozen(made)).toBe(true);
  });
});

describe("types flow from definitions", () => {
  it("types: from a zod schema to execute, as the schema hands it out", () => {
    tool({
      ...good,
      input: z.object({ a: z.string().transform(Number), b: z.boolean().default(true) }),
      execute: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ a: number; b: boolean }>();
      },
    });
  });

  it("types: from jsonSchema<T> to execute", () => {
    tool({
      ...good,
      input: jsonSchema<{ city: string }>({ type: "object" }),
      execute: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ city: string }>();
      },
    });
  });

  it("ctx.deps is the value given to the runner, and a runner without it does not compile", async () => {
    interface Deps {
      readonly prices: Map<string, number>;
    }
    let seen: unknown;
    const price = tool({
      name: "price",
      description: "",
      input: jsonSchema<{ of: string }>({ type: "object" }),
      execute: ({ of }, ctx: { readonly deps: Deps }) => {
        expectTypeOf(ctx.deps).toEqualTypeOf<Deps>();
        seen = ctx.deps;
        return ctx.deps.prices.get(of);
      },
    });
    expectTypeOf(price).toEqualTypeOf<Tool<Deps>>();
    const shop = agent({
      name: "shop",
      model: scriptedModel([[{ call: "price", args: { of: "tea" } }], "ok"]),
      tools: [price],
    });
    const deps: Deps = { prices: new Map([["tea", 3]]) };
    // @ts-expect-error: these are not the deps that its tools need
    createRunner({ agent: shop, deps: { prices: 3 } });
    const run = await createRunner({ agent: shop, deps }).run("how much is tea?");
    expect((await run.result).status).toBe("completed");
    expect(seen).toBe(deps);
  });

  it("types: from output to the result, and string without it", async () => {
    const output = z.object({ size: z.coerce.number() });
    const typed = createRunner({ agent: agent({ name: "a", model: scriptedModel(['{"size":"3"}']), output }) });
    const result = await (await typed.run("x")).result;
    if (result.status !== "completed") throw new Error(result.status);
    expectTypeOf(result.output).toEqualTypeOf<{ size: number }>();
    expect(result.output).toEqual({ size: 3 });
    const plain = createRunner({ agent: agent({ name: "a", model: scriptedModel(["ok"]) }) });
    const said = await (await plain.run("x")).result;
    if (said.status === "completed") expectTypeOf(said.output).toEqualTypeOf<string>();
  });
});

describe("tools as a function", () => {
  it("a tool that is added later is offered in the next turn, and can be called", async () => {
    const first = tool({ ...good, name: "first" });
    const second = tool({ ...good, name: "second", execute: () => "second ran" });
    let tools: readonly Tool[] = [first];
    const scripted = scriptedModel([
      () => {
        tools = [first, second];
        return [{ call: "first" }];
      },
      [{ call: "second" }],
      "done",
    ]);
    const made = agent({ name: "a", model: scripted, tools: () => tools });
    const before = definitionOf(made).fingerprint();
    const session = await createRunner({ agent: made }).open();
    expect(await session.run("go").result).toMatchObject({ status: "completed", text: "done" });
    const offered = scripted.requests.map((request) => request.tools.map(({ name }) => name));
    expect(offered).toEqual([["first"], ["first", "second"], ["first", "second"]]);
    expect(JSON.stringify(session.messages)).toContain("second ran");
    expect(definitionOf(made).fingerprint()).not.toEqual(before);
  });

  it("a function that gives no list, or two tools of a name, is refused when it is asked", () => {
    expect(() => agent({ name: "a", model, tools: (() => undefined) as never })).toThrow(
      coded("AGENT_INVALID", "no list"),
    );
    const twice = [tool(good), tool(good)];
    expect(() => agent({ name: "a", model, tools: () => twice })).toThrow(coded("TOOL_DUPLICATE"));
    const sub = agent({ name: "b", model });
    expect(() => agent({ name: "a", model, tools: () => [], subAgents: [sub] })).toThrow(
      coded("AGENT_INVALID", "subAgents"),
    );
  });
});
