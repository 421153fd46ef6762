// A thread that another process deleted, and one that was made again under its name: whoever knew the first one has
// nothing to do with the second.

import { describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../clock.ts";
import { jsonSchema } from "../schema/schema.ts";
import { eachStore } from "../testing/each-store.ts";
import { gate, history, openKit, settle } from "../testing/session-kit.ts";
import { tool } from "../tool/tool.ts";

/** A moment passes with each thread that is made. */
function moments(): { clock: Clock; pass: () => void } {
  let skew = 0;
  return {
    clock: { ...systemClock, now: () => Date.now() + skew },
    pass: () => {
      skew += 1_000;
    },
  };
}

describe.each(eachStore)("on $name, a thread deleted and made again elsewhere", ({ make }) => {
  it.each([
    ["as long", ["uno"]],
    ["longer", ["uno", "dos"]],
  ])(
    "F3: %s as the one that a session knew is not mixed with that, and the model is not sent what was deleted",
    async (_, inputs) => {
      const store = await make();
      const { clock, pass } = moments();
      const first = await openKit(["one", "never"], { store, clock });
      await first.session.run("secret").result;
      const elsewhere = await openKit(["um", "dois"], { store, clock });
      await elsewhere.runner.delete("thread");
      await elsewhere.session.close();
      pass();
      const again = await elsewhere.runner.open("thread");
      for (const input of inputs) await again.run(input).result;
      const before = history(again.messages);

      const refused = { status: "failed", error: { code: "THREAD_UNKNOWN" } };
      expect(await first.session.run("and?").result).toMatchObject(refused);
      expect(await first.session.run("and?").result).toMatchObject(refused);
      await expect(first.session.terminate()).rejects.toMatchObject({ code: "THREAD_UNKNOWN" });
      expect(first.requests).toHaveLength(1);
      expect(history(first.session.messages)).toEqual(["user: secret", "assistant: one"]);
      const fresh = await openKit([], { store, clock });
      expect(history(fresh.session.messages)).toEqual(before);
      expect(fresh.session.state).toBe("completed");
    },
  );

  it("C3: whoever opens it after that gets a session on the new one", async () => {
    const store = await make();
    const { clock, pass } = moments();
    const first = await openKit(["one", "two"], { store, clock });
    await first.session.run("secret").result;
    const elsewhere = await openKit(["um"], { store, clock });
    await elsewhere.runner.delete("thread");
    await elsewhere.session.close();
    pass();
    const other = await elsewhere.runner.open("thread");
    await other.run("uno").result;
    expect(await first.session.run("and?").result).toMatchObject({ error: { code: "THREAD_UNKNOWN" } });
    const again = await first.runner.open("thread");
    expect(await again.run("and?").result).toMatchObject({ status: "completed", text: "two" });
    expect(history(again.messages)).toEqual(["user: uno", "assistant: um", "user: and?", "assistant: two"]);
    expect(await first.session.run("and?").result).toMatchObject({ error: { code: "THREAD_UNKNOWN" } });
    await first.session.close();
    expect(await first.runner.open("thread")).toBe(again);
  });

  it("S5: does not get the late result of a call that the first one made", async () => {
    const store = await make();
    const { clock, pass } = moments();
    const end = gate<string>();
    const slow = tool({
      name: "slow",
      description: "takes its time",
      input: jsonSchema({ type: "object" }),
      graceMs: 1,
      execute: () => end.opened,
    });
    const first = await openKit([[{ call: "slow" }]], { store, clock, tools: [slow] });
    const run = first.session.run("secret");
    for await (const event of run) if (event.type === "tool-start") break;
    expect(await first.session.interrupt()).toMatchObject({ late: [expect.any(String)] });
    const elsewhere = await openKit(["um"], { store, clock, tools: [slow] });
    await elsewhere.runner.delete("thread");
    await elsewhere.session.close();
    pass();
    const again = await elsewhere.runner.open("thread");
    await again.run("uno").result;
    end.open("late");
    await settle();
    expect(await again.waiting()).toEqual([]);
  });
});
