// The interrupt handling of AgentScope's ReAct agent: its sequence diagram, with broadcast, memory and chunks.

import { agent, createRunner, type HubOptions, hub, messageText, type ToolContext } from "@belay/core";
import { promptProblems, scriptedModel } from "@belay/core/testing";
import { describe, expect, test } from "vitest";
import { history, isText, toolOf, until } from "./kit.ts";

const handler = {
  onInterrupt: () => ({ text: "I noticed that you have interrupted me. What can I do?", remember: true }),
};

describe("AgentScope, the sequence diagram of an interrupt", () => {
  test("interrupt → the reply is cancelled → the handler's message is returned, stored, printed and broadcast", async () => {
    const printed: string[] = [];
    const friday = agent({
      name: "Friday",
      model: scriptedModel([[{ text: ["Let me ", "think"] }, { stall: true }], "Of course."]),
      hooks: { ...handler, onText: (delta) => void printed.push(delta) },
    });
    const other = scriptedModel(["Poor Friday."]);
    const runner = createRunner({ agents: [friday, agent({ name: "Monday", model: other })] });
    const session = await runner.open("friday", { agent: "Friday" });
    const monday = await runner.open("monday", { agent: "Monday" });
    const options: HubOptions = { interrupts: true };
    const subscribers = hub([session, monday], options);
    const run = session.run("What is 2 + 2?");
    await until(run, (event) => event.type === "text-delta" && event.text === "think");
    await session.interrupt();
    const result = await run.result;
    // Returned, not thrown, and flagged.
    expect(result).toMatchObject({
      status: "interrupted",
      partialText: "Let me think",
      said: [{ isInterrupted: true, parts: [{ text: "I noticed that you have interrupted me. What can I do?" }] }],
    });
    expect(printed).toEqual(["Let me ", "think"]);
    // Memory.
    expect(session.messages.map((message) => messageText(message))).toEqual([
      "What is 2 + 2?",
      "Let me think",
      "I noticed that you have interrupted me. What can I do?",
    ]);
    // Broadcast.
    await subscribers.settled();
    expect(history(monday.messages)).toEqual([
      "user: Friday: Let me think [interrupted by user] I noticed that you have interrupted me. What can I do?",
    ]);
    subscribers.close();
    await runner.close();
  });

  test("the next request reads the partial answer and the handler's words as memory, before the new message", async () => {
    const model = scriptedModel([[{ text: "Let me think" }, { stall: true }], "Four."]);
    const runner = createRunner({ agent: agent({ name: "Friday", model, hooks: handler }) });
    const session = await runner.open();
    const run = session.run("What is 2 + 2?");
    await until(run, isText);
    await session.interrupt();
    await session.run("Just the number").result;
    const sent = model.requests[1]!.messages;
    expect(promptProblems(sent)).toEqual([]);
    expect(history(sent)).toEqual([
      "user: What is 2 + 2?",
      expect.stringMatching(/^assistant: Let me think.*What can I do\?$/s),
      "user: Just the number",
    ]);
    await runner.close();
  });
});

describe("AgentScope, reasoning and acting", () => {
  test("calls of a cancelled reasoning get results that say so when the person goes another way", async () => {
    const model = scriptedModel([
      [{ text: "I search." }, { call: "search", args: {}, id: "s1" }, { call: "search", args: {}, id: "s2" }],
      "ok",
    ]);
    const search = toolOf("search", () => "found");
    const runner = createRunner({ agent: agent({ name: "Friday", model, tools: [search] }) });
    const session = await runner.open();
    const run = session.run("go");
    expect(await session.interrupt({ mode: "after-model" })).toMatchObject({ notStarted: ["s1", "s2"] });
    await run.result;
    await session.resume({ input: "leave it" }).result;
    expect(history(session.messages)).toEqual([
      "user: go",
      "assistant: I search.",
      "assistant calls search",
      "assistant calls search",
      "tool: not-executed",
      "tool: not-executed",
      "user: leave it",
      "assistant: ok",
    ]);
    await runner.close();
  });

  test("a tool that is cancelled in the middle of its chunks keeps them, and its result says that it was interrupted", async () => {
    const stream = toolOf("stream", async function* (_args: object, ctx: ToolContext) {
      yield "chunk 1";
      yield "chunk 2";
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
    } as never);
    const model = scriptedModel([[{ call: "stream", args: {}, id: "s" }], "ok"]);
    const runner = createRunner({ agent: agent({ name: "Friday", model, tools: [stream] }) });
    const session = await runner.open();
    const run = session.run("go");
    let chunks = 0;
    await until(run, ({ type }) => type === "tool-progress" && ++chunks === 2);
    await session.interrupt();
    const [part] = session.messages.at(-1)!.parts;
    expect(part).toMatchObject({ id: "s", outcome: "interrupted" });
    expect(JSON.stringify(part)).toContain("chunk 2");
    await runner.close();
  });

  test("an interrupted chunk: a tool that raises the interrupt itself stops the reply", async () => {
    const acting = toolOf("acting", (_args, ctx) => ctx.interrupt({ message: "the chunk says is_interrupted" }));
    const model = scriptedModel([[{ call: "acting", args: {}, id: "a" }], "ok"]);
    const runner = createRunner({ agent: agent({ name: "Friday", model, tools: [acting], hooks: handler }) });
    const session = await runner.open();
    expect(await session.run("go").result).toMatchObject({
      interruptType: "user_interrupt",
      interrupts: [{ by: "tool:acting", message: "the chunk says is_interrupted" }],
      said: [{ isInterrupted: true }],
    });
    await runner.close();
  });
});
