import {
  type AnyAgent,
  doing,
  eachStore,
  enter,
  factsOf,
  gate,
  type Log,
  newLog,
  settle,
  until,
  worker,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { humanInput, type ResumeOptions, respond, type Session, type Store, type ToolContext } from "../index.ts";
import { defineAgent } from "./define-agent.ts";
import { parallel } from "./parallel.ts";

/** How the answered call ends when `go` opens. */
const endings: Readonly<Record<string, (ctx: ToolContext) => Promise<string>>> = {
  asked: async (ctx) => `and ${await ctx.ask(humanInput("And who else?"), { key: "more" })}`,
  failed: async () => {
    throw new Error("no");
  },
  // On record, this key is a step.
  diverged: (ctx) => ctx.ask(humanInput("Who?"), { key: "s" }),
  well: async () => "well",
};

/** Why the waiting resume() is refused, and its options. `taken` is a request that is answered meanwhile. */
const refusals: Readonly<Record<string, (taken: string) => ResumeOptions>> = {
  ANSWER_AMBIGUOUS: () => ({ input: "Bob" }),
  ANSWER_TAKEN: (taken) => ({ answers: { [taken]: respond("Bob") } }),
  ANSWER_UNKNOWN: () => ({ answers: { nothing: respond("Bob") } }),
  DRIFT_REFUSED: () => ({ drift: "refuse" }),
  OPTION_INVALID: () => ({ to: "nowhere", input: "Bob", mode: "continue" }),
};

/** A call inside two agents asks, and ends as `ending` says once it is answered; beside it, another call asks twice. */
function tree(log: Log, ending: string, go: Promise<void>, version: string): AnyAgent {
  const work = doing(log, "work", async (ctx) => {
    if (ending !== "diverged") {
      await ctx.step("s", () => 1);
      await ctx.ask(humanInput("Whom?"), { key: "first" });
    }
    log.did.push("continued");
    await go;
    return endings[ending]!(ctx);
  });
  const inner = worker(log, "inner", work, "work-call");
  const around = defineAgent({ name: "around", agents: [inner], run: (ctx) => ctx.run(inner, "x") });
  const twice = doing(log, "twice", (ctx) => {
    const asks = ["a", "b"].map((key) => ctx.ask(humanInput(`${key}?`, { onNewInput: "answer" }), { key }));
    return Promise.all(asks).then((answers) => answers.join(" and "));
  });
  return parallel({ name: "par", agents: [around, worker(log, "beside", { ...twice, version }, "twice-call")] });
}

const byKey = (session: Session<unknown>, key: string) => session.interrupts.find((request) => request.key === key)!.id;

describe.each(eachStore)("a resume() that waits for an answered call and is refused, on $name", ({ make }) => {
  async function waiting(store: Store, log: Log, ending: string) {
    const go = gate();
    const first = await enter(tree(log, "well", Promise.resolve(), "1"), store);
    expect((await first.run("hi").result).status).toBe("interrupted");
    await first.close();
    const session = await enter(tree(log, ending, go.opened, "2"), store);
    await session.answer(byKey(session, "first"), respond("Ann"));
    await until(() => log.did.includes("continued"));
    await settle();
    return { session, go };
  }

  const cases = Object.keys(refusals).flatMap((code) => Object.keys(endings).map((ending) => [code, ending] as const));
  test.each(cases)("R4, Q3: %s, when the call has ended as %s", async (code, ending) => {
    const store = await make();
    const log = newLog();
    const { session, go } = await waiting(store, log, ending);
    const taken = byKey(session, "a");
    const run = session.resume(refusals[code]!(taken));
    if (code === "ANSWER_TAKEN") await session.answer(taken, respond("Cat"));
    await settle();
    go.open();
    expect(await run.result).toMatchObject({ status: "failed", error: { code } });
    await until(async () => (await store.load({ tenant: "default", threadId: "thread" }))!.row.lease === undefined);
    expect(session.state).toBe("paused");
    expect(await wrong(store, log)).toEqual([]);
    const { length } = await factsOf(store);
    await session.close();
    // No fact was recorded twice: another process reads the thread and completes it.
    const last = await enter(tree(log, ending === "asked" ? "asked" : "well", Promise.resolve(), "2"), store);
    expect((await factsOf(store)).length).toBe(length);
    const answers = Object.fromEntries(last.interrupts.map(({ id }) => [id, respond("Dan")]));
    const result = await last.resume({ answers }).result;
    if (ending === "diverged") {
      // The failure of the agents around the call is on record: this resume() meets it, and the next one tries them again.
      expect(result).toMatchObject({ status: "failed", error: { code: "REPLAY_DIVERGED" } });
      expect(await last.resume().result).toMatchObject({ status: "completed" });
    } else expect(result).toMatchObject({ status: "completed" });
    expect(await wrong(store, log)).toEqual([]);
  });
});
