import { describe, expect, test } from "vitest";
import { agent } from "../chat/agent.ts";
import type { LogEntry } from "../log.ts";
import { messageText } from "../message.ts";
import { createRunner } from "../runner/runner.ts";
import { jsonSchema } from "../schema/schema.ts";
import { eachStore } from "../testing/each-store.ts";
import { interruptAnywhere } from "../testing/interrupt-anywhere.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { gate, history, listen, openKit, said, unpaired } from "../testing/session-kit.ts";
import { speak } from "../testing/speak.ts";
import { tool } from "../tool/tool.ts";
import { agentTool } from "../workflow/agent-tool.ts";
import { sequential } from "../workflow/sequential.ts";
import type { HookName, Hooks } from "./hooks.ts";

const work = (ran: string[] = []) =>
  tool({
    name: "work",
    description: "Works",
    input: jsonSchema<object>({ type: "object" }),
    execute: () => {
      ran.push("ran");
      return "worked";
    },
  });

const turns = [[{ text: "Let me see. " }, { call: "work", id: "c1" }], "done", "done"] as const;

/** A hook that hangs the first time, and never ends. */
function hanging(name: HookName) {
  const begun = gate();
  let times = 0;
  const hook = () => {
    times += 1;
    if (times > 1) return undefined;
    begun.open();
    return new Promise<never>(() => {});
  };
  return { hooks: { [name]: hook }, begun: begun.opened, times: () => times };
}

describe("a hook that hangs does not hold up a stop", () => {
  for (const name of ["beforeModel", "afterModel", "beforeTool", "afterTool"] as const) {
    test(`W5, S1: ${name}`, async () => {
      const ran: string[] = [];
      const { hooks, begun } = hanging(name);
      const { session, problems } = await openKit([...turns], { tools: [work(ran)], agent: { hooks } });
      const run = session.run("go");
      const events = listen(run);
      await begun;
      const receipt = await session.interrupt();
      expect(receipt.accepted).toBe(true);
      expect((await run.result).status).toBe("interrupted");
      await events.all;
      expect(unpaired(events.events)).toEqual([]);
      expect((await session.resume().result).status).toBe("completed");
      expect(ran).toEqual(["ran"]);
      expect(problems()).toEqual([]);
    });
  }

  test("W5: afterReply: the reply is whole, and stays so", async () => {
    const { hooks, begun } = hanging("afterReply");
    const { session } = await openKit([...turns], { tools: [work()], agent: { hooks } });
    const run = session.run("go");
    await begun;
    expect((await session.interrupt()).accepted).toBe(false);
    expect(await run.result).toMatchObject({ status: "completed", text: "done" });
  });

  test("W5: beforeReply: after its grace the reply has never begun, and nothing is recorded that it has not seen", async () => {
    const { hooks, begun } = hanging("beforeReply");
    const { session } = await openKit([...turns], { tools: [work()], agent: { hooks } });
    const run = session.run("secret");
    await begun;
    expect((await session.interrupt({ graceMs: 5 })).accepted).toBe(true);
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "USER_INTERRUPT" } });
    expect([session.state, session.messages]).toEqual(["created", []]);
    expect((await session.run("go").result).status).toBe("completed");
  });

  test("W5, S1: a beforeReply that ends within its grace is recorded, and then stopped", async () => {
    const begun = gate();
    const go = gate();
    const { session, requests } = await openKit([...turns], {
      tools: [work()],
      agent: {
        hooks: {
          beforeReply: async () => {
            begun.open();
            await go.opened;
            return "seen";
          },
        },
      },
    });
    const run = session.run("go");
    await begun.opened;
    const receipt = session.interrupt();
    go.open();
    expect((await receipt).accepted).toBe(true);
    expect((await run.result).status).toBe("interrupted");
    expect([history(session.messages), requests.length]).toEqual([["user: seen"], 0]);
  });

  test("W5, S4: onInterrupt: the stop is recorded after its grace, without it, and the log is told", async () => {
    const log: LogEntry[] = [];
    const { hooks } = hanging("onInterrupt");
    const { session } = await openKit([[{ text: "One " }, { stall: true }]], {
      agent: { hooks },
      runner: { log: (entry) => void log.push(entry) },
    });
    const run = session.run("go");
    const events = listen(run);
    await events.until(({ type }) => type === "text-delta");
    const receipt = await session.interrupt({ graceMs: 5 });
    expect(receipt).toMatchObject({ accepted: true, partialText: "One " });
    expect(history(session.messages)).toEqual(["user: go", "assistant~user: One "]);
    expect(log.map(({ error }) => error.message)).toEqual([
      "Hook onInterrupt of agent helper failed: it took longer than the stop could wait",
    ]);
  });
});

