import {
  type AnyAgent,
  eachStore,
  factsOf,
  faultyStore,
  openKit,
  runs,
  stepsOf,
  toolOf,
  toolResult,
  until,
  wrapStore,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  type AgentContext,
  createRunner,
  defineAgent,
  END,
  graph,
  humanInput,
  memoryStore,
  type NodeContext,
  respond,
  START,
  type Store,
  type ToolContext,
} from "../index.ts";

const large = "x".repeat(2000);
const key = { tenant: "default", threadId: "thread" };
const question = humanInput("Large?", { context: large });
const child = defineAgent({ name: "child", run: () => "ran" });
const message = (what: string) => `${what} takes 20\\d\\d bytes; at most 1000 are taken\\.`;

type State = { text: string };
type AnyContext = ToolContext | AgentContext | NodeContext<State>;

/** Returns too much, catches the refusal, and asks a person. */
async function goOn(ctx: AnyContext, give: () => unknown): Promise<unknown[]> {
  let met: unknown = "nothing";
  try {
    await give();
  } catch (error) {
    met = (error as Error).message;
  }
  if (met === "nothing") return ["it was taken"];
  const less = await ctx.step("less", () => "less");
  return [met, less, await ctx.ask(humanInput("On?"))];
}

const open = (agent: Agent<unknown, never>, store: Store, maxBytes: number) =>
  createRunner({ agent: agent as AnyAgent, store, maxBytes }).open("thread");

const asNode = (run: (ctx: NodeContext<State>) => unknown) =>
  graph<State>("root")
    .node("only", (_input: unknown, ctx) => run(ctx))
    .edge(START, "only")
    .edge("only", END)
    .compile({ state: { text: "" } });

describe.each(eachStore)("what code gave, larger than maxBytes, on $name", ({ make }) => {
  test.each<[string, string, (ctx: ToolContext) => unknown]>([
    ["ask", "The request", (ctx) => ctx.ask(question)],
    ["customAction", "A custom action", (ctx) => ctx.customAction(large)],
    ["exit", "The output of exit\\(\\)", (ctx) => ctx.exit(large)],
    ["breakLoop", "The output of breakLoop\\(\\)", (ctx) => ctx.breakLoop(large)],
  ])(
    "P12, Q2: a tool that caught the refusal meets it again when it begins again, under a larger bound, too: %s",
    async (_, what, give) => {
      const store = await make();
      const work = toolOf("work", (ctx) => goOn(ctx, () => give(ctx)));
      const turn = ({ messages }: { messages: readonly { role: string }[] }) =>
        messages.some(({ role }) => role === "tool") ? "done" : ([{ call: "work", id: "w" }] as const);
      const first = await openKit(turn, { store, tools: [work], runner: { maxBytes: 1000 } });
      expect((await first.session.run("go").result).status).toBe("interrupted");
      const second = await openKit(turn, { store, tools: [work], runner: { maxBytes: 10_000 } });
      const answers = { [second.session.interrupts[0]!.id]: respond("yes") };
      expect(await second.session.resume({ answers }).result).toMatchObject({ status: "completed", text: "done" });
      const met = expect.stringMatching(`^${message(what)}$`);
      expect(toolResult(await factsOf(store), "w")).toEqual([met, "less", "yes"]);
    },
  );

  test.each<[string, string, (ctx: AgentContext) => unknown]>([
    ["ask", "The request", (ctx) => ctx.ask(question)],
    ["run", "The input of child", (ctx) => ctx.run(child, large)],
    ["customAction", "A custom action", (ctx) => ctx.customAction(large)],
    ["exit", "The output of exit\\(\\)", (ctx) => ctx.exit(large)],
    ["breakLoop", "The output of breakLoop\\(\\)", (ctx) => ctx.breakLoop(large)],
    ["setState", "What setState\\(\\) changes", (ctx) => (ctx as NodeContext<State>).setState(() => ({ text: large }))],
  ])("P12, Q2: so does a node: %s", async (_, what, give) => {
    const store = await make();
    const root = asNode((ctx) => goOn(ctx, () => give(ctx)));
    const first = await open(root, store, 1000);
    expect((await first.run("go").result).status).toBe("interrupted");
    const second = await open(root, store, 10_000);
    const answers = { [second.interrupts[0]!.id]: respond("yes") };
    const output = [expect.stringMatching(`^${message(what)}$`), "less", "yes"];
    expect(await second.resume({ answers }).result).toMatchObject({ status: "completed", output });
    // The question, and the view of the pause that waits for it.
    expect((await factsOf(store)).filter(({ type }) => type === "action")).toHaveLength(2);
  });
});

