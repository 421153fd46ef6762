// May this call run? Decided once for each call, before any of it starts: by the tool, by the rules of agent and
// runner, by remembered approvals. A person approves exactly the call that is shown (Q5).

import { errorText, recordedWords } from "../error.ts";
import type { Frame } from "../frame.ts";
import { callDigest } from "../interrupt/digest.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import { type Approval, humanApproval, type Request, readRequest } from "../interrupt/request.ts";
import type { CallState } from "../journal/state.ts";
import type { Json } from "../json.ts";
import { decide, type RuleSource, type Verdict } from "../permission/decide.ts";
import { CallContext } from "../tool/context.ts";
import type { ReadyCall } from "../tool/prepare-call.ts";
import type { Tool } from "../tool/tool.ts";
import type { ChatDefinition } from "./definition.ts";

export type Gate =
  | { readonly effect: "allow"; readonly rule?: string }
  | { readonly effect: "ask"; readonly interrupt: Interrupt }
  | { readonly effect: "deny"; readonly words: string };

const open: Gate = { effect: "allow" };

/** Waits only if rules, or the tool's own question, have to be evaluated. */
export function gateOf(frame: Frame, agent: ChatDefinition, ready: ReadyCall): Gate | Promise<Gate> {
  const { needsApproval, destructive } = ready.tool;
  const free = needsApproval === false || (needsApproval === undefined && !destructive);
  if (free && agent.permissions === undefined && frame.desk.permissions === undefined) return open;
  return judge(frame, agent, ready);
}

async function judge(frame: Frame, agent: ChatDefinition, ready: ReadyCall): Promise<Gate> {
  const { tool } = ready;
  const own = await ownVerdict(frame, agent, ready);
  const verdict = await verdictOn(frame, agent, tool, argsOf(ready), typeof own === "object" ? true : own);
  if (verdict.effect === "deny") return { effect: "deny", words: verdict.words };
  const { rule } = verdict;
  if (verdict.effect === "allow") return rule === undefined ? open : { effect: "allow", rule };
  const request = typeof own === "object" ? own : humanApproval(`${agent.name} wants to run ${tool.name}.`);
  return { effect: "ask", interrupt: approvalOf(frame, ready, request, rule) };
}

/** Returns the tool's own verdict: it needs no approval, it does, or it does with this request. */
async function ownVerdict(
  frame: Frame,
  agent: ChatDefinition,
  { tool, call, args }: ReadyCall,
): Promise<boolean | undefined | Request<Approval>> {
  const { needsApproval } = tool;
  if (typeof needsApproval !== "function") return needsApproval;
  const ctx = new CallContext(frame.place, call.part.id, call.address, frame.deps, tool.graceMs ?? agent.graceMs);
  try {
    const verdict: boolean | Request<Approval> | null | undefined = await needsApproval(args as never, ctx as never);
    if (typeof verdict === "boolean") return verdict;
    // Nothing, a text, a number: its author meant something, and a run cannot be taken back.
    if (typeof verdict !== "object" || verdict === null) {
      throw new Error(
        `its needsApproval gave ${JSON.stringify(verdict) ?? "nothing"}, neither true nor false nor a request.`,
      );
    }
    readRequest(verdict, frame.desk.maxBytes);
    return verdict;
  } catch (error) {
    return humanApproval(
      `${agent.name} wants to run ${tool.name}. Whether that is safe could not be told: ${recordedWords(errorText(error))}`,
    );
  }
}

/** Returns the verdict of the rules on `tool` with `args`; with `asks`, the tool itself wants a person. */
export async function verdictOn(
  frame: Pick<Frame, "desk">,
  agent: Pick<ChatDefinition, "permissions">,
  tool: Tool,
  args: Json,
  asks: boolean | undefined,
): Promise<Verdict> {
  const { desk } = frame;
  const sources = definedRules(frame, agent);
  const remembered = await desk.remembered();
  sources.push({ source: "thread", rules: remembered.thread }, { source: "always", rules: remembered.always });
  const { name, readOnly, repeatable } = tool;
  // A tool that says that this call needs no approval overrides its annotations.
  const destructive = tool.destructive && asks !== false;
  return decide({ name, readOnly, repeatable, destructive }, args, asks, sources, desk.unattended);
}

/** Returns the rule of agent or runner that forbids a call that a person approved. Remembered rules only allow. */
export function denial(
  frame: Pick<Frame, "desk">,
  agent: Pick<ChatDefinition, "permissions">,
  tool: Tool,
  args: Json,
): string | undefined {
  const sources = definedRules(frame, agent);
  if (sources.length === 0) return undefined;
  const verdict = decide(tool, args, true, sources, false);
  return verdict.effect === "deny" ? verdict.words : undefined;
}

function definedRules(
  { desk }: Pick<Frame, "desk">,
  { permissions }: Pick<ChatDefinition, "permissions">,
): RuleSource[] {
  const sources: RuleSource[] = [];
  if (desk.permissions !== undefined) sources.push({ source: "runner", ...desk.permissions });
  if (permissions !== undefined) sources.push({ source: "agent", ...permissions });
  return sources;
}

export function argsOf({ call, ranArgs }: Pick<ReadyCall, "call" | "ranArgs">): Json {
  return ranArgs ?? call.part.args;
}

function approvalOf(frame: Frame, ready: ReadyCall, request: Request<Approval>, rule: string | undefined): Interrupt {
  const { call, tool, changedBy } = ready;
  const { threadId, agentName: by } = frame.place;
  const { id: callId } = call.part;
  const args = argsOf(ready);
  return {
    id: frame.clock.id(),
    address: `${call.address}/approval`,
    raisedAt: frame.clock.now(),
    by,
    callId,
    tool: tool.name,
    version: tool.version,
    args,
    argsSchema: tool.inputSchema,
    digest: callDigest(tool.name, tool.version, args, threadId, call.address),
    ...readRequest(request),
    ...(changedBy !== undefined && { changedBy }),
    ...(rule !== undefined && { rule }),
  };
}

/** Returns the question for the outcome of a call that a crash cut off. */
export function doubtOf(frame: Frame, call: CallState): Interrupt {
  const { id: callId, tool, args } = call.part;
  return {
    id: frame.clock.id(),
    kind: "unknown",
    address: `${call.address}/unknown#${call.doubts ?? 0}`,
    raisedAt: frame.clock.now(),
    by: frame.place.agentName,
    reason: `The program stopped while ${tool} was running. It may have taken effect: run it again, say what it gave, or skip it?`,
    callId,
    tool,
    args: call.ranArgs ?? args,
  };
}
