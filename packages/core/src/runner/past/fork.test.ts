import {
  eachStore,
  factsOf,
  gate,
  history,
  type Kit,
  type KitOptions,
  openKit,
  said,
  settle,
  toolOf,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, humanInput, respond, type Store, type Tool } from "../../index.ts";

const key = (threadId: string) => ({ tenant: "default", threadId });
const facts = async (store: Store, threadId: string) => said(await factsOf(store, threadId));

describe.each(eachStore)("a fork, on $name", ({ make }) => {
  const kit = async (turns: Parameters<typeof openKit>[0], more: KitOptions = {}) =>
    openKit(turns, { store: await make(), ...more });
  const messageId = ({ session }: Kit, n: number) => session.messages[n]!.id;

  test("T2: shares the past up to a message, continues on its own, and leaves the other thread unchanged", async () => {
    const it = await kit(["one", "two", "two, otherwise"]);
    await it.session.run("first").result;
    await it.session.run("second").result;
    const before = await it.store.load(key("thread"));
    const { session, effects } = await it.runner.fork("thread", { at: messageId(it, 1), as: "other" });
    expect(session.threadId).toBe("other");
    expect(history(session.messages)).toEqual(["user: first", "assistant: one"]);
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "one" });
    expect(await session.run("second, otherwise").result).toMatchObject({ text: "two, otherwise" });
    expect(history(session.messages)).toEqual([
      "user: first",
      "assistant: one",
      "user: second, otherwise",
      "assistant: two, otherwise",
    ]);
    expect(effects).toEqual([]);
    expect(await it.store.load(key("thread"))).toEqual(before);
    expect((await it.store.load(key("other")))?.row.parent?.threadId).toBe("thread");
    expect(it.problems()).toEqual([]);
  });

  test("T2: before a message, a person can say it otherwise: the first, a later one, one that was said after a stop", async () => {
    const it = await kit(["one", [{ text: "two" }, { stall: true }], "three", "a", "b", "c"]);
    await it.session.run("first").result;
    const run = it.session.run("second");
    await settle();
    await it.session.interrupt();
    await run.result;
    await it.session.resume({ input: "third" }).result;
    const edits = await Promise.all(
      ["first", "second", "third"].map((text) => {
        const { id } = it.session.messages.find(({ parts: [part] }) => part?.type === "text" && part.text === text)!;
        return it.runner.fork("thread", { before: id });
      }),
    );
    expect(edits.map(({ session }) => [session.state, session.pauseType])).toEqual([
      ["initialized", undefined],
      ["completed", undefined],
      ["paused", "user_interrupt"],
    ]);
    for (const { session } of edits) await session.run("edited").result;
    expect(edits.map(({ session }) => history(session.messages))).toEqual([
      ["user: edited", "assistant: a"],
      ["user: first", "assistant: one", "user: edited", "assistant: b"],
      ["user: first", "assistant: one", "user: second", "assistant~user: two", "user: edited", "assistant: c"],
    ]);
    expect(it.problems()).toEqual([]);
  });

  test("T2: every visible message is a point, and the fork has exactly its visible part", async () => {
    const tools = ["a", "b"].map((name) => toolOf(name, () => name));
    const turns = [
      [
        { call: "a", id: "a" },
        { call: "b", id: "b" },
      ],
      [{ text: "cut" }, { stall: true }],
      " and whole",
      "after",
    ] as const;
    const it = await kit([...turns, ...Array(12).fill("more")], { tools });
    const run = it.session.run("go");
    await settle();
    await it.session.interrupt();
    await run.result;
    await it.session.resume().result;
    await it.session.run("and then").result;
    const seen = history(it.session.messages);
    expect(seen).toEqual([
      "user: go",
      "assistant: call a + call b",
      "tool: a ok + b ok",
      "assistant: cut and whole",
      "user: and then",
      "assistant: after",
    ]);
    for (const [i, { id }] of it.session.messages.entries()) {
      const { session } = await it.runner.fork("thread", { at: id });
      expect(history(session.messages)).toEqual(seen.slice(0, i + 1));
      const { session: without } = await it.runner.fork("thread", { before: id });
      expect(history(without.messages)).toEqual(seen.slice(0, i));
    }
  });

  test("T2: before an answer, the model is called again", async () => {
    const it = await kit(["one", "another"]);
    await it.session.run("first").result;
    const { session } = await it.runner.fork("thread", { before: messageId(it, 1) });
    expect(session).toMatchObject({ state: "paused", pauseType: "manual" });
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "another" });
  });

  test("T2: lists the effects of the other thread beyond the point: calls with their arguments, and their steps", async () => {
    const steps = toolOf("order", async (ctx) => {
      await ctx.step("one", () => 1);
      return "ordered";
    });
    const pay = toolOf("pay", () => "paid", { needsApproval: true });
    const refused = toolOf("refused", () => "never", { needsApproval: true });
    const calls = ["work", "order", "pay", "refused"].map((call) => ({ call, id: call, args: { of: call } }));
    const work = toolOf("work", () => {
      throw new Error("half done");
    });
    const it = await kit([calls, "done"], { tools: [steps, pay, refused, work] });
    await it.session.run("go").result;
    const [toPay, toRefuse] = it.session.interrupts;
    const answers = {
      [toPay!.id]: approve({ args: { of: "less" } }),
      [toRefuse!.id]: { type: "reject", reason: "no" },
    };
    await it.session.resume({ answers: answers as never }).result;
    const { effects } = await it.runner.fork("thread", { before: messageId(it, 1) });
    expect(
      effects.map(({ tool, key, args, outcome, address }) => [tool ?? key, args, outcome, address]).sort(),
    ).toEqual([
      ["one", undefined, "ok", "helper/t1/c1/s:one"],
      ["order", { of: "order" }, "ok", "helper/t1/c1"],
      ["pay", { of: "less" }, "ok", "helper/t1/c2"],
      ["work", { of: "work" }, "error", "helper/t1/c0"],
    ]);
    const all = await it.runner.history("thread");
    expect((await it.runner.fork("thread", { at: all.at(-1)!.seq })).effects).toEqual([]);
  });

  test("T2, Q5: open requests are raised anew: each thread has its own answer", async () => {
    const paid: string[] = [];
    const pay = toolOf("pay", (ctx) => paid.push(ctx.threadId), { needsApproval: true });
    const it = await kit([[{ call: "pay", id: "p" }], "done", "done too"], { tools: [pay] });
    await it.session.run("go").result;
    const [asked] = it.session.interrupts;
    const head = (await it.store.load(key("thread")))!.row.head;
    const { session } = await it.runner.fork("thread", { at: head, as: "other" });
    expect(session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    const [anew] = session.interrupts;
    expect(anew).toMatchObject({ kind: "approval", tool: "pay", replaces: asked!.id });
    expect((await it.runner.inbox()).items.map(({ id, threadId }) => [id, threadId])).toEqual([
      [asked!.id, "thread"],
      [anew!.id, "other"],
    ]);
    await expect(session.answer(asked!.id, approve())).rejects.toMatchObject({ code: "ANSWER_UNKNOWN" });
    await it.runner.answer(anew!.id, approve());
    expect(await session.resume().result).toMatchObject({ status: "completed" });
    expect([paid, it.session.interrupts.length]).toEqual([["other"], 1]);
    await it.runner.answer(asked!.id, approve());
    expect(await it.session.resume().result).toMatchObject({ status: "completed" });
    expect(paid).toEqual(["other", "thread"]);
  });

  test("T2, Q5: an approval that the other thread has, and that nothing has begun by, does not count here", async () => {
    const paid: string[] = [];
    const pay = toolOf("pay", (ctx) => paid.push(ctx.threadId), { needsApproval: true });
    const it = await kit([[{ call: "pay", id: "p" }], "done", "done too"], { tools: [pay] });
    await it.session.run("go").result;
    await it.session.resume({ answers: { [it.session.interrupts[0]!.id]: approve() } }).result;
    const told = await facts(it.store, "thread");
    const at = told.indexOf("answered approve by user") + 1;
    const { session } = await it.runner.fork("thread", { at });
    expect(session.interrupts).toMatchObject([{ kind: "approval", tool: "pay" }]);
    expect(await session.resume().result).toMatchObject({ status: "interrupted" });
    expect(paid).toEqual(["thread"]);
    await session.answer(session.interrupts[0]!.id, approve());
    expect(await session.resume().result).toMatchObject({ status: "completed" });
    expect(paid).toEqual(["thread", session.threadId]);
  });

  test("T2, Q2: code that waits with a question continues from its recorded steps, approved or not, once it is answered here", async () => {
    const did: string[] = [];
    const order = toolOf(
      "order",
      async (ctx) => {
        await ctx.step("one", () => void did.push(`${ctx.threadId} one`));
        const who = await ctx.ask(humanInput("Whose?"));
        await ctx.step("two", () => void did.push(`${ctx.threadId} two`));
        return `for ${who}`;
      },
      { needsApproval: true },
    );
    const it = await kit([[{ call: "order", id: "o" }], "done", "done too"], { tools: [order] });
    await it.session.run("go").result;
    await it.session.resume({ answers: { [it.session.interrupts[0]!.id]: approve() } }).result;
    const [question] = it.session.interrupts;
    const head = (await it.store.load(key("thread")))!.row.head;
    const { session } = await it.runner.fork("thread", { at: head, as: "other" });
    await session.resume({ answers: { [session.interrupts[0]!.id]: respond("ann") } }).result;
    await it.session.resume({ answers: { [question!.id]: respond("ben") } }).result;
    expect(did).toEqual(["thread one", "other two", "thread two"]);
    const results = [session, it.session].map(({ messages }) => messages[2]!.parts[0]);
    expect(results).toMatchObject([{ output: "for ann" }, { output: "for ben" }]);
  });

  test("T2, C1: a call that ran there is of unknown outcome here: by its policy on continue, reported to the model on new input", async () => {
    const held = gate();
    const ran: string[] = [];
    const make = (name: string, onCrash: "ask" | "retry" | "fail"): Tool<unknown> =>
      toolOf(
        name,
        async (ctx) => {
          ran.push(`${ctx.threadId} ${name}`);
          if (ctx.threadId === "thread") await held.opened;
          return "done";
        },
        { onCrash },
      );
    const tools = [make("asks", "ask"), make("again", "retry"), make("fails", "fail")];
    const calls = ["asks", "again", "fails"].map((call) => ({ call, id: call }));
    const it = await kit([calls, "continued", "rethought", "done"], { tools });
    const run = it.session.run("go");
    await settle();
    const { head } = (await it.store.load(key("thread")))!.row;
    const first = await it.runner.fork("thread", { at: head, as: "continues" });
    const second = await it.runner.fork("thread", { at: head, as: "rethinks" });
    expect(first.effects.map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ["asks", "unknown"],
      ["again", "unknown"],
      ["fails", "unknown"],
    ]);
    const { session } = first;
    expect(await session.resume().result).toMatchObject({ status: "interrupted" });
    expect(session.interrupts).toMatchObject([{ kind: "unknown", tool: "asks" }]);
    await session.answer(session.interrupts[0]!.id, respond("it was done"));
    expect(await session.resume().result).toMatchObject({ text: "continued" });
    expect(session.messages[2]!.parts).toMatchObject([
      { outcome: "ok", output: "it was done" },
      { outcome: "ok", output: "done" },
      { outcome: "unknown" },
    ]);
    await second.session.run("never mind").result;
    expect(history(second.session.messages)[2]).toBe("tool: asks unknown + again unknown + fails unknown");
    held.open();
    expect(await run.result).toMatchObject({ status: "completed", text: "done" });
    expect(ran).toEqual(["thread asks", "thread again", "thread fails", "continues again"]);
    expect(it.problems()).toEqual([]);
  });

  test("T2, S4: calls that were held there are held here, and run once in each thread that continues", async () => {
    const ran: string[] = [];
    const work = toolOf("work", (ctx) => ran.push(ctx.threadId));
    const it = await kit([[{ call: "work", id: "w" }], "done", "done too", "rethought"], { tools: [work] });
    const run = it.session.run("go");
    await it.session.interrupt({ mode: "after-model" });
    await run.result;
    const { head } = (await it.store.load(key("thread")))!.row;
    const { session } = await it.runner.fork("thread", { at: head, as: "other" });
    const rethinks = await it.runner.fork("thread", { at: head, as: "rethinks" });
    expect([session.pauseType, ran]).toEqual(["user_interrupt", []]);
    await session.resume().result;
    await it.session.resume().result;
    await rethinks.session.run("something else").result;
    expect(ran).toEqual(["other", "thread"]);
    expect(history(rethinks.session.messages)[2]).toBe("tool: w not-executed");
  });

  test("T2, R5: a handle of the other thread does not work here", async () => {
    const it = await kit([[{ text: "one" }, { stall: true }], "more"]);
    const run = it.session.run("go");
    await settle();
    await it.session.interrupt();
    const result = await run.result;
    if (result.status !== "interrupted") throw new Error(result.status);
    const head = (await it.store.load(key("thread")))!.row.head;
    const { session } = await it.runner.fork("thread", { at: head, as: "other" });
    const stolen = { ...result.handle, threadId: "other" };
    await expect(it.runner.resume(stolen)).rejects.toMatchObject({ code: "TOKEN_SPENT" });
    expect(await (await it.runner.resume(await session.handle())).result).toMatchObject({ status: "completed" });
  });

  test("T2, T3: no worker continues a fork, with any point", async () => {
    const work = toolOf("work", () => "done", { needsApproval: true });
    const it = await kit([[{ call: "work", id: "w" }], "done", "no"], { tools: [work] });
    await it.session.run("go").result;
    await it.session.resume({ answers: { [it.session.interrupts[0]!.id]: approve() } }).result;
    const { head } = (await it.store.load(key("thread")))!.row;
    for (let at = 0; at <= head; at++) await it.runner.fork("thread", { at });
    const before = (await it.runner.threads()).items;
    const ending = new AbortController();
    const working = it.runner.work({ pollMs: 1, signal: ending.signal });
    await new Promise((resolve) => setTimeout(resolve, 30));
    ending.abort();
    await working;
    expect((await it.runner.threads()).items).toEqual(before);
  });

  test("T2: continues after its parent is deleted, also a fork of a fork; another process can open it", async () => {
    const it = await kit(["one", "two"]);
    await it.session.run("first").result;
    const { head } = (await it.store.load(key("thread")))!.row;
    await it.runner.fork("thread", { at: head, as: "child" });
    await it.runner.fork("child", { at: head, as: "grandchild" });
    await it.runner.delete("thread");
    await it.runner.delete("child");
    expect((await it.runner.threads()).items.map(({ threadId }) => threadId)).toEqual(["grandchild"]);
    const other = await openKit(["three"], { store: it.store, threadId: "grandchild" });
    expect(history(other.session.messages)).toEqual(["user: first", "assistant: one"]);
    await other.session.run("more").result;
    expect(history(other.session.messages).at(-1)).toBe("assistant: three");
  });

  test("T2: permissions for the thread hold here too, until they are taken back here", async () => {
    const pay = toolOf("pay", () => "paid", { needsApproval: true });
    const it = await kit([[{ call: "pay", id: "p" }], "done", [{ call: "pay", id: "p2" }], "done too"], {
      tools: [pay],
    });
    await it.session.run("go").result;
    await it.session.resume({ answers: { [it.session.interrupts[0]!.id]: approve({ remember: "thread" }) } }).result;
    const { head } = (await it.store.load(key("thread")))!.row;
    const { session } = await it.runner.fork("thread", { at: head });
    expect(await session.run("again").result).toMatchObject({ status: "completed" });
    expect(await session.removeRule(session.rules[0]!.id!)).toBe(true);
    expect([session.rules.length, it.session.rules.length]).toEqual([0, 1]);
  });
});
