import { eachStore, openKit, until } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import type { Model } from "../../index.ts";

/** Answers at once, but waits for `open` if it is asked to. */
function gated(): { readonly model: Model; open(): void } {
  let open = () => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  const model: Model = {
    id: "gated",
    async *stream({ messages }) {
      if (JSON.stringify(messages).includes("wait")) await gate;
      yield { type: "text", text: "ok" };
      yield { type: "finish", finish: "stop" };
    },
  };
  return { model, open };
}

describe.each(eachStore)("slots ($name)", ({ make }) => {
  test("V7: a slot is passed on if the input that it was for is withdrawn", async () => {
    const { model, open } = gated();
    const { runner } = await openKit(model, { store: await make(), runner: { concurrency: 1 } });
    const states = async (...ids: string[]) =>
      Promise.all(ids.map(async (id) => (await runner.look(id))?.state)).then((all) => all.join(" "));
    await runner.enqueue("one", "wait", { start: "here" });
    await until(async () => (await states("one")) === "running");
    const { id } = await runner.enqueue("two", "go", { start: "here" });
    await runner.enqueue("three", "go", { start: "here" });
    expect(await runner.withdraw("two", id)).toBe(true);
    open();
    await until(async () => (await states("one", "three")) === "completed completed");
    expect((await runner.look("two"))?.state).toBe("initialized");
  });
});
