// An agent as a tool of another one: each call is a run of its own, in a fresh history, and is stopped, asked and resumed
// in its place.

import { type Agent, definitionOf } from "../agent.ts";
import { belayError } from "../error.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { jsonSchema } from "../schema/schema.ts";
import { type Tool, tool } from "../tool/tool.ts";

/** The options of `agentTool()`. */
export interface AgentToolOptions {
  /** The description for the calling model. */
  readonly description?: string | undefined;
}

const OPTIONS: KnownOptions<AgentToolOptions> = { description: true };

const input = jsonSchema<{ request: string }>({
  type: "object",
  properties: { request: { type: "string", description: "What it should do, in words." } },
  required: ["request"],
  additionalProperties: false,
});

/** Makes an agent a tool of another one. Each call is a run of that agent, with a history of its own. */
export function agentTool<Deps = unknown>(agent: Agent<unknown, Deps>, options: AgentToolOptions = {}): Tool<Deps> {
  definitionOf(agent, () => {
    const tool = String((agent as Partial<Agent> | undefined)?.name ?? agent);
    return belayError("TOOL_INVALID", { tool, problem: "agentTool(…) was given no agent" });
  });
  refuseUnknown("agentTool()", options, OPTIONS);
  const { description = `Hands a request to ${agent.name}, and gives its answer.` } = options;
  const execute = () => {
    throw belayError("AGENT_FAILED", { agent: agent.name, reason: "an agent runs inside a run only" });
  };
  const made = tool({ name: agent.name, description, input, needsApproval: false, execute });
  return Object.freeze({ ...made, agent: agent as Agent<unknown, never> }) as Tool<Deps>;
}
