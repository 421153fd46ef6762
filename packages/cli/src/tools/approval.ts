// How a tool asks a person: if the call is allowed it does not ask at all, else it shows what it would do.

import { type Approval, humanApproval, type Json, type Request } from "@belay/core";
import type { Judge } from "../permissions/judge.ts";
import { leadsTo } from "./paths.ts";

export interface Shown {
  readonly reason: string;
  /** The data for the person, read by setup.previewOf(). */
  readonly context: Json;
}

export async function approvalUnlessAllowed(
  judge: Judge,
  tool: string,
  args: object,
  show: (why: string | undefined) => Promise<Shown> | Shown,
): Promise<boolean | Request<Approval>> {
  const verdict = await judge(tool, args as Json);
  if (verdict.effect === "allow") return false;
  const { reason, context } = await show(verdict.reason);
  return humanApproval(reason, { context });
}

/** For tools that only look: they ask where a rule says so. The person sees where a link leads, and why it is asked. */
export function approvalToLook(root: string, judge: Judge, tool: string, verb: string) {
  return (args: { readonly path?: string | undefined }) =>
    approvalUnlessAllowed(judge, tool, args, async (why) => {
      const { path = "." } = args;
      const real = (await leadsTo(root, path)) ?? path;
      const link = real === path ? "" : ` It leads to ${real}.`;
      const reason = `${verb} ${path}?${link}${why === undefined ? "" : ` (${why})`}`;
      return { reason, context: { path, leadsTo: real } };
    });
}
