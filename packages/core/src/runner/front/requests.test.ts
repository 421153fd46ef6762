import { eachStore, openKit, paying, requestOf, until, waiting } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, humanApproval, reject } from "../../index.ts";
import { wrapStore } from "../../store/wrap-store.ts";

describe.each(eachStore)("lists of requests ($name)", ({ make }) => {
  test("L4: the inbox comes in pages, the oldest first", async () => {
    const { tools } = paying();
    const store = await make();
    const kit = await waiting(["a", "b", "c", "d", "e"], { store, tools });
    const read: (string | undefined)[] = [];
    let cursor: string | undefined;
    do {
      const { items, damaged, next } = await kit.runner.inbox({ limit: 2, cursor });
      expect(damaged).toEqual([]);
      read.push(...items.map(({ callId }) => callId));
      // The request that the cursor names is decided meanwhile: none of the others is left out.
      if (cursor === undefined) await kit.runner.answer(requestOf(kit, "b").id, reject("no"));
      cursor = next;
    } while (cursor !== undefined);
    expect(read).toEqual(["a", "b", "c", "d", "e"]);
    const { next } = await kit.runner.inbox({ limit: 1 });
    await expect(kit.runner.inbox({ limit: 1, tool: "pay", cursor: next })).rejects.toMatchObject({
      code: "CURSOR_INVALID",
    });
    const other = await openKit(() => "ok", { store, threadId: "unused", runner: { tenant: "other" } });
    await expect(other.runner.inbox({ limit: 1, cursor: next })).rejects.toMatchObject({ code: "CURSOR_INVALID" });
    await expect(kit.runner.inbox({ limit: 0 })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  test("L4, Q7: an item carries the approvals given so far, in any process", async () => {
    const store = await make();
    const { tools } = paying({ needsApproval: () => humanApproval("Pay?", { quorum: 3 }) });
    const kit = await waiting(["a"], { store, tools });
    const { id } = requestOf(kit, "a");
    const other = await openKit(() => "ok", { store, tools, threadId: "other" });
    const approvals = async () => (await other.runner.inbox()).items[0]!.approvals;
    expect(await approvals()).toEqual([]);
    await kit.runner.answer(id, approve({ by: "ann" }));
    await kit.runner.answer(id, approve({ by: "bob" }));
    const vote = (by: string) => ({ by, at: expect.any(Number), digest: expect.any(String) });
    expect(await approvals()).toEqual([vote("ann"), vote("bob")]);
    expect(await other.runner.request(id)).toMatchObject({ item: { id, approvals: [vote("ann"), vote("bob")] } });
    await kit.runner.answer(id, approve({ by: "cat", note: "fine" }));
    expect((await other.runner.inbox()).items).toEqual([]);
    expect((await other.runner.requests({ state: "decided" })).items).toMatchObject([
      { id, how: "approved", by: "cat", note: "fine", approvals: [vote("ann"), vote("bob")], threadId: "thread" },
    ]);
  });

  test("L4: decided requests by kind, tool and the person that decided, a page at a time", async () => {
    const store = await make();
    const kit = await waiting(["a", "b", "c", "d"], { store, tools: paying().tools });
    for (const [call, by] of Object.entries({ a: "ann", b: "bob", c: "ann", d: "ann" })) {
      await kit.runner.answer(requestOf(kit, call).id, reject("no", { by }));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const read = async (filter: object) => {
      const calls: (string | undefined)[] = [];
      for (let cursor: string | undefined; ; ) {
        const { items, next } = await kit.runner.requests({ state: "decided", limit: 2, ...filter, cursor });
        calls.push(...items.map(({ callId }) => callId));
        if (next === undefined) return calls;
        cursor = next;
      }
    };
    expect(await read({})).toEqual(["d", "c", "b", "a"]);
    expect(await read({ by: "ann" })).toEqual(["d", "c", "a"]);
    expect(await read({ by: "bob", kind: "approval", tool: "pay", threadId: "thread" })).toEqual(["b"]);
    for (const filter of [{ by: "cat" }, { kind: "input" }, { tool: "look" }]) expect(await read(filter)).toEqual([]);
    const { next } = await kit.runner.requests({ state: "decided", limit: 1, by: "ann" });
    await expect(kit.runner.requests({ state: "decided", by: "bob", cursor: next })).rejects.toMatchObject({
      code: "CURSOR_INVALID",
    });
  });

  test("L4: decided requests are listed, the last decided first, with the decision, the person and the reason", async () => {
    const store = await make();
    const { tools } = paying();
    const kit = await waiting(["a", "b", "c"], { store, tools });
    const { runner } = kit;
    const [a, b, c] = ["a", "b", "c"].map((call) => requestOf(kit, call).id) as [string, string, string];
    expect(await runner.requests({ state: "decided" })).toEqual({ items: [], damaged: [] });
    await runner.answer(b, reject("too much", { by: "ann" }));
    await new Promise((resolve) => setTimeout(resolve, 2));
    await runner.answer(a, approve({ by: "bob" }));
    await new Promise((resolve) => setTimeout(resolve, 2));
    await runner.interrupt("thread", { by: "cat" });
    const { items } = await runner.requests({ state: "decided" });
    expect(items.map(({ id, how, by }) => [id, how, by])).toEqual([
      [c, "withdrawn", "cat"],
      [a, "approved", "bob"],
      [b, "rejected", "ann"],
    ]);
    expect(items[2]).toMatchObject({ tool: "pay", reason: "too much", threadId: "thread", runId: kit.session.runId });
    const first = await runner.requests({ state: "decided", limit: 2 });
    const second = await runner.requests({ state: "decided", limit: 2, cursor: first.next });
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual([c, a, b]);
    expect(second.next).toBeUndefined();
    const other = await openKit(() => "ok", { store, threadId: "unused", runner: { tenant: "other" } });
    const elsewhere = other.runner.requests({ state: "decided", cursor: first.next });
    await expect(elsewhere).rejects.toMatchObject({ code: "CURSOR_INVALID" });
    expect(await runner.request(b)).toMatchObject({ item: { id: b }, decided: { how: "rejected", by: "ann" } });
    expect(await runner.request("none")).toBeUndefined();
    expect((await runner.requests({ state: "decided", threadId: "other" })).items).toEqual([]);
    await runner.delete("thread");
    expect((await runner.requests({ state: "decided" })).items).toEqual([]);
    expect(await runner.request(b)).toBeUndefined();
  });

  test("L4: a request that a release without lists decided is found in its journal", async () => {
    const inner = await make();
    const store = wrapStore(inner, {
      append: (key, { decided: _decided, ...append }) => inner.append(key, append),
      ...(inner.linesSync && { linesSync: (key, since) => inner.linesSync!(key, since) }),
    });
    const { tools } = paying();
    const kit = await waiting(["a"], { store, tools });
    const { id } = requestOf(kit, "a");
    await kit.runner.answer(id, approve({ by: "ann" }));
    expect((await kit.runner.requests({ state: "decided" })).items).toEqual([]);
    expect(await kit.runner.request(id)).toMatchObject({ item: { id }, decided: { how: "approved", by: "ann" } });
  });

  test("L4: requests() lists decided ones only, and says so", async () => {
    const { runner } = await openKit(() => "ok", { store: await make() });
    for (const filter of [{}, { state: "open" }, { state: "decided", limit: -1 }, { state: "decided", threadId: "" }])
      await expect(runner.requests(filter as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(runner.requests({ state: "decided", who: "x" } as never)).rejects.toMatchObject({
      code: "OPTION_UNKNOWN",
    });
    const bad = { state: "decided", cursor: "x" } as const;
    await expect(runner.requests(bad)).rejects.toMatchObject({ code: "CURSOR_INVALID" });
  });
});

describe.each(eachStore)("hints over all threads ($name)", ({ make }) => {
  test("L3: changes() yields sync, then hints that merge, from any runner, until its signal fires", async () => {
    const store = await make();
    const reader = await openKit(() => "ok", { store, threadId: "unused" });
    const { tools } = paying();
    const ending = new AbortController();
    const heard: object[] = [];
    const reading = (async () => {
      for await (const change of reader.runner.changes({ signal: ending.signal })) heard.push(change);
    })();
    await until(async () => heard.length === 1);
    expect(heard).toEqual([{ type: "sync" }]);
    const kit = await waiting(["a", "b"], { store, tools });
    const { head } = (await reader.runner.threads()).items[0]!;
    const asks = { type: "change", threadId: "thread", head, state: "paused", open: 2 };
    await until(async () => heard.some((each) => JSON.stringify(each) === JSON.stringify(asks)));
    // Hints merge: fewer than there were appends, and none twice.
    expect(heard.length).toBeLessThanOrEqual(1 + head);
    expect(new Set(heard.map((each) => JSON.stringify(each))).size).toBe(heard.length);
    await kit.session.label({ title: "T" });
    await until(async () => (heard.at(-1) as { head?: number }).head === head + 2);
    ending.abort();
    await reading;
    const { length } = heard;
    await kit.session.label({ title: "U" });
    expect(heard.length).toBe(length);
  });

  test("L3: changes() of one tenant has nothing of another, and ends when its runner is closed", async () => {
    const store = await make();
    const reader = await openKit(() => "ok", { store, threadId: "unused", runner: { tenant: "mine" } });
    const other = await openKit(() => "ok", { store, runner: { tenant: "theirs" } });
    const heard: object[] = [];
    const reading = (async () => {
      for await (const change of reader.runner.changes()) heard.push(change);
    })();
    await until(async () => heard.length === 1);
    await other.session.run("go").result;
    await (await reader.runner.open("own")).run("go").result;
    await until(async () => heard.some((each) => "state" in each && each.state === "completed"));
    expect(JSON.stringify(heard)).not.toContain('"thread"');
    await reader.runner.close();
    await reading;
    expect(() => reader.runner.changes()).toThrow(expect.objectContaining({ code: "RUNNER_CLOSED" }));
    expect(() => other.runner.changes({ sig: 1 } as never)).toThrow(
      expect.objectContaining({ code: "OPTION_UNKNOWN" }),
    );
  });
});
