import { isWithin } from "../../journal/reduce.ts";
import type { Scope, ThreadState } from "../../journal/state.ts";

/** Returns the agents inside `root` that are under way: they and those around them have begun and not ended. */
export function underWay(state: ThreadState, root: string, runId: string): readonly Scope[] {
  const inside = [...state.scopes.values()].filter((scope) => scope.path !== root && scope.runId === runId);
  const over = inside.filter(isOver).map(({ path }) => path);
  return over.length === 0 ? inside : inside.filter(({ path }) => !isWithin(path, over));
}

/** True if the agent has ended: with a value, or with an error that the run passed over. */
function isOver({ ended, failed }: Scope): boolean {
  return ended !== undefined || (failed !== undefined && failed !== "again");
}
