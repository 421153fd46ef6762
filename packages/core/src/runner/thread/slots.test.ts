import { expect, test } from "vitest";
import { Slots } from "./slots.ts";

test("V7: each of those that wait for a slot gets one, also if a slot was taken before its turn", async () => {
  const slots = new Slots(1);
  const first = slots.take("x")!;
  const order: string[] = [];
  const waits = async (name: string) => {
    const giveBack = await slots.free("t");
    order.push(name);
    giveBack();
  };
  const all = [waits("one"), waits("two")];
  // The slot is free, and taken again in the same tick, before the first of them comes to it.
  first();
  const second = slots.take("y")!;
  await Promise.resolve();
  await Promise.resolve();
  second();
  // One of them looks again while the other still waits.
  await Promise.all(all);
  expect(order.sort()).toEqual(["one", "two"]);
});
