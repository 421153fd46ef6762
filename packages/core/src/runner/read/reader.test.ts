import { settle } from "@belay/testkit";
import { expect, test } from "vitest";
import type { BelayEvent, Draft, Fact } from "../../event.ts";
import { Reader } from "./reader.ts";

const at = { at: 0, threadId: "thread", runId: "run", segment: 1, attempt: 1, agentName: "a", runPath: "a" } as const;
const fact = (seq: number): Fact => ({ ...at, type: "state", state: "running", seq });
const turn = (seq: number): Draft => ({ ...at, type: "turn-start", turn: 1, seq });
const text = (seq: number, words: string): Draft => ({
  ...at,
  type: "text-delta",
  messageId: "m",
  offset: 0,
  text: words,
  seq,
});

test("E1: a draft that comes before the fact it follows is handed out after it, and is not looked for without end", async () => {
  const facts = [1, 2, 3, 4].map(fact);
  let looks = 0;
  const read = async (after: number) => {
    looks += 1;
    if (looks > 10) throw new Error("the store is read again and again");
    return facts.filter(({ seq }) => seq > after);
  };
  const reader = new Reader(
    read,
    () => [],
    1,
    () => {},
    undefined,
  );
  for (const event of [turn(3), fact(2), fact(3), turn(4)]) reader.push(event);
  const heard: BelayEvent[] = [];
  for (let i = 0; i < 5; i++) heard.push((await reader.next()).value);
  expect(heard).toEqual([fact(2), fact(3), turn(3), fact(4), turn(4)]);
});

test("E1: a draft whose fact the store does not have is not handed out, and is looked for once", async () => {
  const facts = [1, 2].map(fact);
  let looks = 0;
  const read = async (after: number) => {
    looks += 1;
    if (looks > 10) throw new Error("the store is read again and again");
    return facts.filter(({ seq }) => seq > after);
  };
  const reader = new Reader(
    read,
    () => [],
    1,
    () => {},
    undefined,
  );
  const heard: BelayEvent[] = [];
  const reading = (async () => {
    for await (const event of reader) heard.push(event);
  })();
  for (const early of [turn(9), text(9, "lost")]) reader.push(early);
  await settle();
  expect([heard, looks]).toEqual([[fact(2)], 2]);
  // Those that come later are handed out, and make it look no more.
  reader.push(turn(2));
  await settle();
  expect([heard, looks]).toEqual([[fact(2), turn(2)], 2]);
  facts.push(fact(3));
  reader.lookAgain();
  reader.push(text(3, "kept"));
  await settle();
  expect([heard, looks]).toEqual([[fact(2), turn(2), fact(3), text(3, "kept")], 3]);
  reader.end();
  await reading;
});
