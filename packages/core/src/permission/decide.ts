// Decides whether a call may run. A pure function of the call and the rules. Invariants:
// 1. A matching deny rule denies, against all others.
// 2. Else a matching always-ask rule asks. Nothing overrides it, not even a remembered approval.
// 3. Else the strongest matching allow or ask rule decides. Rules remembered in the thread are stronger than those
//    remembered for always, those than the agent's, those than the runner's. In one list the later is the stronger.
// 4. Else a default decides, the agent's before the runner's.
// 5. Else the tool decides: destructive asks, read-only or repeatable is allowed. Any other tool is allowed if neither
//    agent nor runner has permissions, and asks if one has.
// 6. A tool that needs approval for this call turns an allow of 3 to 5 into an ask, unless a remembered rule allows it.
//    It never changes a deny: a tool cannot lift a default deny by asking.
// 7. Unattended, an ask is a deny.

import type { Json } from "../json.ts";
import type { PermissionDefault } from "./permissions.ts";
import { type PermissionRule, ruleMatches } from "./rule.ts";

export interface RuleSource {
  /** `thread` and `always` hold remembered rules. */
  readonly source: "runner" | "agent" | "thread" | "always";
  readonly rules: readonly PermissionRule[];
  readonly default?: PermissionDefault;
}

/** The properties of a tool that a decision needs. */
export interface ToolNature {
  readonly name: string;
  readonly readOnly: boolean;
  readonly repeatable: boolean;
  readonly destructive: boolean;
}

/** Whether a call may run, and the rule that decided. */
export interface Verdict {
  readonly effect: "allow" | "ask" | "deny";
  /** The id of the rule that decided; unattended, of the rule that would have asked. */
  readonly rule?: string;
  readonly source: RuleSource["source"] | "tool" | "default" | "unattended";
  /** The deciding rule, its owner and its reason, in one sentence. */
  readonly words: string;
}

export function decide(
  tool: ToolNature,
  args: Json,
  needsApproval: boolean | undefined,
  sources: readonly RuleSource[],
  unattended: boolean,
): Verdict {
  const decision = attended(tool, args, needsApproval, sources);
  const { effect, source, rule } = decision;
  const why = decision.why.replace(/\.$/, "");
  const named = rule === undefined ? {} : { rule };
  if (effect === "ask" && unattended) {
    const words = `${tool.name} is denied because nobody is there to be asked: it ${why}.`;
    return { effect: "deny", ...named, source: "unattended", words };
  }
  return { effect, ...named, source, words: `${tool.name} ${why}.` };
}

/** `why` follows the tool's name in the sentence. */
type Decision = Pick<Verdict, "effect" | "rule" | "source"> & { readonly why: string };

function attended(
  tool: ToolNature,
  args: Json,
  needsApproval: boolean | undefined,
  sources: readonly RuleSource[],
): Decision {
  const hits = matching(tool.name, args, sources);
  const strict =
    hits.find(({ rule }) => rule.effect === "deny") ?? hits.find(({ rule }) => rule.effect === "always-ask");
  if (strict) return byRule(strict);
  const decision = hits[0] ? byRule(hits[0]) : (byDefault(sources) ?? byNature(tool, sources));
  const remembered = decision.source === "thread" || decision.source === "always";
  if (needsApproval === true && decision.effect !== "deny" && !(remembered && decision.effect === "allow")) {
    return { effect: "ask", source: "tool", why: "needs approval because the tool asks for it" };
  }
  return decision;
}

interface Hit {
  readonly rule: PermissionRule;
  readonly id: string;
  readonly source: RuleSource["source"];
}

const strength: Readonly<Record<RuleSource["source"], number>> = { thread: 3, always: 2, agent: 1, runner: 0 };

/** Returns the rules that match this call, the strongest first. */
function matching(tool: string, args: Json, sources: readonly RuleSource[]): readonly Hit[] {
  return sources
    .toSorted((a, b) => strength[b.source] - strength[a.source])
    .flatMap(({ source, rules }) =>
      rules.map((rule, position) => ({ rule, id: rule.id ?? `${source}#${position}`, source })).reverse(),
    )
    .filter(({ rule }) => ruleMatches(rule, tool, args));
}

function byRule({ rule, id, source }: Hit): Decision {
  const why = `${verbs[rule.effect]} rule ${id} ${owners[source]}${rule.reason ? `: ${rule.reason}` : ""}`;
  return { effect: rule.effect === "always-ask" ? "ask" : rule.effect, rule: id, source, why };
}

const verbs: Readonly<Record<PermissionRule["effect"], string>> = {
  allow: "is allowed by",
  ask: "needs approval under",
  "always-ask": "always needs approval under",
  deny: "is denied by",
};

const owners: Readonly<Record<RuleSource["source"], string>> = {
  thread: "remembered in this thread",
  always: "remembered for always",
  agent: "of the agent",
  runner: "of the runner",
};

function byDefault(sources: readonly RuleSource[]): Decision | undefined {
  for (const owner of ["agent", "runner"] as const) {
    const effect = sources.find((each) => each.source === owner && each.default !== undefined)?.default;
    if (effect === undefined) continue;
    const verb = effect === "ask" ? "needs approval" : effect === "allow" ? "is allowed" : "is denied";
    return { effect, source: "default", why: `${verb} by default of the ${owner}: no rule speaks of it` };
  }
  return undefined;
}

function byNature(tool: ToolNature, sources: readonly RuleSource[]): Decision {
  if (tool.destructive) {
    return { effect: "ask", source: "tool", why: "needs approval because it is destructive and no rule speaks of it" };
  }
  if (tool.readOnly) return { effect: "allow", source: "tool", why: "is allowed because it changes nothing" };
  if (tool.repeatable) {
    return { effect: "allow", source: "tool", why: "is allowed because running it twice does no harm" };
  }
  if (sources.some(({ source }) => source === "agent" || source === "runner")) {
    return { effect: "ask", source: "default", why: "needs approval because no rule speaks of it" };
  }
  return { effect: "allow", source: "default", why: "is allowed because there are no permissions to heed" };
}
