// The memory of a session, and the store handles of its readers.

import { eachStore, gate, history, openKit, said, settle, threadOf, toolOf, until, wrapStore } from "@belay/testkit";
import { expect, it } from "vitest";
import { approve, memoryStore } from "../../index.ts";

it("a session that reads the store while it runs does not return to the older state", async () => {
  const inner = memoryStore();
  const answered = gate();
  let held = false;
  const { linesSync: _sync, ...store } = wrapStore(inner, {
    async load(key, after) {
      const loaded = await inner.load(key, after);
      if (!held) return loaded;
      held = false;
      await answered.opened;
      return loaded;
    },
  });
  const kit = await openKit(["one"], { store });
  held = true;
  const refreshed = threadOf(kit.session).refresh();
  await kit.session.run("go").result;
  answered.open();
  await refreshed;
  expect(kit.session.state).toBe("completed");
  expect(history(kit.session.messages)).toEqual(["user: go", "assistant: one"]);
});

it("E1: a reader that is not read to its end lets go of the store with its run, and can still be read to its end", async () => {
  const inner = memoryStore();
  let watchers = 0;
  const store = wrapStore(inner, {
    watch(key, changed) {
      const unwatch = inner.watch(key, changed);
      watchers += 1;
      return () => {
        watchers -= 1;
        unwatch();
      };
    },
  });
  const kit = await openKit(["one"], { store });
  const run = kit.session.run("go");
  const reader = run[Symbol.asyncIterator]();
  await reader.next();
  await run.result;
  await settle();
  expect(watchers).toBe(0);
  const rest: string[] = [];
  for (let step = await reader.next(); !step.done; step = await reader.next()) rest.push(...said([step.value]));
  expect(rest.slice(-4)).toEqual(["message assistant: one", "turn-end 1", "run-end completed", "state completed"]);
});

it("C3: a session opened before its thread existed continues from the state that another runner made in the meantime", async () => {
  const early = await openKit(["second"]);
  const other = await openKit(["first"], { store: early.store });
  await other.session.run("one").result;
  expect(early.session.state).toBe("created");
  expect(await early.session.run("two").result).toMatchObject({ status: "completed", text: "second" });
  expect(history(early.session.messages)).toEqual(["user: one", "assistant: first", "user: two", "assistant: second"]);
});

it.each(eachStore)(
  "a session that answers a thread of another process shows the result of the call, also if it was read meanwhile ($name)",
  async ({ make }) => {
    const store = await make();
    const go = gate();
    const tools = [toolOf("pay", () => go.opened, { needsApproval: true })];
    const owner = await openKit([[{ call: "pay", id: "p" }]], { store, tools });
    await owner.session.run("go").result;
    const { session } = await openKit([], { store, tools });
    await session.answer(session.interrupts[0]!.id, approve());
    expect(history(session.messages)).toEqual(["user: go", "assistant: call p"]);
    go.open();
    await until(() => !threadOf(session).isWriting);
    expect(history(session.messages)).toEqual(["user: go", "assistant: call p", "tool: p ok"]);
  },
);
