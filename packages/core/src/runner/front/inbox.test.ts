import {
  eachStore,
  happens,
  history,
  listen,
  openKit,
  paying,
  pays,
  requestOf,
  said,
  settle,
  waiting,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, humanApproval, humanInput, jsonSchema, tool } from "../../index.ts";

const anything = jsonSchema({ type: "object" });

describe.each(eachStore)("the inbox ($name)", ({ make }) => {
  const ask = tool({
    name: "ask",
    description: "",
    input: anything,
    execute: (_args, ctx) => ctx.ask(humanInput("Who?", { approvers: ["group:staff"] })),
  });

  test("Q9: open requests over all threads, the oldest first; by thread, kind, tool and approver", async () => {
    const store = await make();
    const { tools } = paying({ needsApproval: () => humanApproval("Pay?", { approvers: ["ann"] }) });
    const runner = { groups: { staff: ["bob"] } };
    const first = await waiting(["a", "b"], { store, tools, threadId: "one", runner });
    const second = await openKit([[{ call: "ask", id: "q" }]], { store, tools: [ask], threadId: "two", runner });
    await second.session.run("go").result;
    const ids = async (filter: object) => (await first.runner.inbox(filter)).items.map(({ callId }) => callId);
    expect(await ids({})).toEqual(["a", "b", "q"]);
    expect(await ids({ threadId: "two" })).toEqual(["q"]);
    expect(await ids({ kind: "approval" })).toEqual(["a", "b"]);
    expect(await ids({ kind: "input" })).toEqual(["q"]);
    expect(await ids({ tool: "pay" })).toEqual(["a", "b"]);
    expect(await ids({ by: "ann" })).toEqual(["a", "b"]);
    expect(await ids({ by: "bob" })).toEqual(["q"]);
    expect(await ids({ by: "cat" })).toEqual([]);
    expect(await ids({ threadId: "one", kind: "input" })).toEqual([]);
    await expect(first.runner.inbox({ agent: "x" } as never)).rejects.toMatchObject({ code: "OPTION_UNKNOWN" });
    const [item] = (await second.runner.inbox({ threadId: "two" })).items;
    expect(item).toMatchObject({ threadId: "two", runId: second.session.runId, kind: "input", reason: "Who?" });
    expect(item!.raisedAt).toBeGreaterThan(0);
    await first.session.answer(requestOf(first, "a").id, approve({ by: "ann" }));
    expect(await ids({})).toEqual(["b", "q"]);
  });

  test("Q9: requests of a thread that is running are in it, too", async () => {
    const { tools } = paying();
    const slow = tool({ name: "slow", description: "", input: anything, execute: () => new Promise(() => {}) });
    const kit = await openKit([[{ call: "slow", id: "s" }, ...pays("a")]], {
      store: await make(),
      tools: [...tools, slow],
    });
    const heard = listen(kit.session.run("go"));
    await heard.until(({ type }) => type === "tool-start");
    expect((await kit.runner.inbox()).items.map(({ callId }) => callId)).toEqual(["a"]);
    expect(kit.session.interrupts.map(({ callId }) => callId)).toEqual(["a"]);
    await kit.session.interrupt({ force: true });
    expect((await kit.runner.inbox()).items).toEqual([]);
  });

  test("section 13: tenants neither see nor answer each other's requests, nor share rules", async () => {
    const store = await make();
    const { tools, ran } = paying();
    const mine = await waiting(["a"], { store, tools, runner: { tenant: "mine" } });
    const yours = await waiting(["a"], { store, tools, runner: { tenant: "yours" } });
    const { id } = requestOf(mine, "a");
    expect((await yours.runner.inbox()).items.map((item) => item.id)).toEqual([requestOf(yours, "a").id]);
    await expect(yours.runner.answer(id, approve())).rejects.toMatchObject({ code: "ANSWER_UNKNOWN" });
    await expect(yours.session.answer(id, approve())).rejects.toMatchObject({ code: "ANSWER_UNKNOWN" });
    await settle();
    expect(ran).toEqual([]);
    await mine.runner.answer(id, approve({ remember: "always" }));
    await happens(ran, "pay 1");
    expect([(await mine.runner.rules()).length, await yours.runner.rules()]).toEqual([1, []]);
    expect(await yours.runner.removeRule(`rule.${id}`)).toBe(false);
    expect(await yours.session.permission("pay", { n: 1 })).toMatchObject({ effect: "ask" });
  });

  test("a deleted thread takes its requests with it, also in a session that was open before", async () => {
    const store = await make();
    const { tools, ran } = paying();
    const kit = await waiting(["a", "b"], { store, tools });
    const other = await openKit([], { store, tools });
    const { id } = requestOf(kit, "a");
    await kit.runner.delete("thread");
    expect((await other.runner.inbox()).items).toEqual([]);
    for (const { runner } of [kit, other]) {
      await expect(runner.answer(id, approve())).rejects.toMatchObject({ code: "ANSWER_UNKNOWN" });
    }
    await expect(other.session.answer(id, approve())).rejects.toMatchObject({ code: expect.any(String) });
    expect(ran).toEqual([]);
    const again = await waiting(["a"], { store, tools });
    expect(requestOf(again, "a").id).not.toBe(id);
    expect((await again.runner.inbox()).items.map(({ callId }) => callId)).toEqual(["a"]);
  });
});

describe.each(eachStore)("a run that failed while people were asked ($name)", ({ make }) => {
  /** A question with code that diverges from the record in the next process; and a payment that waits. */
  async function failed() {
    const store = await make();
    const { tools, ran } = paying();
    const asking = (key: string) =>
      tool({
        name: "ask",
        description: "",
        input: anything,
        execute: (_args, ctx) => ctx.ask(humanApproval(`May ${key}?`), { key }),
      });
    const turn = [{ call: "ask", id: "q" }, ...pays("a")];
    const first = await openKit([turn], { store, tools: [...tools, asking("one")] });
    await first.session.run("go").result;
    const [q, a] = [requestOf(first, "q").id, requestOf(first, "a").id];
    await first.runner.close();
    const kit = await openKit(["done"], { store, tools: [...tools, asking("two")] });
    const result = await kit.session.resume({ answers: { [q]: approve() } }).result;
    expect(result).toMatchObject({ status: "failed", error: { code: "REPLAY_DIVERGED" } });
    expect(kit.session.state).toBe("error");
    return { kit, ran, a };
  }

  test("Q8: a new run withdraws the open requests", async () => {
    const { kit, ran, a } = await failed();
    const heard = listen(kit.session.run("start over"));
    expect(said(await heard.all)).toContain("answered withdraw by user");
    await expect(kit.runner.answer(a, approve())).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
    expect([ran, kit.problems(), (await kit.runner.inbox()).items]).toEqual([[], [], []]);
    expect(history(kit.session.messages).at(-1)).toBe("assistant: done");
  });

  test("Q3: an open request can still be answered, and its call runs at once", async () => {
    const { kit, ran, a } = await failed();
    expect((await kit.runner.inbox()).items.map(({ id }) => id)).toEqual([a]);
    expect(await kit.runner.answer(a, approve())).toEqual({ open: 0 });
    await happens(ran, "pay 1");
    expect(kit.session.state).toBe("error");
  });
});
