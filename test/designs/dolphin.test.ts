// The user interrupt of the Dolphin SDK: its appendix A (the whole way of an ESC) and B (the list of messages).

import { agent, createRunner, memoryStore, type ToolContext, UserInterrupt } from "@belay/core";
import { promptProblems, scriptedModel } from "@belay/core/testing";
import { describe, expect, test } from "vitest";
import { history, isText, toolOf, until } from "./kit.ts";

const files = toolOf("list_files", () => "src/\n  main.py\n  utils.py");

/** The conversation of the appendix: it looks at the files, and is stopped in mid-answer. */
const analysis = () =>
  scriptedModel([
    [{ text: "Let me look at the files first…" }, { call: "list_files", args: {}, id: "ls" }],
    [{ text: "The files are as follows…" }, { stall: true }],
    "I see: I look at the security first.",
  ]);

describe("Dolphin, appendix A: the whole way of an interrupt", () => {
  test("ESC sets the signal, the run stops at once, the agent is paused by the user, and the next input continues the same conversation", async () => {
    const model = analysis();
    const runner = createRunner({ agent: agent({ name: "explore", model, tools: [files] }) });
    const session = await runner.open();
    // 1 to 4: it runs, and its chunks arrive. (The token between the keys and the session is the terminal's.)
    const run = session.run("Analyse this repository");
    await until(run, (event) => isText(event) && event.type === "text-delta" && event.text.startsWith("The files"));
    // 5, 6, 7: ESC.
    const receipt = session.interrupt();
    expect(session.state).toBe("running");
    expect(await receipt).toMatchObject({ accepted: true, partialText: "The files are as follows…" });
    // 8: paused by the user.
    expect(await run.result).toMatchObject({
      status: "interrupted",
      interruptType: "user_interrupt",
      interrupts: [{ kind: "user", reason: "general" }],
    });
    expect(session).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
    // 9, 10, 11, 12: the person types, and the model reads all of it.
    expect(await session.resumeWithInput("Look at the security first").result).toMatchObject({
      status: "completed",
      text: "I see: I look at the security first.",
    });
    expect(model.requests).toHaveLength(3);
    await runner.close();
  });

  test("a tool that looks at its own checkpoint gets UserInterrupt, with the time, the reason and the text that was shown", async () => {
    let met: unknown;
    const crawl = toolOf("crawl", async (_args, ctx: ToolContext) => {
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        try {
          ctx.checkInterrupt();
        } catch (error) {
          met = error;
          throw error;
        }
      }
    });
    const model = scriptedModel([[{ text: "I crawl." }, { call: "crawl", args: {}, id: "c" }]]);
    const runner = createRunner({ agent: agent({ name: "explore", model, tools: [crawl] }) });
    const session = await runner.open();
    const run = session.run("go");
    await until(run, ({ type }) => type === "tool-start");
    await session.interrupt({ reason: "add_info" });
    expect(met).toBeInstanceOf(UserInterrupt);
    expect(met).toMatchObject({ code: "USER_INTERRUPT", reason: "add_info", partialText: "I crawl." });
    expect((met as UserInterrupt).interruptedAt).toBeGreaterThan(Date.UTC(2024));
    await runner.close();
  });
});

describe("Dolphin, appendix B: the messages before and after", () => {
  test("the cut answer stays the last message; the new instruction follows it; the model reads the whole list", async () => {
    const model = analysis();
    const store = memoryStore();
    const root = () => agent({ name: "explore", model, tools: [files] });
    const first = createRunner({ agent: root(), store });
    const session = await first.open("t");
    const run = session.run("Analyse this repository");
    await until(run, (event) => event.type === "text-delta" && event.text.startsWith("The files"));
    await session.interrupt();
    const before = [
      "user: Analyse this repository",
      "assistant: Let me look at the files first…",
      "assistant calls list_files",
      "tool: ok",
      "assistant: The files are as follows…",
    ];
    expect(history(session.messages)).toEqual(before);
    expect(session.messages.at(-1)).toMatchObject({ interrupted: { by: "user" } });
    await first.close();

    // Another process resumes.
    const second = createRunner({ agent: root(), store });
    const again = await second.open("t");
    await again.resume({ input: "Look at the security first" }).result;
    expect(history(again.messages)).toEqual([
      ...before,
      "user: Look at the security first",
      "assistant: I see: I look at the security first.",
    ]);
    const sent = model.requests[2]!.messages;
    expect(promptProblems(sent)).toEqual([]);
    expect(history(sent).at(-1)).toBe("user: Look at the security first");
    expect(history(sent).at(-2)).toMatch(/^assistant: The files are as follows…/);
    await second.close();
  });
});
