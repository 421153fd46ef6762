import { listen, openKit, settle, wrapStore } from "@belay/testkit";
import { expect, test } from "vitest";
import { createRunner, memoryStore, type Store } from "../../index.ts";
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
  // A session that was opened before the thread existed.
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

test("C3, V6: a session that is open while another process runs looks for its owner, and no longer than that", async () => {
  const clock = fakeClock(Date.UTC(2026, 0, 1));
  const store = memoryStore({ clock });
  // Its own clock stands still: it renews nothing. Its first id is taken: the runners have different names.
  const theirs = fakeClock(Date.UTC(2026, 0, 1));
  theirs.id();
  const owner = await openKit([[{ text: "so far" }, { stall: true }]], { store, clock: theirs, leaseTtlMs: TTL });
  await listen(owner.session.run("go")).until(({ type }) => type === "text-delta");
  let looks = 0;
  const counted = wrapStore(store, {
    load: (...args: Parameters<Store["load"]>) => {
      looks += 1;
      return store.load(...args);
    },
  });
  const reader = await openKit([], { store: counted, clock });
  const shown = () => [reader.session.state, reader.session.pauseType];
  expect(shown()).toEqual(["running", undefined]);
  await clock.advance(TTL + 1);
  await settle();
  expect(shown()).toEqual(["paused", "crash"]);
  const before = looks;
  for (let i = 0; i < 10; i += 1) await clock.advance(TTL);
  await settle();
  expect(looks).toBe(before);
});

test("V6: readers get owner-lost once the lease has lapsed, and none while the owner renews it or after the run rests", async () => {
  const clock = fakeClock(Date.UTC(2026, 0, 1));
  const store = memoryStore({ clock });
  const owner = await openKit(["one", [{ text: "so far" }, { stall: true }]], { store, clock, leaseTtlMs: TTL });
  const front = createRunner({ store, clock });
  const heard = listen(front.events("thread"));
  const lost = () => heard.events.filter(({ type }) => type === "owner-lost");
  await owner.session.run("go").result;
  await listen(owner.session.run("more")).until(({ type }) => type === "text-delta");
  for (let i = 0; i < 10; i += 1) await clock.advance(TTL);
  expect(lost()).toEqual([]);
  // The session lets go of its run, as a process that ends.
  await owner.session.close();
  await clock.advance(TTL + 1);
  const { head } = (await front.look("thread"))!;
  expect(await heard.until(({ type }) => type === "owner-lost")).toMatchObject({ seq: head, segment: 1 });
  for (let i = 0; i < 10; i += 1) await clock.advance(TTL);
  expect(lost().length).toBe(1);
  await front.terminate("thread");
  for (let i = 0; i < 10; i += 1) await clock.advance(TTL);
  expect(lost().length).toBe(1);
});
