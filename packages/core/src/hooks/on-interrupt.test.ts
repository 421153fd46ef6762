import { factsOf, history, listen, openKit, said, until } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { isFact } from "../event.ts";
import {
  agent,
  createRunner,
  type Fact,
  humanInput,
  jsonSchema,
  type LogEntry,
  memoryStore,
  messageText,
  respond,
  sequential,
  tool,
} from "../index.ts";
import { fakeClock, scriptedModel } from "../testing/index.ts";

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

describe("onInterrupt", () => {
  test("A2, A3, W5: it gets the input and the reason of the stop; its words are shown, recorded, flagged, given back, and sent to no model", async () => {
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

  test("E1, W5: its words belong to the stopped segment, live and on record, also if another process has resumed meanwhile", async () => {
    const store = memoryStore();
    const asking = tool({
      name: "asks",
      description: "Asks",
      input: jsonSchema<object>({ type: "object" }),
      execute: async (_, ctx) => [await ctx.ask(humanInput("One?")), await ctx.ask(humanInput("Two?"))],
    });
    const open = () => {
      const model = scriptedModel([[{ call: "asks", id: "c1" }]]);
      const root = agent({ name: "helper", model, tools: [asking], hooks: { onInterrupt: () => "As you like." } });
      return createRunner({ agent: root, store }).open("thread");
    };
    const session = await open();
    const heard: Fact[] = [];
    void (async () => {
      for await (const event of session.events()) if (isFact(event)) heard.push(event);
    })();
    await session.run("go").result;
    const other = await open();
    const answers = { [other.interrupts[0]!.id]: respond("1") };
    expect((await other.resume({ answers }).result).status).toBe("interrupted");
    expect((await session.interrupt()).accepted).toBe(true);
    const facts = await factsOf(store);
    await until(() => heard.length === facts.length);
    const words = facts.find((fact) => fact.type === "message" && fact.message.isInterrupted)!;
    expect(words).toMatchObject({ segment: 2, message: { id: `${words.runId}.h2.0` } });
    expect(heard[words.seq - 1]).toEqual(words);
    await session.close();
    await other.close();
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

  test("A9, W5: one that throws keeps no stop from its receipt, and no word from the record", async () => {
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

test("W5: the signal of onInterrupt fires when the stop waits no longer, not before", async () => {
  const clock = fakeClock();
  const seen: boolean[] = [];
  let late: AbortSignal | undefined;
  const { session } = await openKit([[{ text: "well " }, { stall: true }]], {
    clock,
    agent: {
      hooks: {
        onInterrupt: ({ signal }) => {
          seen.push(signal.aborted);
          late = signal;
          return new Promise(() => {});
        },
      },
    },
    runner: { log: () => {} },
  });
  const run = session.run("go");
  await listen(run).until(({ type }) => type === "text-delta");
  const stopped = session.interrupt({ graceMs: 100 });
  await until(() => seen.length > 0);
  await clock.advance(99);
  expect([seen, late?.aborted]).toEqual([[false], false]);
  await clock.advance(1);
  expect(await stopped).toMatchObject({ accepted: true });
  expect(late?.aborted).toBe(true);
});
