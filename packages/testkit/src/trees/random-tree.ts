// Trees of agents made of a seed: every way to put agents into agents, in any order and depth, with approvals, questions,
// steps and breakpoints in them. The same seed is the same tree, and its answers depend only on the history.

import {
  type Agent,
  agentTool,
  defineAgent,
  END,
  graph,
  humanInput,
  loop,
  type ModelRequest,
  parallel,
  START,
  sequential,
  type Tool,
  type ToolContext,
} from "@belay/core";
import { speak } from "@belay/core/testing";
import { toolOf } from "../session/asking-tool.ts";
import { type Cast, calls, callThenSay, castOf, firstSaid, handOver, type MixedTreeKit } from "./mixed-tree.ts";

type AnyAgent = Agent<unknown, unknown>;

const composites = ["sequential", "parallel", "loop", "agentTool", "transfer", "code", "graph"] as const;
const leaves = ["speaker", "payer", "asker", "breaker"] as const;
type Kind = (typeof composites)[number] | (typeof leaves)[number];

export interface RandomTree {
  readonly root: AnyAgent;
  /** A description of the tree, to make it again. */
  readonly shape: string;
}

export function randomTree(seed: number, depth: number, kit: MixedTreeKit): RandomTree {
  return new Grower(seed, kit).grow(depth);
}

class Grower {
  readonly #kit: MixedTreeKit;
  readonly #cast: Cast;
  #seed: number;
  #names = 0;
  /** The rest to grow: wide trees would have too many points. */
  #budget = 9;

  constructor(seed: number, kit: MixedTreeKit) {
    this.#seed = seed;
    this.#kit = kit;
    this.#cast = castOf(kit);
  }

  grow(depth: number): RandomTree {
    this.#budget -= 1;
    const kinds: readonly Kind[] = depth <= 1 || this.#budget <= 0 ? leaves : composites;
    const kind = kinds[this.#below(kinds.length)]!;
    const below = (most: number) =>
      Array.from({ length: 1 + this.#below(this.#budget > 2 ? most : 1) }, () => this.grow(depth - 1));
    this.#names += 1;
    const name = `${kind}${this.#names}`;
    if (leaves.includes(kind as never)) return { root: this.#leaf(kind as never, name), shape: kind };
    const children = below(kind === "loop" || kind === "agentTool" || kind === "transfer" ? 1 : 2);
    const root = this.#composite(
      kind as (typeof composites)[number],
      name,
      children.map((child) => child.root),
    );
    return { root, shape: `${kind}(${children.map(({ shape }) => shape).join(", ")})` };
  }

  #leaf(kind: (typeof leaves)[number], name: string): AnyAgent {
    const { speaker, pay } = this.#cast;
    const { effect } = this.#kit;
    switch (kind) {
      case "speaker":
        return speaker(name, (request) => speak(`${name} heard ${short(firstSaid(request))}`)(request));
      case "payer":
        return speaker(name, callThenSay("pay", `${name} has`), { tools: [pay] });
      case "asker":
        return defineAgent({
          name,
          run: async (ctx) => {
            await ctx.step("s", () => effect(`${ctx.address}/s:s`));
            return `${name} asked ${await ctx.ask(humanInput("Who?"))}`;
          },
        }) as AnyAgent;
      case "breaker":
        return speaker(name, callThenSay("leave", `${name} goes on after`), { tools: [this.#leave(name)] });
      default:
        return kind satisfies never;
    }
  }

  /** Ends the nearest loop; outside a loop, the whole run. */
  #leave(name: string): Tool<unknown> {
    const execute = (ctx: ToolContext) => {
      ctx.breakLoop(`${name} has left`);
      return "left";
    };
    return toolOf("leave", execute, { onStop: "finish", onCrash: "retry" });
  }

  #composite(kind: (typeof composites)[number], name: string, agents: readonly AnyAgent[]): AnyAgent {
    const [first] = agents as [AnyAgent];
    switch (kind) {
      case "sequential":
        return sequential({ name, agents });
      case "parallel":
        return parallel({ name, agents });
      case "loop":
        return loop({ name, agents, maxIterations: 1 + this.#below(2) });
      case "agentTool":
        return this.#cast.speaker(name, callThenSay(first.name, `${name} has`, { request: "do it" }), {
          tools: [agentTool(first)],
        });
      case "transfer":
        return this.#family(name, first);
      case "code":
        return this.#code(name, agents);
      case "graph":
        return this.#graph(name, agents);
      default:
        return kind satisfies never;
    }
  }

  /** One that hands over to another, which has the agent as a tool, and hands back. */
  #family(name: string, inner: AnyAgent): AnyAgent {
    const { speaker } = this.#cast;
    const other = `${name}b`;
    const call = { call: inner.name, args: { request: "do it" } };
    const sub = speaker(other, (r: ModelRequest) => (calls(r) === 1 ? [call] : handOver(name)), {
      tools: [agentTool(inner)],
    });
    return speaker(name, (r) => (calls(r) === 0 ? handOver(other) : speak(`${name} is done`)(r)), { subAgents: [sub] });
  }

  #code(name: string, agents: readonly AnyAgent[]): AnyAgent {
    const atOnce = this.#below(2) === 0;
    const asks = this.#below(2) === 0;
    const { effect } = this.#kit;
    return defineAgent({
      name,
      agents,
      async run(ctx, input) {
        await ctx.step("s", () => effect(`${ctx.address}/s:s`));
        const given = short(typeof input === "string" ? input : JSON.stringify(input));
        const who = asks ? ctx.ask(humanInput("Who?")) : Promise.resolve("nobody");
        if (atOnce) return [await Promise.all(agents.map((each) => ctx.run(each, given))), await who];
        const said = [];
        for (const each of agents) said.push(await ctx.run(each, given));
        return [said, await who];
      },
    }) as AnyAgent;
  }

  /** All of them at once, after a function that counts and before one that joins. */
  #graph(name: string, agents: readonly AnyAgent[]): AnyAgent {
    const { effect } = this.#kit;
    let growing = graph<{ n: number }>(name)
      .node("count", async (input: unknown, ctx) => {
        await ctx.step("s", () => effect(`${ctx.address}/s:s`));
        ctx.setState(({ n }) => ({ n: n + 1 }));
        return input;
      })
      .node("join", (input: unknown, ctx) => `${short(JSON.stringify(input))} ${ctx.state.n}`)
      .edge(START, "count")
      .edge("join", END);
    for (const [i, each] of agents.entries()) {
      growing = growing
        .node(`n${i}` as "count", each)
        .edge("count", `n${i}` as "count")
        .edge(`n${i}` as "count", "join");
    }
    const stops = (["join", "n0", "count"] as const).filter(() => this.#below(3) === 0);
    return growing.compile({ state: { n: 0 }, interruptBefore: stops as never }) as AnyAgent;
  }

  /** A whole number from 0 below `n`. */
  #below(n: number): number {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#seed ^ (this.#seed >>> 15), 1 | this.#seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % n;
  }
}

function short(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
