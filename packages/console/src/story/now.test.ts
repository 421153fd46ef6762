import { agent, createRunner, END, graph, jsonSchema, type Runner, START, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { expect, test } from "vitest";
import { nowOf } from "./now.ts";

type AnyRunner = Runner<unknown, unknown>;
const input = jsonSchema<object>({ type: "object" });

async function now(runner: AnyRunner, last = 16) {
  const { state, pauseType, head } = (await runner.look("t"))!;
  const { items } = await runner.journal("t", { after: Math.max(0, head - last) });
  return nowOf(items, state, pauseType);
}

const runnerOf = (model: Parameters<typeof scriptedModel>[0], tools: ReturnType<typeof tool>[] = []) =>
  createRunner({
    agent: agent({ name: "clerk", model: scriptedModel(model), instructions: "", tools }),
  }) as unknown as AnyRunner;

test("a stopped thread says by whom, why, and how many calls are held", async () => {
  let begun = () => {};
  const inTool = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const slow = tool({
    name: "slow",
    description: "Waits.",
    input,
    serial: true,
    execute: (_args, { signal }) => {
      begun();
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  const runner = runnerOf([[{ call: "slow", args: {} }, { call: "slow", args: {} }]], [slow]); // biome-ignore format: one line
  const run = await runner.start("t", "Go.");
  await inTool;
  expect(await now(runner)).toMatchObject({ is: "running", turn: 1, tools: ["slow"], since: expect.any(Number) });
  await runner.interrupt("t", { by: "ben", reason: "wrong region\nand more" });
  await run.result;
  expect(await now(runner)).toEqual({ is: "stopped", by: "ben", why: "wrong region", held: 1 });
  await runner.close();
});

test("a running thread is in the turn of its model; what came before its last facts is not needed", async () => {
  let turns = 0;
  const look = tool({ name: "look", description: "Looks.", input, readOnly: true, execute: () => "seen" });
  const runner = runnerOf(() => {
    turns += 1;
    return turns < 4 ? [{ call: "look", args: {} }] : [{ text: "So " }, { stall: true }];
  }, [look]);
  const run = await runner.start("t", "Go.");
  for await (const event of run) if (event.type === "text-delta") break;
  expect(await now(runner)).toMatchObject({ is: "running", turn: 4, tools: [] });
  const few = await now(runner, 4);
  expect(few).toMatchObject({ is: "running", turn: 4, tools: [] });
  expect(few).not.toHaveProperty("since");
  await runner.interrupt("t");
  await run.result;
  await runner.close();
});

test("a failed thread has its code and the first line of its error; a completed one the first words of its answer", async () => {
  const fails = runnerOf(() => {
    throw new Error("overloaded\nat the provider");
  });
  await (await fails.start("t", "Go.")).result;
  expect(await now(fails)).toMatchObject({ is: "failed", code: expect.stringMatching(/^MODEL_/) });
  expect(await now(fails)).toMatchObject({ words: expect.not.stringContaining("\n") });
  await fails.close();
  const ends = runnerOf(["## The answer\n\nis **41**."]);
  await (await ends.start("t", "Go.")).result;
  expect(await now(ends)).toEqual({ is: "completed", words: "The answer" });
  await ends.close();
});

test("a graph at rest says before or after which node", async () => {
  const offer = graph<Record<string, never>, object>("offer")
    .node("send", async () => ({ sent: true }))
    .edge(START, "send")
    .edge("send", END)
    .compile({ state: {}, interruptBefore: ["send"] });
  const runner = createRunner({ agent: offer }) as unknown as AnyRunner;
  await (await runner.start("t", "Go.")).result;
  expect(await now(runner)).toEqual({ is: "node", where: "before", nodes: ["send"] });
  await runner.close();
});

test("facts of another moment than the list tell nothing", async () => {
  const runner = runnerOf(["Done."]);
  await (await runner.start("t", "Go.")).result;
  const { items } = await runner.journal("t");
  expect(nowOf(items, "running", undefined)).toBeUndefined();
  expect(nowOf(items, "paused", "crash")).toBeUndefined();
  expect(nowOf(items.slice(0, 4), "completed", undefined)).toBeUndefined();
  await runner.close();
});
