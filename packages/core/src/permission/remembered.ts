// The rule that an approval with `remember` leaves behind.

import type { Remember } from "../interrupt/answer.ts";
import type { Json } from "../json.ts";
import { escapeGlob } from "./glob.ts";
import type { PermissionRule } from "./rule.ts";

/** A rule that a person left behind with an approval. */
export interface RememberedRule extends PermissionRule {
  readonly id: string;
  readonly by: string;
  readonly at: number;
}

/**
 * Returns a rule that allows the same tool with the given patterns, or else with exactly these arguments. Without that
 * limit an approved call without arguments would allow every call.
 */
export function rememberedRule(
  id: string,
  tool: string,
  args: Json,
  remember: Remember,
  by: string,
  at: number,
): RememberedRule {
  const given = typeof remember === "object" ? remember.args : undefined;
  const exactly = { "": typeof args === "string" ? escapeGlob(args) : args };
  return {
    id,
    tool: escapeGlob(tool),
    args: given ?? exactly,
    effect: "allow",
    reason: `approved by ${by}`,
    by,
    at,
  };
}
