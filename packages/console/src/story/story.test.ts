import { emptyThread, foldThread, type ThreadView } from "@belay/client";
import { agent, createRunner, type Fact, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { expect, test } from "vitest";
import { type Row, storyOf } from "./story.ts";
import { chartOf, scaleOf } from "./timeline.ts";

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: jsonSchema<{ euros: number }>({
    type: "object",
    properties: { euros: { type: "number" } },
    required: ["euros"],
  }),
  needsApproval: true,
  execute: ({ euros }) => ({ paid: euros }),
});

/** A run that asks, is answered with other arguments, speaks, and is stopped in mid-sentence. */
async function facts(): Promise<readonly Fact[]> {
  const model = scriptedModel([
    [{ text: "I pay." }, { call: "pay", args: { euros: 900 } }],
    [{ text: ["Paid. ", "Now I "] }, { stall: true }],
  ]);
  const runner = createRunner({ agent: agent({ name: "clerk", model, instructions: "", tools: [pay] }) });
  const run = await runner.start("t", "Pay B.");
  await run.result;
  const session = await runner.open("t");
  const [ask] = session.interrupts;
  const resumed = session.resume({ answers: { [ask!.id]: { type: "approve", args: { euros: 90 }, by: "anna" } } });
  for await (const event of resumed) if (event.type === "text-delta" && event.text.includes("Now")) break;
  await session.interrupt({ by: "ben", reason: "enough" });
  const { items } = await runner.journal("t");
  await runner.close();
  return items;
}

const fold = (all: readonly Fact[]): ThreadView => all.reduce<ThreadView>(foldThread, emptyThread);
const kinds = (rows: readonly Row[]) =>
  rows.map((row) => (row.kind === "said" ? `${row.from}: ${row.text}` : row.kind));

test("a story has the rows of a thread in the order of its facts", async () => {
  const all = await facts();
  const rows = storyOf(all, fold(all));
  expect(kinds(rows)).toEqual(["person: Pay B.", "agent: I pay.", "resumed", "agent: Paid. Now I ", "stop"]);
  const [, asked, , cut, stop] = rows;
  expect(asked).toMatchObject({
    calls: [{ tool: "pay", args: { euros: 900 }, ranArgs: { euros: 90 }, decision: { by: "anna" } }],
  });
  expect(cut).toMatchObject({ cut: true });
  expect(stop).toMatchObject({
    last: true,
    stop: { by: "ben", reason: "enough", partialText: expect.stringContaining("Paid. Now I ") },
  });
});

test("a story of the last facts alone is the end of the whole story", async () => {
  const all = await facts();
  const tail = all.slice(all.findIndex(({ type, segment }) => type === "state" && segment === 2));
  const whole = kinds(storyOf(all, fold(all)));
  expect(kinds(storyOf(tail, fold(tail)))).toEqual(whole.slice(-3));
});

test("on a timeline each moment is right of the ones before it, with gaps folded or not", async () => {
  const all = (await facts()).map((fact) => (fact.segment === 2 ? { ...fact, at: fact.at + 3_600_000 } : fact));
  const chart = chartOf(all, fold(all), Date.now());
  expect(chart.gaps.length).toBe(1);
  for (const folds of [true, false]) {
    const places = all.map(({ at }) => scaleOf(chart, folds)(at));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(Math.min(...places)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...places)).toBeLessThanOrEqual(1);
  }
  const [gap] = chart.gaps;
  const x = scaleOf(chart, true);
  expect(x(gap!.to) - x(gap!.from)).toBeLessThan(0.1);
});

test("on a timeline an open request is waited for until now", async () => {
  const all = await facts();
  const asked = all.slice(
    0,
    all.findIndex(({ type }) => type === "request-answered"),
  );
  const now = asked.at(-1)!.at + 60_000;
  const chart = chartOf(asked, fold(asked), now);
  expect(chart.to).toBe(now);
  expect(chart.lanes.flatMap(({ bars }) => bars).find(({ kind }) => kind === "asks")).toMatchObject({ to: now });
  expect(chart.gaps).toMatchObject([{ to: now, person: true }]);
});
