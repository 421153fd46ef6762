// A tree that has every way to put agents into agents in it, six levels deep, with two approvals in a loop, one after a
// hand-over, a question and a breakpoint: for tests that cut it anywhere. Its answers depend only on the history, so
// that every process continues alike.

import {
  type Agent,
  type Answer,
  agent,
  agentTool,
  approve,
  defineAgent,
  END,
  graph,
  humanInput,
  type Interrupt,
  loop,
  type ModelRequest,
  parallel,
  respond,
  START,
  sequential,
  type Tool,
} from "@belay/core";
import { type ScriptedPart, scriptedModel, speak } from "@belay/core/testing";
import { toolOf } from "../session/asking-tool.ts";

type AnyAgent = Agent<unknown, unknown>;

export interface MixedTreeKit {
  /** Something touches the world here, under a name of its own. */
  effect(name: string): void;
  /** A model was asked. */
  asked?(request: ModelRequest): void;
}

/** The answers of people, also for a call that a crash cut off: then the end is the same after any fault. */
export function mixedAnswer({ kind }: Interrupt): Answer {
  if (kind === "approval") return approve();
  return kind === "unknown" ? respond("paid") : respond("ann");
}

/** Steps may be computed again if a crash came before their record. */
export function mixedRepeatable(effect: string): boolean {
  return effect.includes("/s:");
}

export interface Cast {
  /** An agent with a model that answers by `next(request)`. */
  speaker(
    name: string,
    next: (request: ModelRequest) => readonly ScriptedPart[],
    more?: { readonly tools?: readonly Tool<unknown>[]; readonly subAgents?: readonly AnyAgent[] },
  ): AnyAgent;
  /** Needs approval, and touches the world. */
  readonly pay: Tool<unknown>;
}

export function castOf({ effect, asked = () => {} }: MixedTreeKit): Cast {
  const pay = toolOf(
    "pay",
    (ctx) => {
      effect(ctx.address);
      return "paid";
    },
    { needsApproval: true, onStop: "finish" },
  );
  return {
    pay,
    speaker(name, next, more = {}) {
      const model = scriptedModel((request) => {
        asked(request);
        return next(request);
      });
      return agent({ name, model, graceMs: 20, ...more } as Parameters<typeof agent>[0]) as AnyAgent;
    },
  };
}

export function mixedTree(kit: MixedTreeKit): AnyAgent {
  const { effect } = kit;
  const { speaker, pay } = castOf(kit);
  const payer = speaker("payer", callThenSay("pay", "payer heard"), { tools: [pay] });
  const round = graph<{ n: number }>("round")
    .node("note", async (input: string, ctx) => {
      const n = await ctx.step("n", () => {
        effect(`${ctx.address}/s:n`);
        return 1;
      });
      ctx.setState((state) => ({ n: state.n + n }));
      return `note of ${input}`;
    })
    .node("payer", payer)
    .edge(START, "note")
    .edge("note", "payer")
    .edge("payer", END)
    .compile({ state: { n: 0 }, interruptBefore: ["payer"] }) as AnyAgent;
  const rounds = agentTool(loop({ name: "rounds", maxIterations: 2, agents: [round] }) as AnyAgent);
  const outer = speaker("outer", callThenSay("rounds", "outer heard", { request: "twice, please" }), {
    tools: [rounds],
  });

  const clerk = speaker("clerk", (r) => (calls(r) === 1 ? [{ call: "pay", id: "clerk-pays" }] : handOver("desk")), {
    tools: [pay],
  });
  const desk = speaker("desk", (r) => (calls(r) === 0 ? handOver("clerk") : speak("the desk is done")(r)), {
    subAgents: [clerk],
  });
  const code = defineAgent({
    name: "code",
    agents: [desk],
    run: async (ctx) => {
      await ctx.step("s", () => effect(`${ctx.address}/s:s`));
      const [said, who] = await Promise.all([ctx.run(desk, "begin"), ctx.ask(humanInput("Who?"))]);
      return `${said} for ${who}`;
    },
  }) as AnyAgent;

  const last = speaker("last", (request) => speak(`the end of ${firstSaid(request)}`)(request));
  return sequential({ name: "seq", agents: [parallel({ name: "par", agents: [outer, code] }), last] });
}

export function callThenSay(call: string, words: string, args: unknown = {}) {
  return (request: ModelRequest): readonly ScriptedPart[] => {
    const results = request.messages.flatMap(({ parts }) => parts.filter((part) => part.type === "result"));
    if (calls(request) === 0) return [{ call, args }];
    return speak(`${words}: ${results.map(({ output }) => String(output)).join(", ")}`)(request);
  };
}

export function handOver(to: string): readonly ScriptedPart[] {
  return [{ call: "transfer_to_agent", id: `to-${to}`, args: { agent_name: to } }];
}

export function calls({ messages }: ModelRequest): number {
  return messages.reduce((sum, { parts }) => sum + parts.filter((part) => part.type === "call").length, 0);
}

export function firstSaid({ messages }: ModelRequest): string {
  const first = messages.find(({ role }) => role === "user");
  return first?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";
}