describe("what code gave, larger than maxBytes", () => {
  test("P12: code that failed by a refusal has nothing of it on record, and continues under a larger bound", async () => {
    const store = memoryStore();
    const root = defineAgent({
      name: "root",
      run: async (ctx) => {
        const one = await ctx.step("one", () => 1);
        ctx.customAction(large);
        return [one, await ctx.run(child, large), await ctx.ask(question)];
      },
    });
    const first = await open(root, store, 1000);
    expect(await first.run("go").result).toMatchObject({ status: "failed", error: { code: "TOO_LARGE" } });
    expect(stepsOf(await factsOf(store))).toEqual(["one"]);
    await first.close();
    const second = await open(root, store, 10_000);
    expect((await second.resume().result).status).toBe("interrupted");
    const answers = { [second.interrupts[0]!.id]: respond("yes") };
    expect(await second.resume({ answers }).result).toMatchObject({ output: [1, "ran", "yes"] });
  });

  test("P12, Q2: a recorded value is not measured again: it is handed out under a smaller bound, too", async () => {
    const store = memoryStore();
    const root = defineAgent({
      name: "root",
      run: async (ctx) => {
        ctx.customAction(large);
        return [await ctx.run(child, large), await ctx.ask(question)];
      },
    });
    const first = await open(root, store, 10_000);
    expect((await first.run("go").result).status).toBe("interrupted");
    const second = await open(root, store, 1000);
    const answers = { [second.interrupts[0]!.id]: respond("yes") };
    expect(await second.resume({ answers }).result).toMatchObject({ status: "completed", output: ["ran", "yes"] });
  });

  test("P12, Q2: its key is free, as often as it is refused; each refusal is met again in its place", async () => {
    const store = memoryStore();
    const root = defineAgent({
      name: "root",
      run: async (ctx) => {
        const met: string[] = [];
        const note = ({ code }: { code: string }) => void met.push(code);
        await ctx.ask(question, { key: "k" }).catch(note);
        await ctx.ask(question, { key: "k" }).catch(note);
        const said = await ctx.ask(humanInput("Small?"), { key: "k" });
        await ctx.ask(question, { key: "k" }).catch(note);
        await ctx.run(child, large).catch(note);
        const ran = await ctx.run(child, "small");
        return [met, said, ran, await ctx.ask(humanInput("On?"))];
      },
    });
    const answered = (session: Awaited<ReturnType<typeof open>>) =>
      session.resume({ answers: { [session.interrupts[0]!.id]: respond("yes") } }).result;
    await (await open(root, store, 1000)).run("go").result;
    expect((await answered(await open(root, store, 1000))).status).toBe("interrupted");
    const output = [["TOO_LARGE", "TOO_LARGE", "KEY_REUSED", "TOO_LARGE"], "yes", "ran", "yes"];
    expect(await answered(await open(root, store, 10_000))).toMatchObject({ status: "completed", output });
    expect(stepsOf(await factsOf(store))).toEqual(["k refused#1", "k refused#2", "run child refused#1"]);
    expect(runs(await factsOf(store))).toEqual(["+ root", "+ root/child:child", "- root/child:child", "- root"]);
  });

  test("P12, C2: wherever its process dies, it continues under a larger bound; each effect happens once, and a refusal with a later step stays", async () => {
    const outputs = new Set<string>();
    for (let appends = 1; ; appends++) {
      let left = appends;
      const store = memoryStore();
      const side = faultyStore(store);
      const did: string[] = [];
      const root = asNode(async (ctx) => {
        const met = [await ctx.step("one", () => did.push("one"))];
        const note = (error: { code: string }) => (error.code === "TOO_LARGE" ? "refused" : error.code);
        const ran = ctx.run(child, large).catch(note);
        await ctx.step("two", () => did.push("two"));
        const told = await ctx.run(child, large, { key: "again" }).catch(note);
        if (told === "refused") await ctx.run(child, "small", { key: "again" });
        else await ctx.step("taken", () => did.push("taken"));
        return [...met, await ran, told];
      });
      const dies = wrapStore(side, {
        append: (...args) => {
          if (--left < 0) side.kill();
          return side.append(...args);
        },
      });
      const options = { agent: root as AnyAgent, store: dies, maxBytes: 1000, leaseTtlMs: 20 };
      let whole = false;
      void (await createRunner(options).open("thread")).run("go").result.then(() => (whole = true));
      await until(async () => whole || (left < 0 && (await store.load(key))?.row.lease === undefined));
      if (whole) break;
      const began = stepsOf(await factsOf(store));
      const end = await (await open(root, store, 10_000)).resume().result;
      expect(end).toMatchObject({ status: "completed" });
      const [, ran, told] = (end as { output: unknown[] }).output;
      if (began.includes("two")) expect(ran).toBe("refused");
      expect(did.filter((each) => each === "taken").length).toBe(told === "refused" ? 0 : 1);
      outputs.add(`${ran} ${told}`);
    }
    expect([...outputs].toSorted()).toEqual(["ran ran", "refused ran", "refused refused"]);
  });

  test("P12, Q2: code that no longer makes the refused value diverges from the record", async () => {
    const store = memoryStore();
    const first = await open(
      asNode((ctx) => goOn(ctx, () => ctx.customAction(large))),
      store,
      1000,
    );
    expect((await first.run("go").result).status).toBe("interrupted");
    const other = asNode(async (ctx) => [await ctx.step("less", () => "less"), await ctx.ask(humanInput("On?"))]);
    const second = await open(other, store, 1000);
    const answers = { [second.interrupts[0]!.id]: respond("yes") };
    const error = { code: "REPLAY_DIVERGED", message: expect.stringContaining("action#1 refused#1") };
    expect(await second.resume({ answers }).result).toMatchObject({ status: "failed", error });
  });
});
