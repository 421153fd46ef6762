// The verdict of the rules on a call, before a tool decides whether, and how, to ask a person. The runtime has the order of rules, so
// it is asked, by a session that never runs.

import {
  agent,
  type Verdict as CoreVerdict,
  createRunner,
  type Json,
  jsonSchema,
  type Model,
  type Permissions,
  type Tool,
  tool,
} from "@belay/core";

export interface Verdict extends CoreVerdict {
  /** The reason of the rule that decided. */
  readonly reason?: string;
}

export type Judge = (tool: string, args: Json) => Promise<Verdict>;

const silent: Model = {
  id: "none",
  // biome-ignore lint/correctness/useYield: it is never asked.
  async *stream() {
    throw new Error("Nothing runs here.");
  },
};

/** `tools` are asked for when the first call is judged: they need the judge themselves. */
export function judgeBy(permissions: Permissions, tools: () => readonly Tool<unknown>[]): Judge {
  let court: Promise<{ permission(tool: string, args: Json): Promise<CoreVerdict> }> | undefined;
  const reasons = new Map(permissions.rules?.map(({ id, reason }) => [id, reason]));
  return async (name, args) => {
    court ??= courtOf(permissions, tools()).open();
    const verdict = await (await court).permission(name, args);
    const reason = verdict.rule === undefined ? undefined : reasons.get(verdict.rule);
    return reason === undefined ? verdict : { ...verdict, reason };
  };
}

/** Throws `PERMISSION_INVALID`, as the runner would. */
export function checkPermissions(permissions: Permissions): void {
  courtOf(permissions, []);
}

function courtOf(permissions: Permissions, tools: readonly Tool<unknown>[]) {
  return createRunner({ agent: agent({ name: "judge", model: silent, tools: tools.map(bare) }), permissions });
}

/** A tool without its own verdict on calls. */
function bare({ name, readOnly, repeatable, destructive }: Tool<unknown>): Tool<unknown> {
  const input = jsonSchema({ type: "object" });
  return tool({ name, description: "", input, readOnly, repeatable, destructive, execute: () => null });
}
