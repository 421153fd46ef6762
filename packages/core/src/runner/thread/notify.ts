// Calls the hooks for facts on record: a request, a pause, the end of a run. They are called in the process that recorded the
// fact, at most once, and no step waits for them.

import type { Definition } from "../../agent.ts";
import { errorText } from "../../error.ts";
import type { Fact } from "../../event.ts";
import { hookFailed, report } from "../../hooks/call-hooks.ts";
import { type HookName, hooksNamed } from "../../hooks/hooks.ts";
import { isRequest } from "../../interrupt/interrupt.ts";
import { isView } from "../../interrupt/view.ts";
import { frozen } from "../../json.ts";
import { agentAt } from "../decide/agent-at.ts";
import type { Setup } from "../given/setup.ts";

interface Noticing {
  readonly agent: Definition;
  readonly setup: Setup;
  readonly deps: unknown;
}

const NAMES = ["onRequest", "onPause", "onEnd"] as const satisfies readonly HookName[];

/** True if the runner, or an agent of the tree, has such a hook. */
export function hasNotices({ agent, setup }: Pick<Noticing, "agent" | "setup">, seen = new Set<Definition>()): boolean {
  if (seen.has(agent)) return false;
  seen.add(agent);
  if (NAMES.some((name) => hooksNamed(setup.hooks, agent.hooks, name) !== undefined)) return true;
  return agent.children.some((child) => hasNotices({ agent: child, setup }, seen));
}

/** Calls the hooks for facts that an append has just recorded. */
export function notify(noticing: Noticing, facts: readonly Fact[]): void {
  for (const fact of facts) {
    if (fact.type === "action" && isRequest(fact.action.interrupted)) {
      call(noticing, "onRequest", fact, { request: fact.action.interrupted });
    } else if (fact.type === "action" && isView(fact.action.interrupted)) {
      const paused = facts.find((each) => each.type === "state" && each.state === "paused");
      if (paused?.type !== "state") continue;
      const { pauseType = "manual", interrupts = [] } = paused;
      call(noticing, "onPause", fact, { pauseType, interrupts, interrupt: fact.action.interrupted });
    } else if (fact.type === "run-end" && !fact.runPath.includes("/")) {
      const { status, usage, output, error } = fact;
      const more = { ...(output !== undefined && { output }), ...(error !== undefined && { error }) };
      call(noticing, "onEnd", fact, { status, usage, ...more });
    }
  }
}

function call({ agent, setup, deps }: Noticing, name: (typeof NAMES)[number], fact: Fact, more: object): void {
  const own = agentAt(agent, fact.runPath) ?? agent;
  const { threadId, runId, segment, agentName, runPath } = fact;
  const place = { threadId, runId, segment, agentName, runPath };
  for (const hook of hooksNamed(setup.hooks, own.hooks, name) ?? []) {
    // After the caller of the append has resumed.
    setImmediate(async () => {
      try {
        await hook({ ...place, deps, ...frozen(more) } as never);
      } catch (error) {
        report(
          { place, desk: { hooks: undefined, log: setup.log } },
          hookFailed({ place }, name, errorText(error), error),
        );
      }
    });
  }
}
