// A question that code raises while a stop ends that code: nobody is left who is asked for nothing.

import { describe, expect, test } from "vitest";
import { humanInput } from "../interrupt/request.ts";
import { createRunner } from "../runner/runner.ts";
import type { Session } from "../runner/session.ts";
import type { Append } from "../store/store.ts";
import { factsOf } from "../testing/asking-tool.ts";
import { eachStore } from "../testing/each-store.ts";
import { factProblems } from "../testing/journal-checks.ts";
import { gate, heldStore, settle } from "../testing/session-kit.ts";
import { defineAgent } from "./define-agent.ts";
import { parallel } from "./parallel.ts";

describe.each(eachStore)("code that asks while it is ended, on $name", ({ make }) => {
  test.each<[string, (session: Session<unknown>) => Promise<unknown>]>([
    ["interrupt({ force })", (session) => session.interrupt({ force: true })],
    ["interrupt({ graceMs: 0 })", (session) => session.interrupt({ graceMs: 0 })],
  ])("S9: what it was about to ask is not asked any more after %s", async (_, end) => {
    const store = await make();
    const [written, writes] = [gate(), gate()];
    const before = (_n: number, { body }: Append) => {
      if (!body.includes('"step":')) return undefined;
      written.open();
      return writes.opened;
    };
    const steps = defineAgent({ name: "steps", run: (ctx) => ctx.step("a", () => 1) });
    const asks = defineAgent({
      name: "asks",
      async run(ctx) {
        await written.opened;
        return ctx.ask(humanInput("Who?"));
      },
    });
    const both = parallel({ name: "both", agents: [steps, asks] });
    const runner = createRunner({ agent: both, store: heldStore(store, { before }) });
    const session = await runner.open("thread");
    const run = session.run("go");
    await written.opened;
    await settle();
    const ended = end(session);
    await settle();
    writes.open();
    await ended;
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
    expect(await runner.inbox()).toEqual([]);
    expect(factProblems(await factsOf(store))).toEqual([]);
    await runner.close();
  });
});
