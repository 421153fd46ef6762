import {
  eachStore,
  factProblems,
  factsOf,
  faultyStore,
  gate,
  history,
  listen,
  openKit,
  said,
  settle,
  until,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, jsonSchema, reject, tool } from "../../index.ts";

const key = { tenant: "default", threadId: "thread" };
const input = jsonSchema<object>({ type: "object" });

describe.each(eachStore)("a call that runs alone, beside one that a crash cut off ($name)", ({ make }) => {
  test("C1, Q3: approved and not begun before the crash, it runs once, and ends before the turn waits for the other", async () => {
    const store = await make();
    const side = faultyStore(store);
    const begun = gate();
    let ran = 0;
    const sealed = tool({
      ...{ name: "sealed", description: "", input, serial: true, needsApproval: true },
      execute: () => `ran ${++ran}`,
    });
    const doubt = (execute: () => unknown) => tool({ name: "doubt", description: "", input, execute });
    const hangs = doubt(() => {
      begun.open();
      return new Promise(() => {});
    });
    const calls = [
      { call: "sealed", id: "s" },
      { call: "doubt", id: "d" },
    ];
    const first = await openKit([calls], { store: side, tools: [sealed, hangs], leaseTtlMs: 30 });
    const heard = listen(first.session.run("go"));
    await begun.opened;
    const asked = await heard.until((event) => event.type === "action");
    const id = asked.type === "action" ? asked.action.interrupted!.id : "";
    await first.session.answer(id, approve());
    await settle();
    expect(ran).toBe(0);
    side.kill();
    await until(async () => (await store.load(key))?.row.lease === undefined);

    const other = await openKit(["done"], { store, tools: [sealed, doubt(() => "again")] });
    expect(said(await listen(other.session.resume()).all)).toEqual([
      "state running continue",
      "turn-start 1",
      "tool-end d held",
      "asks unknown doubt",
      "tool-start s",
      "tool-end s ok",
      "turn-end 1",
      "waits",
      "state paused tool_interrupt",
    ]);
    expect([ran, other.session.interrupts.map(({ kind }) => kind)]).toEqual([1, ["unknown"]]);
    await other.session.answer(other.session.interrupts[0]!.id, reject("leave it"));
    expect(await other.session.resume().result).toMatchObject({ status: "completed", text: "done" });
    expect([ran, history(other.session.messages)[2]]).toEqual([1, "tool: s ok + d unknown"]);
    expect(factProblems(await factsOf(store))).toEqual([]);
    expect(other.problems()).toEqual([]);
  });
});
