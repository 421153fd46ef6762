import { isDeepStrictEqual } from "node:util";
import { eachStore, factProblems, factsOf, settle, toolOf, until } from "@belay/testkit";
import fc from "fast-check";
import { expect, inject, test } from "vitest";
import {
  type Agent,
  agent,
  agentTool,
  approve,
  createRunner,
  defineAgent,
  END,
  type Fact,
  graph,
  humanInput,
  loop,
  type ModelRequest,
  parallel,
  type Runner,
  respond,
  type Session,
  START,
  type Store,
  sequential,
  type Tool,
  type ToolContext,
} from "../../index.ts";
import { promptProblems, type ScriptedPart, scriptedModel } from "../../testing/index.ts";

const { forkedLives, seed } = inject("effort");

type AnyAgent = Agent<unknown, unknown>;

/** Effects outside of any journal. */
interface World {
  /** Executed work, as thread, place and step. */
  readonly ran: { readonly threadId: string; readonly what: string }[];
  readonly problems: string[];
}

const tools = (world: World): Record<string, Tool<unknown>> => {
  const runs = (ctx: Pick<ToolContext, "threadId">, what: string) => world.ran.push({ threadId: ctx.threadId, what });
  return {
    work: toolOf("work", (ctx) => runs(ctx, ctx.callId) && "worked", { onCrash: "fail" }),
    look: toolOf("look", (ctx) => runs(ctx, ctx.callId) && "seen", { readOnly: true }),
    doubt: toolOf("doubt", (ctx) => runs(ctx, ctx.callId) && "done"),
    pay: toolOf("pay", (ctx) => runs(ctx, ctx.callId) && "paid", { needsApproval: true }),
    order: toolOf(
      "order",
      async (ctx) => {
        await ctx.step("one", () => void runs(ctx, `${ctx.callId}/one`));
        const who = await ctx.ask(humanInput("Whose?"));
        await ctx.step("two", () => void runs(ctx, `${ctx.callId}/two`));
        return `of ${who}`;
      },
      { needsApproval: true },
    ),
  };
};

/** One answer of the model: names of the tools it calls, or none for words. */
type Plan = readonly (readonly string[])[];

/** Takes the next step that its history lacks: the same for every caller, and in every thread. */
function planned(world: World, name: string, plan: Plan, given: Record<string, Tool<unknown>>): AnyAgent {
  const speak = ({ messages }: ModelRequest): string | readonly ScriptedPart[] => {
    for (const problem of promptProblems(messages)) world.problems.push(`${name}: ${problem}`);
    const step = messages.filter(({ role }) => role === "assistant").length;
    const calls = plan[step] ?? [];
    if (calls.length === 0) return `${name} says ${step}`;
    return [{ text: "so: " }, ...calls.map((call, i) => ({ call, id: `${name}-${step}-${i}-${messages.length}` }))];
  };
  return agent({ name, model: scriptedModel(speak), tools: Object.values(given), graceMs: 5 }) as AnyAgent;
}

type Shape = "chat" | "sequential" | "parallel" | "loop" | "inside" | "graph" | "custom" | "transfer";

function build(world: World, shape: Shape, plan: Plan): AnyAgent {
  const given = tools(world);
  const chat = (name: string, of: Plan = plan) => planned(world, name, of, given);
  switch (shape) {
    case "chat":
      return chat("root");
    case "sequential":
      return sequential({ name: "root", agents: [chat("a"), chat("b")] }) as AnyAgent;
    case "parallel":
      return parallel({ name: "root", agents: [chat("a"), chat("b")] }) as AnyAgent;
    case "loop":
      return loop({ name: "root", agents: [chat("a")], maxIterations: 2 }) as AnyAgent;
    case "inside":
      return planned(world, "root", [["inner"], ...plan], { ...given, inner: agentTool(chat("inner")) });
    case "custom":
      return defineAgent<string, unknown>({
        name: "root",
        async run(ctx) {
          const ran = (what: string) => void world.ran.push({ threadId: ctx.threadId, what: `${ctx.runId}/${what}` });
          await ctx.step("one", () => ran("one"));
          const who = await ctx.ask(humanInput("Whose?"));
          const said = await ctx.run(chat("a"), `for ${who}`);
          await ctx.step("two", () => ran("two"));
          return String(said);
        },
      });
    case "transfer": {
      const hand = [[{ call: "transfer_to_agent", id: "hand", args: { agent_name: "sub" } }]];
      const sub = chat("sub", [[], ...plan]);
      const speak = ({ messages }: ModelRequest) => {
        for (const problem of promptProblems(messages)) world.problems.push(problem);
        return hand[messages.filter(({ role }) => role === "assistant").length] ?? "handed over";
      };
      return agent({ name: "root", model: scriptedModel(speak), subAgents: [sub as never] }) as AnyAgent;
    }
    case "graph":
      return graph<object, string, string>("root")
        .node("first", chat("a") as never)
        .node("second", (input: unknown) => `${input}!`)
        .edge(START, "first")
        .edge("first", "second")
        .edge("second", END)
        .compile({ interruptBefore: ["second"] }) as unknown as AnyAgent;
    default:
      return shape satisfies never;
  }
}

/** The next act of a person. */
type Act = "resume" | "stop" | "say" | "answer" | "steer" | "again" | "crash";

