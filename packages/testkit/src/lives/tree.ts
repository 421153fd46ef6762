// A tree of agents made of a seed: chats, code and graphs, in one another in every way.

import {
  type AgentOptions,
  agent,
  agentTool,
  END,
  graph,
  humanInput,
  jsonSchema,
  loop,
  parallel,
  rerun,
  START,
  sequential,
  type Tool,
} from "@belay/core";
import { tokensBeside } from "@belay/core/inside";
import { tick } from "../simulation/tick.ts";
import { type AnyAgent, type Hooks, lifeCode, stepped } from "./code.ts";
import { type Dice, diceOf, oneOf } from "./dice.ts";
import { lifeModel, type Manner } from "./model.ts";
import type { Scene } from "./scene.ts";
import { kits, lifeTools } from "./tools.ts";

type Options = AgentOptions<undefined, unknown>;

const leaves = ["chat", "chat", "chat", "code"] as const;
const composites = ["sequential", "parallel", "loop", "agentTool", "transfer", "code", "graph"] as const;
const all = [...composites, "chat"] as const;
type Kind = (typeof all)[number];

export interface Tree {
  readonly root: AnyAgent;
  /** A description of the tree, to make it again. */
  readonly shape: string;
}

export function growTree(scene: Scene): Tree {
  const grower = new Grower(scene);
  return grower.grow(2 + grower.dice(3), composites);
}

class Grower {
  readonly dice: Dice;
  readonly #scene: Scene;
  #names = 0;
  /** The rest of the budget to grow: wide trees take long. */
  #budget = 7;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.dice = diceOf(scene.seed);
  }

  grow(depth: number, among: readonly Kind[] = depth <= 1 || this.#budget <= 1 ? leaves : all): Tree {
    this.#budget -= 1;
    this.#names += 1;
    const kind = oneOf(this.dice, among);
    const name = `${kind}${this.#names}`;
    const most =
      { chat: 0, agentTool: 1, transfer: 1, loop: 2, code: depth <= 1 ? 0 : 2, graph: 2 }[kind as string] ?? 3;
    const length = most === 0 ? 0 : 1 + this.dice(this.#budget > 2 ? most : 1);
    const inside = Array.from({ length }, () => this.grow(depth - 1));
    const agents = inside.map(({ root }) => root);
    return { root: this.#make(kind, name, agents), shape: `${name}(${inside.map(({ shape }) => shape).join(", ")})` };
  }

  #make(kind: Kind, name: string, agents: readonly AnyAgent[]): AnyAgent {
    const [first] = agents as readonly [AnyAgent];
    switch (kind) {
      case "chat":
        return this.#chat(name);
      case "sequential":
        return sequential({ name, agents, ...this.#hooks(name) });
      case "parallel":
        return parallel({ name, agents, ...this.#hooks(name) });
      case "loop":
        return loop({ name, agents, maxIterations: 1 + this.dice(2), ...this.#hooks(name) });
      case "agentTool":
        return this.#chat(name, { below: first.name }, { tools: [agentTool(first)] });
      case "transfer": {
        const other = `${name}b`;
        const sub = this.#chat(other, { handsTo: name, below: first.name }, { tools: [agentTool(first)] });
        return this.#chat(name, { handsTo: other }, { subAgents: [sub] });
      }
      case "code":
        return lifeCode(this.#scene, this.dice, name, agents, this.#hooks(name));
      case "graph":
        return this.#graph(name, agents);
      default:
        return kind satisfies never;
    }
  }

  #chat(name: string, manner: Partial<Manner> = {}, more: Partial<Options> = {}): AnyAgent {
    const { dice } = this;
    // One that hands over cannot promise what another says.
    const json = dice(6) === 0 && manner.handsTo === undefined;
    const said = { most: 1 + dice(3), kit: oneOf(dice, kits), prefill: dice(3) === 0, json, ...manner };
    const alone = !json && manner.handsTo === undefined;
    const tools = [...lifeTools(this.#scene), ...((more.tools ?? []) as readonly Tool<unknown>[])];
    const options: Options = {
      name,
      model: lifeModel(this.#scene, name, said),
      ...more,
      tools,
      graceMs: 60,
      maxTurns: 4 + dice(4),
      repair: dice(4) === 0 ? "drop" : "synthetic",
      settings: { retry: { attempts: 1, delayMs: 0, maxDelayMs: 0 } },
      // Little for the history: the tools, one to hand over and an output come off it first.
      ...(dice(6) === 0 && { context: { maxTokens: (alone ? 120 : 190) + tokensBeside({ messages: [], tools }) } }),
      ...(this.#scene.ruled && { permissions: { rules } }),
      ...this.#hooks(name),
    };
    return (json ? agent({ ...options, output }) : agent(options)) as AnyAgent;
  }

  /**
   * All of them at once, after a function that counts and may ask, and before one that joins, which may ask to be run again, or
   * go round once more.
   */
  #graph(name: string, agents: readonly AnyAgent[]): AnyAgent {
    const { dice } = this;
    const [again, asks, round] = [dice(4) === 0, dice(4) === 0, dice(4) === 0];
    const scene = this.#scene;
    let growing = graph<{ n: number }>(name)
      .node("count", async (input: unknown, ctx) => {
        await ctx.step("s", () => stepped(scene, "graph", ctx));
        if (asks) await ctx.ask(humanInput("How many?")).catch(() => {});
        ctx.setState(({ n }) => ({ n: n + 1 }));
        return input;
      })
      .node("join", (_: unknown, ctx) => {
        if (again && ctx.state.n < 2) throw rerun({ n: ctx.state.n });
        return `joined ${ctx.state.n}`;
      })
      .edge(START, "count");
    growing = round
      ? growing.branch("join", (said: unknown) => (said === "joined 1" ? "count" : END), ["count", END])
      : growing.edge("join", END);
    for (const [i, each] of agents.entries()) {
      const node = `n${i}` as "count";
      growing = growing.node(node, each).edge("count", node).edge(node, "join");
    }
    const some = (n: number) => graphNodes.filter(() => dice(n) === 0) as never;
    const stops = { interruptBefore: some(5), interruptAfter: some(6), approveBefore: some(6) };
    return growing.compile({ state: { n: 0 }, ...stops }) as AnyAgent;
  }

  #hooks(name: string): Hooks {
    const scene = this.#scene;
    if (!scene.hooked) return {};
    const quiet = async () => tick();
    const unsure = async () => {
      await tick();
      if (!scene.calm && scene.chance(5) === 0) throw new Error(`a hook of ${name}`);
    };
    const speaks = () => unsure().then(() => `${name} was stopped`);
    return oneOf<Hooks>(this.dice, [
      { hooks: { beforeModel: unsure } },
      { hooks: { beforeTool: quiet, afterTool: unsure } },
      { hooks: { onInterrupt: speaks } },
      { hooks: { beforeReply: quiet, afterReply: unsure } },
      { hooks: { beforeTool: unsure } },
      {},
    ]);
  }
}

/** Nodes that every graph here has. */
export const graphNodes = ["join", "n0", "count"] as const;

const output = jsonSchema({ type: "object", properties: { ok: { type: "number" } }, required: ["ok"] });

const rules = [
  { tool: "work", args: { n: 3 }, effect: "deny" },
  { tool: "again", args: { n: 4 }, effect: "always-ask" },
  { tool: "serial", effect: "ask" },
] as const;