test("W5, S1: a hook that hangs again when the call goes on is stopped again, and every turn has its end", async () => {
  let hangs = true;
  let begun = gate();
  const ran: string[] = [];
  const { session } = await openKit([...turns], {
    tools: [work(ran)],
    agent: {
      hooks: {
        beforeTool: () => {
          begun.open();
          return hangs ? new Promise<never>(() => {}) : undefined;
        },
      },
    },
  });
  for (const next of [() => session.run("go"), () => session.resume()]) {
    begun = gate();
    const run = next();
    const events = listen(run);
    await begun.opened;
    expect((await session.interrupt()).notStarted).toEqual(["c1"]);
    await events.all;
    expect(unpaired(events.events)).toEqual([]);
  }
  hangs = false;
  await session.resume().result;
  expect(ran).toEqual(["ran"]);
});

test("W5, S6: a stop for later waits for onInterrupt no longer, either", async () => {
  const { hooks } = hanging("onInterrupt");
  const log: LogEntry[] = [];
  const { session } = await openKit([...turns], {
    tools: [work()],
    agent: { hooks },
    runner: { log: (entry) => void log.push(entry) },
  });
  const run = session.run("go");
  const receipt = await session.interrupt({ mode: "after-tools", graceMs: 5 });
  expect([receipt.accepted, (await run.result).status, log.length]).toEqual([true, "interrupted", 1]);
});

test("W5: a hook that stops the run from inside is a stop like any other", async () => {
  for (const name of ["beforeModel", "beforeTool", "afterTool"] as const) {
    const stop = gate<() => void>();
    let once = false;
    const hooks: Hooks = {
      [name]: async () => {
        if (once) return;
        once = true;
        (await stop.opened)();
      },
    };
    const { session } = await openKit([...turns], { tools: [work()], agent: { hooks } });
    stop.open(() => void session.interrupt());
    expect((await session.run("go").result).status).toBe("interrupted");
    expect((await session.resume().result).status).toBe("completed");
  }
});

describe("onInterrupt", () => {
  test("A2, A3, W5: it sees what was asked and why it was stopped; what it says is shown, recorded, flagged, given back, and sent to no model", async () => {
    const seen: unknown[] = [];
    const { session, requests, problems } = await openKit([[{ text: "One " }, { stall: true }], "two", "three"], {
      agent: {
        hooks: {
          onInterrupt({ interrupt, input, partialText }) {
            const { by, reason, message } = interrupt;
            seen.push({ by, reason, message, partialText, asked: "messages" in input && input.messages.length });
            return "I noticed that you stopped me. What can I do?";
          },
        },
      },
    });
    const run = session.run("go");
    const events = listen(run);
    await events.until(({ type }) => type === "text-delta");
    await session.interrupt({ reason: "add_info", message: "wait", by: "ann" });
    expect(seen).toEqual([{ by: "ann", reason: "add_info", message: "wait", partialText: "One ", asked: 1 }]);
    const result = await run.result;
    const words = { origin: "hook", isInterrupted: true, role: "assistant" };
    expect(result).toMatchObject({ status: "interrupted", partialText: "One ", said: [words] });
    expect(session.messages.at(-1)).toMatchObject(words);
    await events.all;
    expect(said(events.events).slice(-5)).toEqual([
      "message assistant~ann: One ",
      "turn-end 1",
      "message assistant: I noticed that you stopped me. What can I do?",
      "interrupted by ann",
      "state paused user_interrupt",
    ]);
    await session.resume().result;
    await session.run("more").result;
    expect(requests.flatMap(({ messages }) => messages.map(messageText)).join()).not.toContain("I noticed");
    expect(history(session.messages)).toEqual([
      "user: go",
      "assistant: One two",
      "assistant: I noticed that you stopped me. What can I do?",
      "user: more",
      "assistant: three",
    ]);
    expect(problems()).toEqual([]);
  });

  test("W5, S9: it speaks after a stop of a thread that only waits for people, too", async () => {
    const { session, problems } = await openKit([...turns], {
      tools: [{ ...work(), needsApproval: true } as never],
      agent: { hooks: { onInterrupt: () => ({ parts: [{ type: "text", text: "As you like." }] }) } },
    });
    await session.run("go").result;
    expect((await session.interrupt()).accepted).toBe(true);
    expect(history(session.messages)).toEqual([
      "user: go",
      "assistant: Let me see.  + call c1",
      "tool: c1 not-executed",
      "assistant: As you like.",
    ]);
    await session.run("else").result;
    expect(history(session.messages)).toEqual([
      "user: go",
      "assistant: Let me see.  + call c1",
      "tool: c1 not-executed",
      "assistant: As you like.",
      "user: else",
      "assistant: done",
    ]);
    expect(problems()).toEqual([]);
  });

  test("W5: each agent that was cut speaks in its own history; pause(), close() and terminate() are no interrupts", async () => {
    const spoken: string[] = [];
    const inner = agent({
      name: "inner",
      model: scriptedModel(() => [{ text: "deep " }, { stall: true }]),
      hooks: { onInterrupt: ({ runPath }) => void spoken.push(`inner ${runPath}`) },
    });
    const runner = createRunner({
      agent: sequential({ name: "all", agents: [inner] }),
      hooks: { onInterrupt: ({ runPath }) => `stopped ${runPath}` },
    });
    const session = await runner.open("t");
    const run = session.run("go");
    const events = listen(run);
    await events.until(({ type }) => type === "text-delta");
    await session.interrupt();
    await events.all;
    expect(spoken).toEqual(["inner all/0:inner"]);
    expect(session.messages.map(messageText)).toEqual(["go", "stopped all"]);
    const told = events.events.filter((event) => event.type === "message" && event.message.isInterrupted);
    expect(told.map(({ runPath }) => runPath)).toEqual(["all", "all/0:inner"]);
    await session.terminate();
    const other = await runner.open("u");
    const second = other.run("go");
    await listen(second).until(({ type }) => type === "text-delta");
    await other.terminate();
    expect((await second.result).status).toBe("terminated");
    expect(other.messages.some(({ isInterrupted }) => isInterrupted)).toBe(false);
  });

  test("A9, W5: one that throws keeps no stop from its receipt, nor what was said from its record", async () => {
    const log: LogEntry[] = [];
    const { session } = await openKit([[{ text: "One " }, { stall: true }]], {
      agent: {
        hooks: [
          { onInterrupt: () => "heard" },
          {
            onInterrupt: () => {
              throw new Error("no");
            },
          },
        ],
      },
      runner: { log: (entry) => void log.push(entry) },
    });
    const run = session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    expect((await session.interrupt()).accepted).toBe(true);
    expect(history(session.messages)).toEqual(["user: go", "assistant~user: One ", "assistant: heard"]);
    expect(log.map(({ error }) => error.code)).toEqual(["HOOK_FAILED"]);
  });
});

