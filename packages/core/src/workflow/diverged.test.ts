import {
  doing,
  eachStore,
  echo,
  enter,
  factsOf,
  gate,
  listen,
  newLog,
  runs,
  settle,
  talker,
  unpaired,
  until,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { humanInput } from "../index.ts";
import { defineAgent } from "./define-agent.ts";

describe.each(eachStore)("code that differs from the record, on $name", ({ make }) => {
  test("Q2, G5: agents that run inside it end first, and no other begins; with the original code it continues", async () => {
    const store = await make();
    const log = newLog();
    const now = { right: true };
    const work = gate<string>();
    const once: { hung?: boolean } = {};
    const works = doing(log, "works", () => work.opened);
    const a = talker(
      log,
      "a",
      ({ messages }) => {
        if (messages.some(({ role }) => role === "tool")) return "done";
        if (once.hung) return [{ call: "works", id: "w" }];
        once.hung = true;
        return [{ stall: true }];
      },
      [works],
    );
    const root = () =>
      defineAgent({
        name: "code",
        run: async (ctx) => {
          await ctx.step("s", () => 1);
          const ran = ctx.run(a, "x");
          if (now.right) await ctx.step("t", () => 2);
          else void until(() => log.did.length > 0).then(() => ctx.ask(humanInput("Who?"), { key: "t" }));
          return ctx.run(echo(log, "b"), await ran);
        },
      });
    const session = await enter(root(), store);
    void session.run("hi");
    await until(() => once.hung === true);
    await settle();
    await session.interrupt();
    await session.close();
    now.right = false;
    const wrongly = await enter(root(), store);
    const heard = listen(wrongly.resume());
    await until(() => log.did.length > 0);
    await settle(20);
    expect(wrongly.state).toBe("running");
    work.open("worked");
    const events = await heard.all;
    expect(events.findLast(({ type }) => type === "run-end")).toMatchObject({ error: { code: "REPLAY_DIVERGED" } });
    expect(unpaired(events)).toEqual([]);
    await wrongly.close();
    now.right = true;
    const other = await enter(root(), store);
    expect(await other.resume().result).toMatchObject({ status: "completed", output: "b(done)" });
    expect(runs(await factsOf(store))).toEqual([
      "+ code",
      "+ code/a:a",
      "- code/a:a",
      "! code",
      "+ code",
      "+ code/b:b",
      "- code/b:b",
      "- code",
    ]);
    expect(log.did).toEqual(["works"]);
    expect(await wrong(store, log)).toEqual([]);
  });
});
