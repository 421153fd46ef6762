// The public describe(agent).

import { type Agent, definitionOf } from "./agent.ts";
import type { AgentDescription } from "./describe.ts";

/**
 * Returns an agent as JSON: kind, model, tools, the agents inside it, the shape of a graph.
 *
 * @example
 * ```ts
 * describe(helper).tools?.map(({ name, version }) => `${name}@${version}`);
 * ```
 */
export function describe(agent: Agent<unknown, never>): AgentDescription {
  return definitionOf(agent).describe();
}
