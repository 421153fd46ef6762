// Which agent a path leads to: several inside one another may have the same name.

import type { Definition } from "../../agent.ts";

type AnyAgent = Definition;

const IN_CALL = /^t\d+\/c\d+\/[^/]+/;

/** `path` begins with the root's. Undefined where it leads nowhere. */
export function agentAt(root: AnyAgent, path: string): AnyAgent | undefined {
  let agent: AnyAgent | undefined = root;
  for (let at = root.name.length + 1; at < path.length && agent !== undefined; ) {
    const rest = path.slice(at);
    const segment: string = IN_CALL.exec(rest)?.[0] ?? rest.split("/")[0]!;
    agent = childAt(agent, segment);
    at += segment.length + 1;
  }
  return agent;
}

/** The agent inside another one, by what its path adds to that one's. */
export function childAt(agent: AnyAgent | undefined, segment: string): AnyAgent | undefined {
  if (agent?.childAt !== undefined) return agent.childAt(segment);
  return agent?.children.find(({ name }) => segment.endsWith(`/${name}`));
}
