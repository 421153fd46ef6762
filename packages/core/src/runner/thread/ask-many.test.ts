import {
  eachStore,
  factProblems,
  factsOf,
  gate,
  openKit,
  said,
  settle,
  stepsOf,
  threadOf,
  toolOf,
  toolResult,
  until,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, humanApproval, humanInput, reject, respond, type Store, type ToolContext } from "../../index.ts";

const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
  messages.some(({ role }) => role === "tool") ? "done" : ([{ call: "survey", id: "s" }] as const);

const names = ["x", "y", "z"] as const;

/** Asks three questions at once, and does a step with each answer as it comes. */
function survey(did: string[]) {
  return toolOf("survey", async (ctx) => {
    did.push("entered");
    const each = async (key: string) => {
      const given = await ctx.ask(humanInput(`${key}?`), { key });
      return ctx.step(`after ${key}`, () => {
        did.push(`after ${key}`);
        return `${key}=${given}`;
      });
    };
    return (await Promise.all(names.map(each))).join(" ");
  });
}

const orders = [
  ["x", "y", "z"],
  ["z", "y", "x"],
  ["y", "z", "x"],
] as const;

const open = (store: Store, did: string[]) => openKit(script, { store, tools: [survey(did)] });

const idOf = (kit: Awaited<ReturnType<typeof open>>, key: string) =>
  kit.session.interrupts.find((request) => request.key === key)!.id;

