import { history, type Kit, listen, openKit, said, unpaired } from "@belay/testkit";
import { expect, it } from "vitest";
import { definitionOf, published } from "../../agent.ts";
import { createRunner, jsonSchema, tool } from "../../index.ts";
import { CONTINUE_NOTE } from "../../journal/render.ts";

function counter() {
  let runs = 0;
  const execute = () => ++runs;
  const count = tool({ name: "count", description: "", input: jsonSchema({ type: "object" }), execute });
  return { count, runs: () => runs };
}

const call = (id: string) => [{ call: "count", id }];
const broken = { throw: new Error("broken") };

async function resumed(kit: Kit) {
  const heard = listen(kit.session.resume());
  const events = await heard.all;
  expect(unpaired(events)).toEqual([]);
  return said(events);
}

it("S7, R2: resume() after MODEL_FAILED goes through initialized and repeats only the failed call", async () => {
  const { count, runs } = counter();
  const kit = await openKit([call("a"), [broken], "ok"], { tools: [count] });
  const failed = await kit.session.run("go").result;
  expect(failed).toMatchObject({ status: "failed", error: { code: "MODEL_FAILED" }, segment: 1 });
  expect(history(kit.session.messages)).toEqual(["user: go", "assistant: call a", "tool: a ok"]);
  expect(await resumed(kit)).toEqual([
    "state initialized",
    "run-start",
    "state running continue",
    "turn-start 2",
    "superseded, attempt 2",
    "text ok",
    "message assistant: ok",
    "turn-end 2",
    "run-end completed",
    "state completed",
  ]);
  expect(runs()).toBe(1);
  expect(kit.requests[2]!.messages).toEqual(kit.requests[1]!.messages);
  expect(kit.problems()).toEqual([]);
});

it("S7: text streamed before the error is kept; resume() continues at it, without the tag in the end", async () => {
  const kit = await openKit([[{ text: "Hel" }, broken], "lo"]);
  await kit.session.run("go").result;
  expect(history(kit.session.messages)).toEqual(["user: go", "assistant~error: Hel"]);
  expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "Hello", segment: 2 });
  expect(kit.requests[1]!.messages.at(-1)).toMatchObject({ role: "user", parts: [{ text: CONTINUE_NOTE }] });
  expect(history(kit.session.messages)).toEqual(["user: go", "assistant: Hello"]);
  expect(kit.problems()).toEqual([]);
});

it("H2: a new run after the error shows the model that its answer was cut off by an error", async () => {
  const kit = await openKit([[{ text: "Hel" }, broken], "ok"]);
  await kit.session.run("go").result;
  await kit.session.run("once more").result;
  expect(kit.requests[1]!.messages[1]!.parts).toEqual([
    { type: "text", text: "Hel" },
    { type: "text", text: "\n[cut off by an error]" },
  ]);
  expect(kit.problems()).toEqual([]);
});

it("S7: calls of an answer that an error ended are dropped, they never run", async () => {
  const { count, runs } = counter();
  const kit = await openKit([[{ text: "Let me" }, { call: "count", id: "a" }, broken], "ok"], { tools: [count] });
  await kit.session.run("go").result;
  expect(history(kit.session.messages)).toEqual(["user: go", "assistant~error: Let me"]);
  await kit.session.resume().result;
  expect(runs()).toBe(0);
  expect(kit.problems()).toEqual([]);
});

it("S7: reasoning alone is not kept of a failed answer, and the next try voids what readers saw of it", async () => {
  const kit = await openKit([[{ reasoning: "hm", signature: "s" }, broken], "ok"]);
  await kit.session.run("go").result;
  expect(history(kit.session.messages)).toEqual(["user: go"]);
  expect(await resumed(kit)).toContain("superseded, attempt 2");
  expect(kit.requests[1]).toEqual(kit.requests[0]);
});

it("E2, Y6: MAX_TURNS is a failure with its code, not a stop; all calls have their results; resume() grants as many again", async () => {
  const { count, runs } = counter();
  const kit = await openKit([call("a"), call("b"), call("c"), "ok"], { tools: [count], agent: { maxTurns: 2 } });
  const failed = await kit.session.run("go").result;
  expect(failed).toMatchObject({
    status: "failed",
    error: { code: "MAX_TURNS", message: expect.stringContaining("2 turns") },
  });
  expect(kit.session).toMatchObject({ state: "error", pauseType: undefined });
  expect(runs()).toBe(2);
  expect(await resumed(kit)).toEqual([
    "state initialized",
    "run-start",
    "state running continue",
    "turn-start 3",
    "message assistant: call c",
    "tool-start c",
    "tool-end c ok",
    "turn-end 3",
    "turn-start 4",
    "text ok",
    "message assistant: ok",
    "turn-end 4",
    "run-end completed",
    "state completed",
  ]);
  expect(runs()).toBe(3);
  expect(kit.problems()).toEqual([]);
});

