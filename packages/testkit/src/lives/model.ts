// The models of a life. An answer depends only on the agent and on the history, so that every process gets the same.

import type { Message, Model, ModelEvent, ModelRequest } from "@belay/core";
import { never } from "../simulation/effect.ts";
import { tick } from "../simulation/tick.ts";
import { type Dice, diceOf, oneOf, seedOf } from "./dice.ts";
import type { Scene } from "./scene.ts";

export interface Manner {
  /** In how many messages it calls something. */
  readonly most: number;
  readonly kit: readonly string[];
  readonly prefill: boolean;
  /** It must answer with JSON, and at first does not always. */
  readonly json: boolean;
  /** The agent that it hands over to. */
  readonly handsTo?: string;
  /** The agent that it has as a tool. */
  readonly below?: string;
}

interface Call {
  readonly tool: string;
  readonly args: Record<string, unknown>;
}

const usage = { inputTokens: 1, outputTokens: 1 };

export function lifeModel(scene: Scene, name: string, manner: Manner): Model {
  const { prefill } = manner;
  return {
    id: `m-${name}`,
    provider: "life",
    prefill,
    async *stream(request, { signal }) {
      if (scene.dead) await never();
      scene.asked(name, request.messages, prefill);
      const said = request.messages.filter(({ role }) => role === "assistant").length;
      const dice = diceOf(seedOf(`${scene.seed} ${name} ${said} ${scene.calm ? 0 : request.messages.length}`));
      const calls = request.messages[0]?.id === "summarise" ? [] : callsOf(scene, dice, request, manner);
      if (calls.length === 0 || dice(3) === 0) {
        const json = manner.json && calls.length === 0;
        const text =
          json && (scene.calm || dice(2) === 0) ? `{"ok":${dice(40)}}` : `${name} says ${dice(40)} to ${said}`;
        yield* speak(scene, dice, text, signal);
      }
      if (!scene.calm && calls.length === 0 && dice(50) === 0) {
        yield { type: "finish", finish: "length", usage };
        return;
      }
      for (const { tool, args } of calls) {
        // Ids of providers repeat.
        yield { type: "call", id: `id_${dice(4)}`, tool, args };
        if (dice(2) === 0) await tick();
      }
      yield { type: "finish", finish: calls.length > 0 ? "tool-calls" : "stop", usage };
    },
  };
}

function callsOf(scene: Scene, dice: Dice, request: ModelRequest, manner: Manner): Call[] {
  const { most, kit, handsTo, below } = manner;
  const known = new Set(request.tools.map(({ name }) => name));
  if (request.messages.filter(called).length >= most || known.size === 0 || !scene.mayCall()) return [];
  const some = (): Call => ({ tool: oneOf(dice, kit), args: dice(15) === 0 ? { bad: 1 } : { n: dice(40) } });
  if (handsTo !== undefined && dice(2) === 0) return [{ tool: "transfer_to_agent", args: { agent_name: handsTo } }];
  if (below === undefined || dice(2) === 0) return Array.from({ length: 1 + dice(3) }, some);
  const calls: Call[] = [{ tool: below, args: { request: "do it" } }];
  if (dice(3) === 0) calls.push({ tool: below, args: { request: "do it too" } });
  if (dice(2) === 0) calls.push({ tool: "work", args: { n: dice(40) } });
  return calls;
}

const called = ({ role, parts }: Message) => role === "assistant" && parts.some(({ type }) => type === "call");

/** In pieces; at times the provider refuses in the middle, or says nothing more. */
async function* speak(scene: Scene, dice: Dice, text: string, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  for (let i = 0; i < text.length; i += 6) {
    yield { type: "text", text: text.slice(i, i + 6) };
    await tick();
    if (scene.calm) continue;
    if (dice(40) === 0) throw refused("the provider refuses");
    if (dice(60) === 0) {
      await new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        scene.untilLetGo(() => reject(refused("the provider is gone")));
      });
    }
  }
}

const refused = (why: string) => Object.assign(new Error(why), { status: 400 });
