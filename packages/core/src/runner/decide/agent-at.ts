// Finds the agent at a path: several agents, one inside another, may have the same name.

import type { Definition } from "../../agent.ts";

const IN_CALL = /^t\d+\/c\d+\/[^/]+/;

/** Returns the agent at `path`, which begins with the name of the root; undefined if there is none. */
export function agentAt(root: Definition, path: string): Definition | undefined {
  let agent: Definition | undefined = root;
  for (let at = root.name.length + 1; at < path.length && agent !== undefined; ) {
    const rest = path.slice(at);
    const segment: string = IN_CALL.exec(rest)?.[0] ?? rest.split("/")[0]!;
    agent = childAt(agent, segment);
    at += segment.length + 1;
  }
  return agent;
}

/** Returns the agent inside another one, by the rest of its path. */
export function childAt(agent: Definition | undefined, segment: string): Definition | undefined {
  if (agent?.childAt !== undefined) return agent.childAt(segment);
  return agent?.children.find(({ name }) => segment.endsWith(`/${name}`));
}
