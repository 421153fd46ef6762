// The request of a tool: an allowed call does not ask, any other one shows its effect.

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

/** For tools that only read: they ask if a rule says so. The person sees the target of a link, and the reason. */
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