describe.each(eachStore)("several questions of one call, on $name", ({ make }) => {
  test("Q3: they are open at once, and are answered in any order; each lets the code continue at once", async () => {
    for (const order of orders) {
      const store = await make();
      const did: string[] = [];
      const kit = await open(store, did);
      expect(await kit.session.run("go").result).toMatchObject({
        status: "interrupted",
        interruptType: "tool_interrupt",
      });
      expect(kit.session.interrupts.map(({ key }) => key)).toEqual(["x", "y", "z"]);
      for (const [i, key] of order.entries()) {
        expect(await kit.session.answer(idOf(kit, key), respond(key.toUpperCase()))).toEqual({ open: 2 - i });
        await until(() => did.includes(`after ${key}`));
        expect(kit.session.state).toBe("paused");
      }
      expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
      const facts = await factsOf(store);
      expect(toolResult(facts, "s")).toBe("x=X y=Y z=Z");
      expect(did).toEqual(["entered", ...order.map((key) => `after ${key}`)]);
      expect(kit.requests.length).toBe(2);
      expect(factProblems(facts)).toEqual([]);
    }
  });

  test("Q3, Q2: each answer comes in another process: nothing that is recorded is done again", async () => {
    for (const order of orders) {
      const store = await make();
      const did: string[] = [];
      expect((await (await open(store, did)).session.run("go").result).status).toBe("interrupted");
      for (const key of order) {
        const kit = await open(store, did);
        await kit.session.answer(idOf(kit, key), respond(key.toUpperCase()));
        await until(async () => stepsOf(await factsOf(store)).includes(`after ${key}`));
        await settle();
      }
      const last = await open(store, did);
      expect((await last.session.resume().result).status).toBe("completed");
      expect(toolResult(await factsOf(store), "s")).toBe("x=X y=Y z=Z");
      expect(did.filter((line) => line !== "entered")).toEqual(order.map((key) => `after ${key}`));
    }
  });

  test("Q3: all at once by resume({ answers }), and some of them: with the rest open it ends interrupted again", async () => {
    const store = await make();
    const did: string[] = [];
    const kit = await open(store, did);
    await kit.session.run("go").result;
    const some = { [idOf(kit, "z")]: respond("Z"), [idOf(kit, "x")]: respond("X") };
    expect(await kit.session.resume({ answers: some }).result).toMatchObject({ status: "interrupted", segment: 2 });
    expect(kit.session.interrupts.map(({ key }) => key)).toEqual(["y"]);
    const rest = { [idOf(kit, "y")]: respond("Y") };
    expect((await kit.session.resume({ answers: rest }).result).status).toBe("completed");
    expect(toolResult(await factsOf(store), "s")).toBe("x=X y=Y z=Z");
    expect(did[0]).toBe("entered");
    expect(did.filter((line) => line === "entered").length).toBe(1);
  });

  test("Q3: answers given at once from several processes all count, once each", async () => {
    const store = await make();
    const did: string[] = [];
    const kits = await Promise.all(names.map(() => open(store, did)));
    await kits[0]!.session.run("go").result;
    await Promise.all(kits.map((kit) => threadOf(kit.session).refresh()));
    const ids = names.map((key) => idOf(kits[0]!, key));
    await Promise.all(kits.map((kit, i) => kit.session.answer(ids[i]!, respond(names[i]!.toUpperCase()))));
    await until(async () => toolResult(await factsOf(store), "s") !== undefined);
    const facts = await factsOf(store);
    expect(toolResult(facts, "s")).toBe("x=X y=Y z=Z");
    expect(said(facts).filter((line) => line.startsWith("answered")).length).toBe(3);
    expect([...stepsOf(facts)].sort()).toEqual(["after x", "after y", "after z"]);
    expect(factProblems(facts)).toEqual([]);
    const last = await open(store, did);
    expect((await last.session.resume().result).status).toBe("completed");
  });

  test("Q3: two calls of a turn wait, in a process that did not begin them: the second is answered while the first one runs", async () => {
    const store = await make();
    const slow = gate();
    const entered: string[] = [];
    const turn = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
      messages.some(({ role }) => role === "tool")
        ? "done"
        : ([
            { call: "one", id: "1" },
            { call: "two", id: "2" },
          ] as const);
    const asking = (name: string, then?: Promise<void>) =>
      toolOf(name, async (ctx) => {
        entered.push(name);
        const given = await ctx.ask(humanInput(`${name}?`));
        await then;
        return `${name} ${given}`;
      });
    const openBoth = () => openKit(turn, { store, tools: [asking("one", slow.opened), asking("two")] });
    expect((await (await openBoth()).session.run("go").result).status).toBe("interrupted");
    const kit = await openBoth();
    const [one, two] = kit.session.interrupts;
    await kit.session.answer(one!.id, respond("1"));
    await until(() => entered.length === 3);
    await kit.session.answer(two!.id, respond("2"));
    await until(async () => toolResult(await factsOf(store), "2") === "two 2");
    slow.open();
    expect((await kit.session.resume().result).status).toBe("completed");
    expect(toolResult(await factsOf(store), "1")).toBe("one 1");
    expect(entered).toEqual(["one", "two", "one", "two"]);
    expect(factProblems(await factsOf(store))).toEqual([]);
  });

  test("Q1: an ask that is still open when the function returns is withdrawn, and takes no answer", async () => {
    const store = await make();
    const leaving = toolOf("survey", async (ctx: ToolContext) => {
      void ctx.ask(humanInput("Anything else?"), { key: "else" });
      const { approved } = await ctx.ask(humanApproval("Done?"), { key: "done" });
      return `done ${approved}`;
    });
    const kit = await openKit(script, { store, tools: [leaving] });
    await kit.session.run("go").result;
    const [other, done] = ["else", "done"].map((key) => idOf(kit, key));
    expect(await kit.session.answer(done!, reject("not yet"))).toEqual({ open: 1 });
    await until(() => kit.session.interrupts.length === 0);
    await expect(kit.session.answer(other!, respond("more"))).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
    expect((await kit.runner.inbox()).items).toEqual([]);
    expect((await kit.session.resume().result).status).toBe("completed");
    expect(toolResult(await factsOf(store), "s")).toBe("done false");
  });

  test("Q3: an answer given before the run has paused lets it continue without a resume", async () => {
    const store = await make();
    const sibling = gate();
    const turn = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
      messages.some(({ role }) => role === "tool")
        ? "done"
        : ([
            { call: "ask", id: "a" },
            { call: "slow", id: "b" },
          ] as const);
    const tools = [
      toolOf("ask", async (ctx) => (await ctx.ask(humanApproval("?"))).approved),
      toolOf("slow", () => sibling.opened),
    ];
    const kit = await openKit(turn, { store, tools });
    const run = kit.session.run("go");
    await until(() => kit.session.interrupts.length === 1);
    await kit.session.answer(kit.session.interrupts[0]!.id, approve());
    sibling.open();
    expect((await run.result).status).toBe("completed");
  });
});
