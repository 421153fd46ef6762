import { eachStore, history, listen, openKit, paying, requestOf, settle, toolOf, until, waiting } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agent, approve, createRunner, type Hooks, humanApproval, type LogEntry, sequential } from "../../index.ts";
import { scriptedModel } from "../../testing/index.ts";

/** Hooks that note their facts, with the head of the thread in the store at that moment. */
function noting(heard: string[], who: string): Hooks {
  return {
    onRequest: ({ request, agentName, threadId }) =>
      void heard.push(`${who}: ${agentName} asks ${request.tool} in ${threadId}`),
    onPause: ({ pauseType, interrupts, interrupt }) =>
      void heard.push(`${who}: pauses ${pauseType} ${interrupts.length} ${interrupt.data.type}`),
    onEnd: ({ status, usage }) => void heard.push(`${who}: ${status} ${typeof usage.inputTokens}`),
  };
}

describe.each(eachStore)("hooks that get facts on record ($name)", ({ make }) => {
  test("L5: onRequest, onPause and onEnd are called once each, after the fact is on record, for runner and agent", async () => {
    const store = await make();
    const heard: string[] = [];
    const { tools } = paying();
    const kit = await openKit([[{ call: "pay", id: "a", args: { n: 1 } }], "done"], {
      store,
      tools,
      runner: { hooks: noting(heard, "runner") },
      agent: { hooks: noting(heard, "agent") },
    });
    await kit.session.run("go").result;
    await settle();
    expect(heard).toEqual([
      "runner: helper asks pay in thread",
      "agent: helper asks pay in thread",
      "runner: pauses tool_interrupt 1 tools",
      "agent: pauses tool_interrupt 1 tools",
    ]);
    // A new handle records the pause again, and nothing new has happened.
    await kit.session.handle();
    await kit.session.resume({ answers: { [requestOf(kit, "a").id]: approve() } }).result;
    await settle();
    expect(heard.slice(4)).toEqual(["runner: completed number", "agent: completed number"]);
  });

  test("L5: a stop pauses, a failure and terminate() end; the facts of a hook are in the store by then", async () => {
    const store = await make();
    const seen: unknown[] = [];
    const hooks: Hooks = {
      onPause: async ({ threadId, pauseType }) =>
        void seen.push([pauseType, (await kit.runner.look(threadId))?.pauseType]),
      onEnd: async ({ threadId, status, error }) =>
        void seen.push([status, error?.code, (await kit.runner.look(threadId))?.state]),
    };
    const kit = await openKit([[{ text: "so far" }, { stall: true }], [{ throw: new Error("down") }]], {
      store,
      agent: { settings: { retry: { attempts: 1 } } },
      runner: { hooks },
    });
    const run = kit.session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    await kit.session.interrupt();
    await until(() => seen.length === 1);
    await kit.session.resume({ input: "on" }).result;
    await until(() => seen.length === 2);
    expect(seen).toEqual([
      ["user_interrupt", "user_interrupt"],
      ["failed", "MODEL_FAILED", "error"],
    ]);
  });

  test("L5: a hook that throws is logged and breaks nothing; the asking agent's own hook gets its request", async () => {
    const log: LogEntry[] = [];
    const heard: string[] = [];
    const { tools } = paying();
    const inner = agent({
      name: "inner",
      model: scriptedModel([[{ call: "pay", id: "p", args: { n: 1 } }], "done"]),
      tools: [...tools],
      hooks: noting(heard, "inner"),
    });
    const runner = createRunner({
      agent: sequential({ name: "outer", agents: [inner] }),
      store: await make(),
      log: (entry) => log.push(entry),
      hooks: {
        onRequest: () => {
          throw new Error("no mail server");
        },
      },
    });
    const session = await runner.open("t");
    expect(await session.run("go").result).toMatchObject({ status: "interrupted" });
    await settle();
    expect(heard).toEqual(["inner: inner asks pay in t"]);
    expect(log.map(({ error }) => error.code)).toEqual(["HOOK_FAILED"]);
  });
});

