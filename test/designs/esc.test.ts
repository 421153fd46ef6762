// The ESC mechanism of a TypeScript CLI: a cancelled result at each of its five points of cancellation.

import { agent, createRunner, type RunResult, type Session } from "@belay/core";
import { promptProblems, scriptedModel } from "@belay/core/testing";
import { describe, expect, test } from "vitest";
import { history, isText, toolOf, until } from "./kit.ts";

function setUp(turns: Parameters<typeof scriptedModel>[0], execute: () => unknown = () => "done") {
  const model = scriptedModel(turns);
  const work = toolOf("work", execute);
  const runner = createRunner({ agent: agent({ name: "a", model, tools: [work] }) });
  return { model, runner };
}

/** The result of a cancelled execution, as the design names its fields. */
function cancelled(result: RunResult, session: Session) {
  return {
    success: result.status === "completed",
    cancelled: result.status === "interrupted" && result.interruptType === "user_interrupt",
    loopCount: session.messages.filter(({ role }) => role === "assistant").length,
  };
}

const call = { call: "work", args: {}, id: "w" };

describe("ESC, the five points of cancellation", () => {
  test("1: at the beginning of the loop: no model is called", async () => {
    const { model, runner } = setUp(["never"]);
    const session = await runner.open();
    const run = session.run("go");
    const stopped = session.interrupt();
    expect(await stopped).toMatchObject({ accepted: true, partialText: "" });
    expect(cancelled(await run.result, session)).toEqual({ success: false, cancelled: true, loopCount: 0 });
    expect(model.requests).toHaveLength(0);
    await runner.close();
  });

  test("2: after the context is there and before the model: the hook that reads it stops, and no model is called", async () => {
    const model = scriptedModel(["never"]);
    let session: Session | undefined;
    const beforeModel = () => void session?.interrupt();
    const runner = createRunner({ agent: agent({ name: "a", model, hooks: { beforeModel } }) });
    session = await runner.open();
    const run = session.run("go");
    expect(cancelled(await run.result, session)).toEqual({ success: false, cancelled: true, loopCount: 0 });
    expect(model.requests).toHaveLength(0);
    await runner.close();
  });

  test("3: during and after the model call: the text is kept, no tool starts", async () => {
    let ran = 0;
    const { runner } = setUp([[{ text: "I work." }, call, { stall: true }], "next"], () => ++ran);
    const session = await runner.open();
    const run = session.run("go");
    await until(run, isText);
    expect(await session.interrupt()).toMatchObject({ accepted: true, partialText: "I work." });
    expect(cancelled(await run.result, session)).toEqual({ success: false, cancelled: true, loopCount: 1 });
    expect(ran).toBe(0);
    await runner.close();
  });

  test("4: after a tool: its result is kept, and no further model call is made", async () => {
    const { model, runner } = setUp([[call], "next"]);
    const session = await runner.open();
    const run = session.run("go");
    await until(run, ({ type }) => type === "turn-start");
    await session.interrupt({ mode: "after-tools" });
    expect(cancelled(await run.result, session)).toEqual({ success: false, cancelled: true, loopCount: 1 });
    expect(history(session.messages)).toEqual(["user: go", "assistant calls work", "tool: ok"]);
    expect(model.requests).toHaveLength(1);
    await runner.close();
  });

  test("5: an error that is thrown because of the abort is a cancellation, not an error", async () => {
    const { runner } = setUp([[call], "next"], () => new Promise(() => {}));
    const session = await runner.open();
    const run = session.run("go");
    await until(run, ({ type }) => type === "tool-start");
    await session.interrupt({ graceMs: 0 });
    expect(cancelled(await run.result, session)).toEqual({ success: false, cancelled: true, loopCount: 1 });
    expect(session.state).toBe("paused");
    await runner.close();
  });

  test("the completed work of the cancelled turn stays: the next message sees it, and the history is valid", async () => {
    const { model, runner } = setUp([[call], [{ text: "Half" }, { stall: true }], "whole"]);
    const session = await runner.open();
    const run = session.run("go");
    await until(run, isText);
    await session.interrupt();
    await session.run("and now?").result;
    const sent = model.requests.at(-1)!.messages;
    expect(promptProblems(sent)).toEqual([]);
    expect(history(sent)[2]).toBe("tool: ok");
    expect(history(sent).at(-1)).toBe("user: and now?");
    await runner.close();
  });

  test("without an execution ESC does nothing, once and twice", async () => {
    const { runner } = setUp(["x"]);
    const session = await runner.open();
    expect(await session.interrupt()).toMatchObject({ accepted: false });
    expect(await session.interrupt()).toMatchObject({ accepted: false });
    await runner.close();
  });
});
