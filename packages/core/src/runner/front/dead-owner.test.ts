import { listen, openKit } from "@belay/testkit";
import { expect, test } from "vitest";
import { createRunner, memoryStore } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const TTL = 1000;

test("V6: once the lease of a dead owner has lapsed, look, list and open say paused / crash alike", async () => {
  const clock = fakeClock(Date.UTC(2026, 0, 1));
  const store = memoryStore({ clock });
  // Its own clock stands still: it renews nothing, as a process that is gone.
  const owner = await openKit([[{ text: "so far" }, { stall: true }]], {
    store,
    clock: fakeClock(Date.UTC(2026, 0, 1)),
    leaseTtlMs: TTL,
  });
  const reader = await openKit([], { store, clock, threadId: "other" });
  const front = createRunner({ store, clock });
  // A session that was opened before the thread was there.
  const early = await reader.runner.open("thread");
  await listen(owner.session.run("go")).until(({ type }) => type === "text-delta");
  const seen = async () => {
    const look = (await front.look("thread"))!;
    const { items } = await front.threads();
    const item = items.find(({ threadId }) => threadId === "thread")!;
    return [
      [look.state, look.pauseType],
      [item.state, item.pauseType],
    ];
  };
  expect(await seen()).toEqual([
    ["running", undefined],
    ["running", undefined],
  ]);
  await clock.advance(TTL + 1);
  expect(await seen()).toEqual([
    ["paused", "crash"],
    ["paused", "crash"],
  ]);
  const session = await reader.runner.open("thread");
  expect(session).toBe(early);
  expect([session.state, session.pauseType]).toEqual(["paused", "crash"]);
});