describe.each(eachStore)("groups ($name)", ({ make }) => {
  const asking = () => paying({ needsApproval: () => humanApproval("Pay?", { approvers: ["group:staff", "cat"] }) });

  test("L5: a runner without groups refuses a group: approver with ANSWER_FORBIDDEN", async () => {
    const kit = await waiting(["a"], { store: await make(), tools: asking().tools });
    const { id } = requestOf(kit, "a");
    await expect(kit.runner.answer(id, approve({ by: "ann" }))).rejects.toMatchObject({ code: "ANSWER_FORBIDDEN" });
    expect(await kit.runner.answer(id, approve({ by: "cat" }))).toEqual({ open: 0 });
  });

  test("L5: the caller of answer() may vouch for groups of the person, also if another process records it", async () => {
    const store = await make();
    const kit = await waiting(["a", "b"], { store, tools: asking().tools });
    const [a, b] = ["a", "b"].map((id) => requestOf(kit, id).id);
    const front = createRunner({ store });
    const ids = async (filter: object) => (await front.inbox(filter)).items.map(({ id }) => id);
    expect(await ids({ by: "ann", groups: ["sales"] })).toEqual([]);
    expect(await ids({ by: "ann", groups: ["sales", "staff"] })).toEqual([a, b]);
    const refused = { code: "ANSWER_FORBIDDEN" };
    await expect(front.answer(a!, approve(), { by: "ann", groups: ["sales"] })).rejects.toMatchObject(refused);
    // A request that names a group needs a person of it, and not the group alone.
    await expect(front.answer(a!, approve(), { groups: ["staff"] })).rejects.toMatchObject(refused);
    expect(await kit.session.answer(a!, approve(), { by: "ann", groups: ["staff"] })).toEqual({ open: 1 });
    expect(await front.answer(b!, approve(), { by: "ann", groups: ["staff"] })).toEqual({ open: 0 });
    await expect(front.answer(b!, approve(), { groups: "staff" as never })).rejects.toMatchObject({
      code: "OPTION_INVALID",
    });
  });

  test("L5: groups as a function is asked by the process that receives the answer, also if another one records it", async () => {
    const store = await make();
    const { tools } = asking();
    const asked: string[] = [];
    const groups = async (group: string, by: string) => {
      asked.push(`${group} ${by}`);
      return by === "ann";
    };
    let open: () => void = () => {};
    const slow = toolOf("slow", () => new Promise<void>((resolve) => (open = resolve)));
    const calls = [
      { call: "pay", id: "a", args: { n: 1 } },
      { call: "pay", id: "b", args: { n: 2 } },
      { call: "slow", id: "s" },
    ];
    const owner = await openKit([calls, "done"], { store, tools: [...tools, slow] });
    const run = owner.session.run("go");
    await until(() => owner.session.interrupts.length === 2);
    const front = createRunner({ store, groups });
    const [a, b] = ["a", "b"].map((id) => requestOf(owner, id).id);
    await expect(front.answer(a!, approve({ by: "bob" }))).rejects.toMatchObject({ code: "ANSWER_FORBIDDEN" });
    expect(await front.answer(a!, approve({ by: "ann" }))).toEqual({ open: 1 });
    expect(asked).toEqual(["staff bob", "staff ann"]);
    expect((await front.inbox({ by: "ann" })).items.map(({ id }) => id)).toEqual([b]);
    expect((await front.inbox({ by: "bob" })).items.map(({ id }) => id)).toEqual([]);
    open();
    await run.result;
    const other = await openKit(["done"], { store, tools: [...tools, slow], threadId: "x", runner: { groups } });
    const resumed = await other.runner.resume("thread", { answers: { [b!]: approve({ by: "ann" }) } });
    expect(await resumed.result).toMatchObject({ status: "completed" });
    expect(history((await other.runner.open("thread")).messages).at(-1)).toBe("assistant: done");
    await expect(async () => createRunner({ store, groups: { staff: "ann" } as never })).rejects.toMatchObject({
      code: "OPTION_INVALID",
    });
  });
});
