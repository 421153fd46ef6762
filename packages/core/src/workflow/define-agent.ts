// defineAgent(…): an agent whose behaviour is a function of the user, with durable steps, questions and agents inside it.

import { type Agent, published } from "../agent.ts";
import { belayError } from "../error.ts";
import type { Frame } from "../frame.ts";
import type { HooksGiven } from "../hooks/hooks.ts";
import { rerunAddress } from "../interrupt/rerun.ts";
import type { Json } from "../json.ts";
import type { KnownOptions } from "../refuse-unknown.ts";
import { composite, definitionsOf, readDefinition } from "./composite.ts";
import { type AgentCode, type AgentContext, isToRerun, LiveAgent } from "./live-agent.ts";

/** The options of `defineAgent()`. */
export interface CustomAgentOptions<Out, Deps> {
  readonly name: string;
  /**
   * Returns the output. An async generator may yield `say(text)` to speak and `ask(request)` to ask a person; any other
   * yielded value is a custom action.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the type of a `yield` follows from the yielded value, which TypeScript cannot express.
  run(ctx: AgentContext<Deps>, input: Json): Out | Promise<Out> | AsyncGenerator<unknown, Out, any>;
  /** The agents that it may run, for the record: a change of theirs is a change of this one. */
  readonly agents?: readonly Agent<unknown, Deps>[] | undefined;
  readonly version?: string | undefined;
  readonly hooks?: HooksGiven<Deps> | undefined;
}

const OPTIONS: KnownOptions<CustomAgentOptions<never, never>> = {
  name: true,
  run: true,
  agents: true,
  version: true,
  hooks: true,
};

/** Defines an agent whose behaviour is a function: it may take durable steps, ask people, and run other agents. */
export function defineAgent<Out = unknown, Deps = unknown>(
  options: CustomAgentOptions<Out, Deps>,
): Agent<Awaited<Out>, Deps> {
  readDefinition("defineAgent()", options, OPTIONS);
  const { name, run, agents = [], version = "1", hooks } = options;
  if (typeof run !== "function") {
    throw belayError("AGENT_INVALID", { agent: String(name), problem: "it has no run function" });
  }
  const code: AgentCode = (ctx, input) => run.call(options, ctx as AgentContext<Deps>, input);
  const made = composite({
    kind: "custom",
    name,
    children: definitionsOf(String(name), agents),
    shape: version,
    hooks,
    run: (frame) => runCode(frame, name, code),
  });
  return published(made) as Agent<Awaited<Out>, Deps>;
}

async function runCode(frame: Frame, name: string, code: AgentCode) {
  if (frame.desk.isToRerun(rerunAddress(frame.place.runPath))) return isToRerun;
  const hot = frame.desk.hot.take(frame.place.runPath);
  if (hot instanceof LiveAgent && hot.canGoOn(frame)) return hot.adopt(frame);
  hot?.drop();
  return new LiveAgent(name, frame).start(code);
}
