import { describe, expect, test } from "vitest";
import { approve, humanInput, reject, respond } from "../index.ts";
import { jsonSchema } from "../schema/schema.ts";
import { memoryStore } from "../store/memory.ts";
import { history, listen, openKit, said } from "../testing/session-kit.ts";
import { tool } from "../tool/tool.ts";

const input = jsonSchema<{ n?: number }>({ type: "object", properties: { n: { type: "number" } } });

describe("a call that needs approval", () => {
  test("Q3: waits for a person; approved in another process it runs once, and the model is called once", async () => {
    const ran: unknown[] = [];
    const pay = tool({
      name: "pay",
      description: "",
      input,
      needsApproval: true,
      execute: (args) => ran.push(args) && "paid",
    });
    const free = tool({ name: "free", description: "", input, execute: () => "free" });
    const store = memoryStore();
    const kit = await openKit(
      [
        [
          { call: "pay", id: "p", args: { n: 1 } },
          { call: "free", id: "f" },
        ],
      ],
      { store, tools: [pay, free] },
    );
    const heard = listen(kit.session.run("go"));
    const events = said(await heard.all);
    expect(events).toMatchInlineSnapshot(`
      [
        "state initialized",
        "run-start",
        "state running",
        "message user: go",
        "turn-start 1",
        "message assistant: call p + call f",
        "asks approval pay",
        "tool-start f",
        "tool-end f ok",
        "turn-end 1",
        "state paused tool_interrupt",
      ]
    `);
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    const other = await openKit(["done"], { store, tools: [pay, free] });
    const [request] = other.session.interrupts;
    expect(await other.session.answer(request!.id, approve({ by: "ann", args: { n: 2 } }))).toEqual({ open: 0 });
    const after = listen(other.session.resume());
    expect(said(await after.all)).toMatchInlineSnapshot(`
      [
        "state running continue",
        "turn-start 2",
        "text done",
        "message assistant: done",
        "turn-end 2",
        "run-end completed",
        "state completed",
      ]
    `);
    expect(ran).toEqual([{ n: 2 }]);
    expect(history(other.session.messages)).toMatchInlineSnapshot(`
      [
        "user: go",
        "assistant: call p + call f",
        "tool: p ok + f ok",
        "assistant: done",
      ]
    `);
    expect(other.requests.length).toBe(1);
  });

  test("ask and steps", async () => {
    const did: string[] = [];
    const ask = tool({
      name: "ask",
      description: "",
      input,
      execute: async (_a, ctx) => {
        const a = await ctx.step("one", () => {
          did.push("one");
          return 1;
        });
        const name = await ctx.ask(humanInput("name?"));
        const b = await ctx.step("two", () => {
          did.push("two");
          return 2;
        });
        return `${name} ${a + b}`;
      },
    });
    const store = memoryStore();
    const kit = await openKit([[{ call: "ask", id: "a" }], "ok"], { store, tools: [ask] });
    const heard = listen(kit.session.run("go"));
    expect(said(await heard.all)).toMatchInlineSnapshot(`
      [
        "state initialized",
        "run-start",
        "state running",
        "message user: go",
        "turn-start 1",
        "message assistant: call a",
        "tool-start a",
        "step one",
        "asks input ask#0",
        "turn-end 1",
        "state paused tool_interrupt",
      ]
    `);
    const [request] = kit.session.interrupts;
    const run = kit.session.resume({ answers: { [request!.id]: respond("bob") } });
    expect(said(await listen(run).all)).toMatchInlineSnapshot(`
      [
        "answered respond by user",
        "state running continue",
        "turn-start 1",
        "step two",
        "tool-end a ok",
        "turn-end 1",
        "turn-start 2",
        "text ok",
        "message assistant: ok",
        "turn-end 2",
        "run-end completed",
        "state completed",
      ]
    `);
    expect(did).toEqual(["one", "two"]);
    const kit2 = await openKit([[{ call: "ask", id: "a2" }]], { store, tools: [ask], threadId: "t2" } as never);
    await kit2.session.run("go").result;
    did.length = 0;
    const kit3 = await openKit(["fine"], { store, tools: [ask], threadId: "t2" } as never);
    const [r2] = kit3.session.interrupts;
    await kit3.session.answer(r2!.id, reject("no"));
    expect((await kit3.session.resume().result).status).toBe("completed");
    expect(did).toEqual([]);
    expect(history(kit3.session.messages)).toMatchInlineSnapshot(`
      [
        "user: go",
        "assistant: call a2",
        "tool: a2 error",
        "assistant: fine",
      ]
    `);
  });
});
