// Finds the graph to show or to change: by its path, or by the address of a request inside it.

import type { Definition } from "../../agent.ts";
import { belayError, shown } from "../../error.ts";
import { openRequests } from "../../journal/requests.ts";
import type { ThreadState } from "../../journal/state.ts";
import { agentAt } from "./agent-at.ts";

/** Returns the path that `to` means. Throws if the run is not there. */
export function namedGraph(agent: Definition, state: ThreadState, to: string): string {
  const { scopes, run } = state;
  const waits = waiting(state).includes(to);
  const path = (waits && graphAround(agent, to)) || to;
  if (scopes.get(path)?.runId === run?.id) return path;
  const known = [...scopes.values()]
    .filter(({ path, runId }) => runId === run?.id && isGraph(agent, path))
    .map(({ path }) => path);
  const needed =
    known.length === 0
      ? "left out: this run is in no graph"
      : `the path of a graph that this run is in (${known.join(", ")}), or the address of what waits in one`;
  throw belayError("OPTION_INVALID", { option: "to", value: shown(to), needed });
}

/** Returns the graph that a caller most likely means: the root, or the innermost graph around the first open interrupt. */
export function likelyGraph(agent: Definition, state: ThreadState): string | undefined {
  if (isGraph(agent, agent.name)) return agent.name;
  for (const address of waiting(state)) {
    const path = graphAround(agent, address);
    if (path !== undefined) return path;
  }
  return undefined;
}

/** Returns the open interrupts, nodes first: resume({ state }) changes the state of their graphs. */
function waiting(state: ThreadState): readonly string[] {
  return [...state.interrupts, ...openRequests(state)].map(({ address }) => address);
}

function graphAround(agent: Definition, address: string): string | undefined {
  for (let path = address; path !== ""; path = path.slice(0, Math.max(0, path.lastIndexOf("/")))) {
    if (isGraph(agent, path)) return path;
  }
  return undefined;
}

function isGraph(agent: Definition, path: string): boolean {
  return agentAt(agent, path)?.checkpoint !== undefined;
}
