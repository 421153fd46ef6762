import {
  eachStore,
  factsOf,
  faultyStore,
  history,
  type Kit,
  openKit,
  settle,
  threadOf,
  toolOf,
  toolResult,
  until,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, humanApproval, humanInput, respond, type Tool } from "../../index.ts";

const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
  messages.some(({ role }) => role === "tool") ? "done" : ([{ call: "ask", id: "a" }] as const);

/** Counts its entries, and their outcomes. */
function asking() {
  const seen = { entries: 0, aborted: [] as string[], settled: [] as unknown[] };
  const ask = toolOf("ask", async (ctx) => {
    seen.entries += 1;
    const local = `entry ${seen.entries}`;
    ctx.signal.addEventListener("abort", () => seen.aborted.push((ctx.signal.reason as { code: string }).code));
    try {
      const name = await ctx.ask(humanInput("Who?"));
      seen.settled.push(name);
      return `${local}: ${name}`;
    } catch (error) {
      seen.settled.push(error);
      throw error;
    } finally {
      seen.settled.push("finally");
    }
  });
  return { seen, ask };
}

const paused = async (kit: Kit) => {
  expect((await kit.session.run("go").result).status).toBe("interrupted");
  return kit.session.interrupts[0]!.id;
};

describe.each(eachStore)("a tool that waits for a person, on $name", ({ make }) => {
  const open = async (tools: readonly Tool<unknown>[], store = make(), more = {}) =>
    openKit(script, { store: await store, tools, ...more });

  test("Q1: continues with its local state by answer(), and the model is called by resume()", async () => {
    const { seen, ask } = asking();
    const kit = await open([ask]);
    const id = await paused(kit);
    expect(await kit.session.answer(id, respond("ann"))).toEqual({ open: 0 });
    await until(async () => toolResult(await factsOf(kit.store), "a") !== undefined);
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    expect(kit.requests.length).toBe(1);
    expect((await kit.session.resume().result).status).toBe("completed");
    expect(toolResult(await factsOf(kit.store), "a")).toBe("entry 1: ann");
    expect(seen).toEqual({ entries: 1, aborted: [], settled: ["ann", "finally"] });
  });

  test("Q1: continues with its local state by resume({ answers })", async () => {
    const { seen, ask } = asking();
    const kit = await open([ask]);
    const id = await paused(kit);
    expect((await kit.session.resume({ answers: { [id]: respond("ann") } }).result).status).toBe("completed");
    expect(toolResult(await factsOf(kit.store), "a")).toBe("entry 1: ann");
    expect(seen.entries).toBe(1);
  });

  test("Q1: no lease is held meanwhile: another runner opens, answers and ends it; the instance here is dropped, its ask never settles, its signal fires", async () => {
    const here = asking();
    const kit = await open([here.ask]);
    const id = await paused(kit);
    const key = { tenant: "default", threadId: "thread" };
    expect((await kit.store.load(key))?.row.lease).toBeUndefined();
    const there = asking();
    const other = await open([there.ask], Promise.resolve(kit.store));
    await other.session.answer(id, respond("bob"));
    expect((await other.session.resume().result).status).toBe("completed");
    await until(() => here.seen.aborted.length > 0);
    expect(here.seen).toEqual({ entries: 1, aborted: ["REQUEST_DROPPED"], settled: [] });
    expect(there.seen.entries).toBe(1);
    expect(toolResult(await factsOf(kit.store), "a")).toBe("entry 1: bob");
  });

  test("Q1: the thread moved on elsewhere and asks again: an answer given here begins the code again from its record", async () => {
    const here = asking();
    const kit = await open([here.ask]);
    const id = await paused(kit);
    const other = await open([asking().ask], Promise.resolve(kit.store));
    // Resumed without an answer, it pauses again: another segment, the same request.
    expect((await other.session.resume().result).status).toBe("interrupted");
    await kit.session.answer(id, respond("ann"));
    await threadOf(kit.session).refresh();
    expect((await kit.session.resume().result).status).toBe("completed");
    expect(toolResult(await factsOf(kit.store), "a")).toBe("entry 2: ann");
    expect(here.seen).toEqual({ entries: 2, aborted: ["REQUEST_DROPPED"], settled: ["ann", "finally"] });
  });

  test("Q1: a session that is closed drops it, and opened again it begins again from its record", async () => {
    const { seen, ask } = asking();
    const kit = await open([ask]);
    const id = await paused(kit);
    await kit.session.close();
    expect(seen).toEqual({ entries: 1, aborted: ["REQUEST_DROPPED"], settled: [] });
    const again = await kit.runner.open("thread");
    expect((await again.resume({ answers: { [id]: respond("ann") } }).result).status).toBe("completed");
    expect(toolResult(await factsOf(kit.store), "a")).toBe("entry 2: ann");
    expect(seen.settled).toEqual(["ann", "finally"]);
  });

  test("Q1, S9: a request that is withdrawn drops it: by a stop, by new input, by terminate()", async () => {
    for (const way of ["interrupt", "input", "terminate"] as const) {
      const { seen, ask } = asking();
      const kit = await open([ask]);
      const id = await paused(kit);
      if (way === "interrupt") expect((await kit.session.interrupt()).accepted).toBe(true);
      else if (way === "input") await kit.session.resume({ input: "forget it" }).result;
      else await kit.session.terminate();
      await settle();
      expect(seen, way).toEqual({ entries: 1, aborted: ["REQUEST_DROPPED"], settled: [] });
      await expect(kit.session.answer(id, respond("ann")), way).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
      expect(kit.problems(), way).toEqual([]);
    }
  });

  test("Q6: an answer that is refused leaves it hot", async () => {
    const { seen, ask } = asking();
    const kit = await open([ask]);
    const id = await paused(kit);
    await expect(kit.session.answer(id, approve())).rejects.toMatchObject({ code: "ANSWER_INVALID" });
    const failed = await kit.session.resume({ answers: { [id]: respond(7) } }).result;
    expect(failed).toMatchObject({ status: "failed", error: { code: "ANSWER_INVALID" } });
    await kit.session.answer(id, respond("ann"));
    expect((await kit.session.resume().result).status).toBe("completed");
    expect(seen).toMatchObject({ entries: 1, settled: ["ann", "finally"] });
  });

  test("F6: the pause cannot be saved: the code is dropped, and continues from the record elsewhere", async () => {
    const here = asking();
    const store = await make();
    const faulty = faultyStore(store);
    const ask = toolOf("ask", async (ctx) => {
      here.seen.entries += 1;
      ctx.signal.addEventListener("abort", () => here.seen.aborted.push("aborted"));
      const name = await ctx.ask(humanInput("Who?"));
      here.seen.settled.push(name);
      return name;
    });
    // The question is on record; later facts are not.
    let asked = false;
    const failing = {
      ...faulty,
      append: (async (key, append) => {
        if (asked) throw new Error("the disk is full");
        const appended = await faulty.append(key, append);
        asked = append.raise !== undefined;
        return appended;
      }) as typeof faulty.append,
    };
    const kit = await open([ask], Promise.resolve(failing));
    expect(await kit.session.run("go").result).toMatchObject({ status: "failed", error: { code: "STORE_FAILED" } });
    expect(here.seen).toEqual({ entries: 1, aborted: ["aborted"], settled: [] });
    const there = asking();
    const key = { tenant: "default", threadId: "thread" };
    const fence = (await store.load(key))?.row.lease?.fence;
    if (fence !== undefined) await store.release(key, fence);
    const other = await open([there.ask], Promise.resolve(store));
    expect(other.session.pauseType).toBe("crash");
    const [request] = other.session.interrupts;
    const result = await other.session.resume({ answers: { [request!.id]: respond("ann") } }).result;
    expect(result.status).toBe("completed");
    expect(toolResult(await factsOf(store), "a")).toBe("entry 1: ann");
  });

  test("Q1: maxHot: the longest waiting are dropped first, and begin again from their record", async () => {
    for (const maxHot of [0, 1, 2]) {
      const store = await make();
      const entries: Record<string, number> = {};
      const aborted: string[] = [];
      const ask = toolOf("ask", async (ctx) => {
        entries[ctx.threadId] = (entries[ctx.threadId] ?? 0) + 1;
        ctx.signal.addEventListener("abort", () => aborted.push(ctx.threadId));
        return (await ctx.ask(humanApproval("Go on?"))).approved;
      });
      const kit = await openKit(script, { store, tools: [ask], runner: { maxHot }, threadId: "t1" });
      const sessions = [kit.session, await kit.runner.open("t2"), await kit.runner.open("t3")];
      for (const session of sessions) expect((await session.run("go").result).status).toBe("interrupted");
      expect(aborted).toEqual(["t1", "t2", "t3"].slice(0, 3 - maxHot));
      for (const session of sessions) {
        await session.answer(session.interrupts[0]!.id, approve());
        expect((await session.resume().result).status).toBe("completed");
      }
      expect(entries).toEqual({ t1: 2, t2: maxHot === 2 ? 1 : 2, t3: maxHot === 0 ? 2 : 1 });
      expect(history(sessions[0]!.messages).at(-1)).toBe("assistant: done");
    }
  });

  test("Q1: maxHot 0 within one segment: an answer that comes while a sibling runs begins the dropped code again", async () => {
    let release = () => {};
    const sibling = new Promise<void>((resolve) => (release = resolve));
    const { seen, ask } = asking();
    const slow = toolOf("slow", () => sibling.then(() => "slow"));
    const turn = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
      messages.some(({ role }) => role === "tool")
        ? "done"
        : ([
            { call: "ask", id: "a" },
            { call: "slow", id: "s" },
          ] as const);
    const kit = await openKit(turn, { store: await make(), tools: [ask, slow], runner: { maxHot: 0 } });
    const run = kit.session.run("go");
    await until(() => kit.session.interrupts.length === 1);
    await kit.session.answer(kit.session.interrupts[0]!.id, respond("ann"));
    release();
    expect((await run.result).status).toBe("completed");
    expect(toolResult(await factsOf(kit.store), "a")).toBe("entry 1: ann");
    expect(seen.entries).toBe(1);
  });
});
