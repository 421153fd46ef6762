// A request in words: its title, its address, the people it waits for.

import type { Texts } from "../texts/texts.ts";
import type { AgentDescription, Ask, Me, ToolDescription, Vote } from "../wire/shapes.ts";

export function titleOf(t: Texts, ask: Pick<Ask, "reason" | "tool" | "kind">): string {
  if (ask.kind === "unknown") return t.card.unknownTitle(ask.tool ?? "");
  return ask.reason ?? ask.tool ?? ask.kind;
}

/** `support/t2/c0/approval` → support › turn 2 › refund#0 › approval */
export function addressOf(t: Texts, { address, tool }: Pick<Ask, "address" | "tool">): readonly string[] {
  return address.split("/").map((part) => {
    const turn = /^t(\d+)$/.exec(part);
    if (turn !== null) return t.all.turn(Number(turn[1]));
    const call = /^c(\d+)$/.exec(part);
    return call === null ? part : `${tool ?? "call"}#${call[1]}`;
  });
}

/** The approvals for the same digest: those that count together. */
export function votesFor(votes: readonly Vote[] | undefined, digest: string | undefined): readonly Vote[] {
  return (votes ?? []).filter((vote) => vote.digest === digest || vote.digest === undefined);
}

/** Why this person may not answer; undefined if it may. */
export function notForMe(
  t: Texts,
  ask: Pick<Ask, "approvers">,
  who: Me | undefined,
  mine: ReadonlySet<string> | undefined,
  id: string,
): string | undefined {
  if (ask.approvers === undefined || who === undefined) return undefined;
  const named = ask.approvers.some(
    (each) => each === who.user || (each.startsWith("group:") && who.groups?.includes(each.slice(6))),
  );
  if (named || mine?.has(id)) return undefined;
  return t.card.notForYou(ask.approvers.join(", "));
}

export function toolNamed(
  agents: readonly AgentDescription[] | undefined,
  name: string | undefined,
): ToolDescription | undefined {
  if (name === undefined) return undefined;
  for (const agent of agents ?? []) {
    const found = agent.tools?.find((tool) => tool.name === name) ?? toolNamed(agent.children, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the diff in the context of a request, in any of its forms. */
export function diffIn(
  context: unknown,
): { name: string | undefined; unified?: string; before?: string; after?: string } | undefined {
  if (typeof context !== "object" || context === null) return undefined;
  const { diff, before, after, path, file, name } = context as Record<string, unknown>;
  const title = [path, file, name].find((each) => typeof each === "string") as string | undefined;
  if (typeof diff === "string" && diff !== "") return { name: title, unified: diff };
  if (typeof before === "string" && typeof after === "string") return { name: title, before, after };
  return undefined;
}
