import type { Answer } from "./answer.ts";
import type { Interrupt } from "./interrupt.ts";

/** Returns whether a person belongs to a group. */
export type MemberOf = (group: string, by: string) => boolean | Promise<boolean>;

/**
 * Returns the answer with the groups of its person, as far as the request names them. The process that receives an answer
 * asks for them; the process that records it may have no such function. `own` are the groups that the caller vouches for.
 */
export async function vouched<A extends Answer>(
  memberOf: MemberOf | undefined,
  { approvers = [] }: Pick<Interrupt, "approvers">,
  answer: A,
  own: readonly string[] = [],
): Promise<A> {
  const { by } = answer;
  if ((memberOf === undefined && own.length === 0) || by === undefined) return answer;
  const named = approvers.filter((each) => each.startsWith("group:")).map((each) => each.slice("group:".length));
  const groups: string[] = [];
  for (const group of named) if (own.includes(group) || (await memberOf?.(group, by))) groups.push(group);
  return groups.length === 0 ? answer : { ...answer, groups };
}
