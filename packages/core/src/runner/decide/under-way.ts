import { isWithin } from "../../journal/reduce.ts";
import type { Scope, ThreadState } from "../../journal/state.ts";

/** The agents inside `root` that a run is in: they have begun, and somebody goes on with them, and with those around them. */
export function underWay(state: ThreadState, root: string, runId: string): readonly Scope[] {
  const inside = [...state.scopes.values()].filter((scope) => scope.path !== root && scope.runId === runId);
  const over = inside.filter(isOver).map(({ path }) => path);
  return over.length === 0 ? inside : inside.filter(({ path }) => !isWithin(path, over));
}

/** It has given what it gave, or failed and was gone on without. */
function isOver({ ended, failed }: Scope): boolean {
  return ended !== undefined || (failed !== undefined && failed !== "again");
}