it("E2: MAX_TURNS holds for each segment after an error, not for the whole run; a pause grants no turns", async () => {
  const { count, runs } = counter();
  const kit = await openKit(() => [{ call: "count" }], { tools: [count], agent: { maxTurns: 3 } });
  const run = kit.session.run("go");
  await listen(run).until((event) => event.type === "tool-end");
  await kit.session.pause();
  const before = runs();
  expect(await kit.session.resume().result).toMatchObject({ error: { code: "MAX_TURNS" } });
  expect(before).toBeGreaterThan(0);
  expect(runs()).toBe(3);
  expect(await kit.session.resume().result).toMatchObject({ error: { code: "MAX_TURNS" } });
  expect(runs()).toBe(6);
  expect(await kit.session.run("again").result).toMatchObject({ error: { code: "MAX_TURNS" } });
  expect(runs()).toBe(9);
  expect(kit.problems()).toEqual([]);
});

it("E2: MAX_TOKENS keeps the text, tagged; resume() lets the model continue", async () => {
  const kit = await openKit([[{ text: "Once upon" }, { finish: "length" }], " a time"]);
  const failed = await kit.session.run("tell").result;
  expect(failed).toMatchObject({ status: "failed", error: { code: "MAX_TOKENS" } });
  expect(kit.session.messages[1]).toMatchObject({
    finish: "length",
    interrupted: { by: "error", reason: "MAX_TOKENS" },
  });
  expect(await kit.session.resume().result).toMatchObject({
    status: "completed",
    text: "Once upon a time",
    finish: "stop",
  });
  expect(history(kit.session.messages)).toEqual(["user: tell", "assistant: Once upon a time"]);
  expect(kit.problems()).toEqual([]);
});

for (const [what, parts] of [
  ["reasoning", [{ reasoning: "hm", signature: "s" }]],
  [
    "reasoning and a call",
    [
      { reasoning: "hm", signature: "s" },
      { call: "count", id: "a" },
    ],
  ],
  ["a call", [{ call: "count", id: "a" }]],
  ["blanks", [{ text: " \n" }]],
  ["nothing", []],
] as const) {
  it(`E2, H1: MAX_TOKENS with ${what} only: the next try has the whole question again`, async () => {
    const { count, runs } = counter();
    const kit = await openKit([[...parts, { finish: "length" }], "ok"], { tools: [count] });
    expect(await kit.session.run("tell").result).toMatchObject({ error: { code: "MAX_TOKENS" } });
    expect(history(kit.session.messages)).toEqual(["user: tell"]);
    await kit.session.resume().result;
    expect(kit.requests[1]!.messages).toEqual(kit.requests[0]!.messages);
    expect(runs()).toBe(0);
    expect(kit.problems()).toEqual([]);
  });
}

it("R1: resume({ input }) after an error appends it and asks again, in the same run", async () => {
  const kit = await openKit([[broken], "ok"]);
  const { runId } = await kit.session.run("go").result;
  const run = kit.session.resume({ input: "try harder" });
  expect(run).toMatchObject({ runId, segment: 2 });
  expect(await run.result).toMatchObject({ status: "completed" });
  expect(history(kit.session.messages)).toEqual(["user: go", "user: try harder", "assistant: ok"]);
});

it("R5: an error spends the handle of the pause before it", async () => {
  const kit = await openKit([[{ stall: true }], [broken], "ok"]);
  const run = kit.session.run("go");
  listen(run);
  await new Promise((resolve) => setImmediate(resolve));
  await kit.session.interrupt();
  const result = await run.result;
  if (result.status !== "interrupted") throw new Error("not interrupted");
  await kit.session.resume().result;
  await expect(kit.runner.resume(result.handle)).rejects.toMatchObject({ code: "TOKEN_SPENT" });
  expect((await kit.session.resume().result).status).toBe("completed");
});

it("D34: an agent with code that throws is AGENT_FAILED, and resume() tries again", async () => {
  const kit = await openKit(["ok"]);
  let broke = false;
  const definition = definitionOf(kit.session.agent);
  const agent = published({
    ...definition,
    name: "own",
    run: (frame) => {
      if (broke) return definition.run(frame);
      broke = true;
      throw new Error("bug");
    },
  });
  const session = await createRunner({ agent }).open("own");
  expect(await session.run("go").result).toMatchObject({
    status: "failed",
    error: { code: "AGENT_FAILED", message: expect.stringContaining("bug") },
  });
  expect((await session.resume().result).status).toBe("completed");
});
