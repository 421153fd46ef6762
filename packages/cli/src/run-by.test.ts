import { agent, createRunner, memoryStore } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { expect, test } from "vitest";
import { runBy } from "./run-by.ts";

function opened(store = memoryStore()) {
  const model = scriptedModel([[{ text: "half" }, { stall: true }]]);
  return createRunner({ agent: agent({ name: "belay", model }), store });
}

test("a thread that this program runs is run by us, and by no process when it rests", async () => {
  const runner = opened();
  const session = await runner.open("thread");
  expect(await runBy(runner, "thread")).toBe("nobody");
  const run = session.run("go");
  for await (const event of run) if (event.type === "text-delta") break;
  expect(await runBy(runner, "thread")).toBe("us");
  await session.interrupt();
  expect(await runBy(runner, "thread")).toBe("nobody");
});

test("a program with the same number in another container, which shares the file, is another one", async () => {
  const store = memoryStore();
  const { owner } = opened();
  const [, pid, start] = owner.split("/");
  await store.append(
    { tenant: "default", threadId: "thread" },
    {
      appendId: "1",
      expect: 0,
      count: 1,
      at: 1,
      body: "{}",
      writer: { take: `elsewhere@0.1/${pid}/${start}/1`, ttlMs: 60_000 },
      release: false,
      agent: "belay",
      state: "running",
    },
  );
  expect(pid).toBe(String(process.pid));
  expect(await runBy(opened(store), "thread")).toBe("others");
});
