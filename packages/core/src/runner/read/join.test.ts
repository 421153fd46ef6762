// Readers that join while a model speaks.

import { gate, listen, openKit, said, settle } from "@belay/testkit";
import { expect, test } from "vitest";
import type { BelayEvent } from "../../event.ts";
import type { Model, ModelEvent } from "../../index.ts";

/** Says each piece when the test lets it, and then ends. */
function spoken(pieces: readonly (ModelEvent | Error)[]) {
  const steps = pieces.map(() => gate());
  let next = 0;
  const model: Model = {
    id: "spoken",
    async *stream() {
      while (next < pieces.length) {
        const at = next++;
        await steps[at]!.opened;
        const piece = pieces[at]!;
        if (piece instanceof Error) throw piece;
        yield piece;
        if (piece.type === "finish") return;
      }
    },
  };
  return { model, say: (index: number) => steps[index]!.open() };
}

const text = (words: string): ModelEvent => ({ type: "text", text: words });
const finish: ModelEvent = { type: "finish", finish: "stop", usage: { inputTokens: 1, outputTokens: 1 } };
const deltas = (events: readonly BelayEvent[]) =>
  events.flatMap((event) =>
    event.type === "text-delta" || event.type === "reasoning-delta"
      ? [[event.type.slice(0, 4), event.offset, event.text, event.seq]]
      : [],
  );

test("L2: a reader that joins in mid-answer gets the facts, then the text so far at offset 0, then the rest", async () => {
  const { model, say } = spoken([{ type: "reasoning", text: "Hm" }, text("Hel"), text("lo "), text("you"), finish]);
  const { session, runner } = await openKit(model);
  const run = session.run("go");
  // No reader is present when these come.
  for (const i of [0, 1, 2]) say(i);
  await settle();
  const late = listen(runner.events("thread"));
  const ofRun = listen(run);
  const after = listen(session.events({ after: 3 }));
  await settle();
  for (const i of [3, 4]) say(i);
  await run.result;
  await runner.close();
  expect(said(await late.all)).toEqual([
    "state initialized",
    "run-start",
    "state running",
    "message user: go",
    "reasoning Hm",
    "text Hello ",
    "text you",
    "message assistant: reasoning + Hello you",
    "turn-end 1",
    "run-end completed",
    "state completed",
  ]);
  const joined = [
    ["reas", 0, "Hm", 4],
    ["text", 0, "Hello ", 4],
    ["text", 6, "you", 4],
  ];
  expect(deltas(await late.all)).toEqual(joined);
  expect(deltas(await ofRun.all)).toEqual(joined);
  expect(deltas(await after.all)).toEqual(joined);
});

test("L2: a reader that joins between two tries gets the failed text, and that it is superseded", async () => {
  const broken = Object.assign(new Error("cut"), { status: 503 });
  const { model, say } = spoken([text("First"), broken, text("Sec"), text("ond"), finish]);
  const waits = { retry: { attempts: 2, delayMs: 500, maxDelayMs: 500 } };
  const { session, runner } = await openKit(model, { agent: { settings: waits } });
  const run = session.run("go");
  for (const i of [0, 1]) say(i);
  await settle();
  const early = listen(runner.events("thread"));
  await early.until(({ type }) => type === "superseded");
  say(2);
  await early.until((event) => event.type === "text-delta" && event.text === "Sec");
  const late = listen(runner.events("thread"));
  await settle();
  for (const i of [3, 4]) say(i);
  await run.result;
  await runner.close();
  expect(said(await early.all).slice(4, 8)).toEqual(["text First", "superseded, attempt 2", "text Sec", "text ond"]);
  expect(said(await late.all).slice(4, 6)).toEqual(["text Sec", "text ond"]);
});

test("L2: a delta of a message that continues another carries `continues`", async () => {
  const { model, say } = spoken([text("Half "), text("never"), text("who"), text("le"), finish]);
  const { session, runner } = await openKit(model);
  const heard = listen(runner.events("thread"));
  const run = session.run("go");
  say(0);
  await heard.until(({ type }) => type === "text-delta");
  await session.interrupt();
  await run.result;
  say(1);
  const rest = session.resume();
  say(2);
  const more = await heard.until((event) => event.type === "text-delta" && event.text === "who");
  const late = listen(runner.events("thread"));
  await settle();
  for (const i of [3, 4]) say(i);
  await rest.result;
  const [cut] = session.messages.filter(({ role }) => role === "assistant");
  await runner.close();
  expect(more).toMatchObject({ continues: cut!.id, offset: 0 });
  const first = (await heard.all).find(({ type }) => type === "text-delta");
  expect(first).not.toHaveProperty("continues");
  expect((await late.all).find(({ type }) => type === "text-delta")).toMatchObject({ text: "who", continues: cut!.id });
});

test("L2, E3: a reader that fell behind gets a gap, the facts, and the text so far", async () => {
  const many = Array.from(
    { length: 2_000 },
    (_, i): ModelEvent => ({ type: "args", id: "c", tool: "t", text: `${i}` }),
  );
  const { model, say } = spoken([text("Before"), ...many, text(" and after"), text("."), finish]);
  const { session, runner } = await openKit(model);
  const reader = session.events()[Symbol.asyncIterator]();
  const run = session.run("go");
  for (let i = 0; i < many.length + 2; i += 1) say(i);
  await settle(50);
  const events: BelayEvent[] = [];
  const rest = (async () => {
    for (let next = await reader.next(); !next.done; next = await reader.next()) events.push(next.value);
  })();
  await settle();
  for (const i of [many.length + 2, many.length + 3]) say(i);
  await run.result;
  await runner.close();
  await rest;
  const shown = said(events).filter((line) => /^(gap|text|message)/.test(line));
  expect(shown).toEqual([
    "gap",
    "message user: go",
    "text Before",
    "text  and after",
    "text .",
    "message assistant: Before and after.",
  ]);
});
