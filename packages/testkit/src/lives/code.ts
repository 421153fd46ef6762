// User code in a tree: steps, questions and agents in the ways that people write them.

import { type Agent, type AgentContext, type AgentOptions, defineAgent, humanInput, say } from "@belay/core";
import { type EffectPlace, never } from "../simulation/effect.ts";
import { tick } from "../simulation/tick.ts";
import { type Dice, oneOf } from "./dice.ts";
import type { Scene } from "./scene.ts";

export type AnyAgent = Agent<unknown, unknown>;
export type Hooks = Pick<AgentOptions<undefined, unknown>, "hooks">;

/** The ways in which user code uses the agents inside it. */
type Way = "in turn" | "together" | "the first that ends";

export function lifeCode(scene: Scene, dice: Dice, name: string, agents: readonly AnyAgent[], hooks: Hooks): AnyAgent {
  const way = oneOf<Way>(dice, ["in turn", "together", "the first that ends"]);
  const [asks, tells, forgives, again] = [dice(2) === 0, dice(3) === 0, dice(3) === 0, dice(4) === 0];
  const [breaks, fails, leaves] = [dice(4) === 0, dice(5) === 0, dice(10) === 0];
  const onNewInput = oneOf(dice, ["keep", "answer", "withdraw"] as const);
  const takesNo = dice(5) > 0;
  const [speaks, stops] = [dice(3) === 0, dice(5) === 0];

  const runAll = (ctx: AgentContext): Promise<unknown> => {
    const run = (each: AnyAgent, key = each.name) => {
      const ran = ctx.run(each, "go", { key });
      return forgives ? ran.catch(() => "failed") : ran;
    };
    if (agents.length === 0) return Promise.resolve([]);
    if (way === "together") return Promise.all(agents.map((each) => run(each)));
    if (way === "the first that ends") return Promise.race(agents.map((each) => run(each)));
    return (async () => {
      const said = [];
      for (const each of agents) said.push(await run(each));
      if (again) said.push(await run(agents[0]!, "more"));
      return said;
    })();
  };

  return defineAgent({
    name,
    agents,
    ...hooks,
    async *run(ctx) {
      if (speaks) yield say(`${name} speaks`);
      await ctx.step("s", () => stepped(scene, "code", ctx));
      if (stops) ctx.interrupt({ reason: "pause_to_think" });
      if (tells) ctx.customAction({ at: name });
      // No code awaits these yet when they fail.
      const broken = breaks ? ctx.step("broken", failing) : undefined;
      const request = humanInput(scene.other ? "Whoever?" : "Who?", { onNewInput });
      const who = asks ? ctx.ask(request) : Promise.resolve("nobody");
      const said = await runAll(ctx as AgentContext);
      await broken?.catch(() => {});
      if (scene.other && breaks) await ctx.step("other", tick);
      await ctx.step("e", tick);
      const heard = await (takesNo ? who.catch(() => "no") : who);
      if (fails && !scene.calm && scene.chance(2) === 0) throw new Error("code fails on purpose");
      if (leaves) ctx.breakLoop(`${name} has left`);
      return [said, heard];
    },
  }) as AnyAgent;
}

async function failing(): Promise<never> {
  await tick();
  throw new Error("a step fails on purpose");
}

export async function stepped(scene: Scene, tool: string, { threadId, idempotencyKey }: EffectPlace): Promise<number> {
  if (scene.dead) await never();
  scene.began(tool, { threadId, idempotencyKey }, { step: "s", repeatable: true }).ended = true;
  return 1;
}
