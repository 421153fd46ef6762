// Which graph is meant, where somebody looks at one or changes its state: by its path, or by the address of what waits in it.

import type { Definition } from "../../agent.ts";
import { belayError, shown } from "../../error.ts";
import { openRequests } from "../../journal/requests.ts";
import type { ThreadState } from "../../journal/state.ts";
import { agentAt } from "./agent-at.ts";

type AnyAgent = Definition;

/** The path that `to` means. Refused where the run is in no such place. */
export function namedGraph(agent: AnyAgent, state: ThreadState, to: string): string {
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

/** The one that people most likely mean: the whole, or the innermost around the first thing that waits in one. */
export function likelyGraph(agent: AnyAgent, state: ThreadState): string | undefined {
  if (isGraph(agent, agent.name)) return agent.name;
  for (const address of waiting(state)) {
    const path = graphAround(agent, address);
    if (path !== undefined) return path;
  }
  return undefined;
}

/** Where somebody is to go on, or is asked: nodes first, as it is their graphs that resume({ state }) changes. */
function waiting(state: ThreadState): readonly string[] {
  return [...state.interrupts, ...openRequests(state)].map(({ address }) => address);
}

function graphAround(agent: AnyAgent, address: string): string | undefined {
  for (let path = address; path !== ""; path = path.slice(0, Math.max(0, path.lastIndexOf("/")))) {
    if (isGraph(agent, path)) return path;
  }
  return undefined;
}

function isGraph(agent: AnyAgent, path: string): boolean {
  return agentAt(agent, path)?.checkpoint !== undefined;
}