async function act(session: Session<unknown>, what: Act): Promise<void> {
  const { state } = session;
  const open = session.interrupts.filter(({ kind }) => kind !== "user" && kind !== "manual" && kind !== "node");
  if (state === "created" || state === "initialized" || state === "completed") {
    if (state === "completed" && what !== "again") return;
    const run = session.run("do it");
    if (what === "stop") await session.interrupt();
    if (what === "steer") await session.steer("also this");
    if (what === "crash") await crash(session);
    await run.result;
    return;
  }
  if (state === "error" || (state === "paused" && what === "resume")) return void (await session.resume().result);
  if (state !== "paused") return;
  const [first] = open;
  if (what === "answer" && first !== undefined) {
    await session.answer(first.id, first.kind === "input" ? respond("ann") : approve());
  } else if (what === "stop") {
    const run = session.resume();
    await session.interrupt();
    await run.result;
  } else if (what === "crash") {
    const run = session.resume();
    await crash(session);
    await run.result;
  } else if (what === "say") {
    await session.resume({ input: "something else" }).result;
  } else {
    await session.resume().result;
  }
}

/** Its process is gone, some time after it began. */
async function crash(session: Session<unknown>): Promise<void> {
  await settle(1);
  await session.close();
}

/** To the end of the run, saying yes to everything; a thread that rests at an end is asked for one more. */
async function toTheEnd(session: Session<unknown>): Promise<string> {
  if (session.state !== "paused" && session.state !== "error") await session.run("one more").result;
  for (let rounds = 0; session.state === "paused" && rounds < 40; rounds++) {
    for (const { id, kind } of session.interrupts) {
      if (kind === "user" || kind === "manual" || kind === "node") continue;
      await session.answer(id, kind === "input" ? respond("ben") : approve()).catch((error) => {
        if (error.code !== "ANSWER_TAKEN") throw error;
      });
    }
    const result = await session.resume().result;
    if (result.status === "failed") return result.error.message;
  }
  return session.state;
}

const bare = ({ threadId: _t, at: _a, ...fact }: Fact) => fact;

/** Work that had ended, or was computed, before the point: it must not run in the fork. */
function doneBy(facts: readonly Fact[], point: number): Set<string> {
  const done = new Set<string>();
  for (const fact of facts.slice(0, point)) {
    if (fact.type === "tool-end" && !fact.held) done.add(fact.callId);
    if (fact.type === "step") done.add(`${fact.callId ?? fact.runId}/${fact.key}`);
  }
  return done;
}

async function forkEverywhere(
  store: Store,
  runner: Runner<unknown, unknown>,
  world: World,
  of = "life",
  every = 1,
): Promise<string[]> {
  const key = { tenant: "default", threadId: of };
  // Answered calls run to their end.
  await until(async () => (await store.load(key))?.row.lease === undefined);
  const before = await store.load(key);
  const facts = await factsOf(store, of);
  const wrong: string[] = [];
  for (let point = 0; point <= facts.length; point += every) {
    const as = `${of}-${point}`;
    const say = (problem: string) => wrong.push(`${of} at ${point} of ${facts.length}: ${problem}`);
    const { session, effects } = await runner.fork(of, { at: point, as });
    const forked = await factsOf(store, as);
    const common = forked.flatMap((fact) => (fact.type === "state" && fact.forked ? fact.forked.seq : [])).at(-1)!;
    if (!isDeepStrictEqual(forked.slice(0, common).map(bare), facts.slice(0, common).map(bare)))
      say("its past is another one");
    const raised = forked.slice(common).flatMap((fact) => (fact.type === "action" ? fact.action.interrupted!.id : []));
    if (raised.some((id) => facts.some((fact) => fact.type === "action" && fact.action.interrupted?.id === id)))
      say("a request has the id of the other thread's");
    const ended = await toTheEnd(session);
    if (ended !== "completed") say(`it ends as ${ended}`);
    const done = doneBy(facts, point);
    for (const { threadId, what } of world.ran) if (threadId === as && done.has(what)) say(`${what} runs again`);
    const elsewhere = world.ran.filter(({ threadId, what }) => threadId === of && !done.has(what));
    for (const { what } of elsewhere) {
      const [place, step] = what.split("/");
      if (!effects.some(({ callId = place, key }) => callId === place && (step === undefined || key === step)))
        say(`${what} is not among the effects`);
    }
    for (const problem of factProblems(await factsOf(store, as))) say(problem);
    for (const problem of world.problems.splice(0)) say(problem);
  }
  expect(await store.load(key), "the other thread has changed").toEqual(before);
  return wrong;
}

const plans = fc.array(
  fc.oneof(
    fc.constant([] as string[]),
    fc.array(fc.constantFrom("work", "look", "doubt", "pay", "order"), { minLength: 1, maxLength: 3 }),
  ),
  { minLength: 1, maxLength: 3 },
);
const acts = fc.array(fc.constantFrom<Act>("resume", "stop", "say", "answer", "answer", "steer", "again", "crash"), {
  minLength: 1,
  maxLength: 7,
});
const shapes = fc.constantFrom<Shape>(
  "chat",
  "sequential",
  "parallel",
  "loop",
  "inside",
  "graph",
  "custom",
  "transfer",
);

test.each(eachStore)(
  "T2, H1, C2: a fork at every point of any life runs to its end; no earlier work runs again, and the other thread is unchanged ($name)",
  async ({ make, name }) => {
    await fc.assert(
      fc.asyncProperty(shapes, plans, acts, async (shape, plan, doing) => {
        const world: World = { ran: [], problems: [] };
        const store = await make();
        const runner = createRunner<unknown, unknown>({ agent: build(world, shape, plan), store });
        for (const what of doing) await act(await runner.open("life"), what);
        expect(await forkEverywhere(store, runner, world)).toEqual([]);
        // A fork is a thread as any other.
        const { head } = (await store.load({ tenant: "default", threadId: "life" }))!.row;
        expect(await forkEverywhere(store, runner, world, `life-${head >> 1}`, 4)).toEqual([]);
        await runner.close();
      }),
      { numRuns: name === "memory" ? forkedLives : Math.ceil(forkedLives / 5), seed },
    );
  },
);
