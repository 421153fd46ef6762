// How a tool asks a person: where the rules in the file allow the call it does not ask at all, else it shows what it would do.

import { type Approval, humanApproval, type Json, type Request } from "@belay/core";
import type { Judge } from "../permissions/judge.ts";

export interface Shown {
  readonly reason: string;
  /** What the person needs to see; what setup.previewOf() reads. */
  readonly context: Json;
}

export async function approvalUnlessAllowed(
  judge: Judge,
  tool: string,
  args: object,
  show: () => Promise<Shown> | Shown,
): Promise<boolean | Request<Approval>> {
  const verdict = await judge(tool, args as Json);
  if (verdict.effect === "allow") return false;
  const { reason, context } = await show();
  return humanApproval(reason, { context });
}