for (const { name: store, make } of eachStore) {
  test(`W5, F4 (${store}): what is on record fires no hook again, whoever goes on with it`, async () => {
    const calls: string[] = [];
    const names = ["beforeReply", "beforeModel", "beforeTool", "afterTool", "afterModel", "afterReply"] as const;
    const hooks = Object.fromEntries(names.map((name) => [name, () => void calls.push(name)])) as Hooks;
    const kept = await make();
    const script = [[{ call: "work", id: "c1" }], [{ text: "Now " }, { stall: true }]] as const;
    const first = await openKit([...script], { tools: [work()], store: kept, agent: { hooks } });
    const run = first.session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    await first.runner.close();
    const before = ["beforeReply", "beforeModel", "afterModel", "beforeTool", "afterTool", "beforeModel", "afterModel"];
    expect(calls).toEqual(before);
    calls.length = 0;
    const second = await openKit(["then"], { tools: [work()], store: kept, agent: { hooks } });
    await second.session.resume().result;
    expect(calls).toEqual(["beforeModel", "afterModel", "afterReply"]);
  });
}

test("W5, C2, H1: hooks that look on, change and speak, with every fault at every point", async () => {
  const report = await interruptAnywhere({
    agent: (kit) => {
      const book = tool({
        name: "book",
        description: "Books",
        input: jsonSchema<{ seats: number }>({ type: "object" }),
        repeatable: true,
        execute: ({ seats }, ctx) => {
          kit.effect(ctx.address);
          return `booked ${seats}`;
        },
      });
      const clerk = agent({
        name: "clerk",
        model: scriptedModel(({ messages }) => `${messages.length}`),
        hooks: { beforeReply: () => "changed", onInterrupt: () => "clerk stopped" },
      });
      return agent({
        name: "agent",
        model: scriptedModel((request) =>
          request.messages.some(({ role }) => role === "tool")
            ? speak("All done.")(request)
            : [
                { text: "Booking. " },
                { call: "book", args: { seats: 2 }, id: "b" },
                { call: "clerk", args: { request: "?" }, id: "k" },
              ],
        ),
        tools: [book, agentTool(clerk)],
        hooks: {
          beforeReply: async ({ input }) => ("messages" in input ? undefined : "x"),
          beforeModel: ({ request }) => ({ messages: request.messages }),
          afterModel: async () => {},
          beforeTool: async ({ tool }) => (tool === "book" ? { args: { seats: 3 } } : undefined),
          afterTool: ({ output }) => ({ output: `${output}!` }),
          afterReply: async () => {},
          onInterrupt: async () => "stopped",
        },
      });
    },
    input: "go",
    repeatable: () => true,
  });
  expect(report.problems).toEqual([]);
});

test("W5, Q5: a call that a hook changed and a person approves, with every fault at every point", async () => {
  const report = await interruptAnywhere({
    agent: (kit) => {
      const book = tool({
        name: "book",
        description: "Books",
        input: jsonSchema<{ seats: number }>({ type: "object" }),
        needsApproval: ({ seats }) => seats === 3,
        repeatable: true,
        execute: ({ seats }, ctx) => {
          kit.effect(ctx.address);
          return `booked ${seats}`;
        },
      });
      return agent({
        name: "agent",
        model: scriptedModel((request) => {
          const result = request.messages.flatMap(({ parts }) => parts).find(({ type }) => type === "result");
          if (result === undefined) return [{ call: "book", args: { seats: 2 }, id: "b" }];
          return speak("All done.")(request);
        }),
        tools: [book],
        hooks: { beforeTool: async () => ({ args: { seats: 3 } }), onInterrupt: async () => "stopped" },
      });
    },
    input: "go",
    repeatable: () => true,
  });
  expect(report.problems).toEqual([]);
});
