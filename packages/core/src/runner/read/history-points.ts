// A thread as a person looks back at it: messages, calls and decisions, each with the point to fork at.

import type { Fact, StateEvent } from "../../event.ts";
import { isAtNode, isRequest } from "../../interrupt/interrupt.ts";
import { type InterruptView, isView, mapLeaves } from "../../interrupt/view.ts";
import { messageText } from "../../message.ts";

/** `fork({ at: seq })` includes it, with the state of that moment; for a message, `fork({ before: id })` excludes it. */
export interface HistoryPoint {
  readonly seq: number;
  readonly at: number;
  readonly kind: "input" | "answer" | "result" | "step" | "request" | "decision" | "stop" | "end" | "fork";
  /** The message or the event, in a few words. */
  readonly text: string;
  /** Of a message, or of a request. */
  readonly id?: string;
  /** The agent, if it is nested. */
  readonly path?: string;
  readonly runId: string;
}

export function historyPoints(facts: readonly Fact[]): readonly HistoryPoint[] {
  return facts.flatMap((fact, index) => {
    const told = tell(fact);
    if (told === undefined) return [];
    const { at, runId, runPath } = fact;
    const seq = told.kind === "stop" || told.kind === "end" ? restAfter(facts, index) : fact.seq;
    return [{ seq, at, ...told, ...(runPath.includes("/") && { path: runPath }), runId }];
  });
}

/** A stop and an end are complete with the move that is recorded with them: a fork in between would find the thread running. */
function restAfter(facts: readonly Fact[], index: number): number {
  const move = facts.slice(index).find((fact): fact is StateEvent => fact.type === "state");
  const rests = move !== undefined && move.state !== "running" && move.state !== "initialized";
  return rests ? move.seq : facts[index]!.seq;
}

function tell(fact: Fact): Pick<HistoryPoint, "kind" | "text" | "id"> | undefined {
  switch (fact.type) {
    case "message": {
      const { id, role, parts } = fact.message;
      const calls = parts.flatMap((part) => (part.type === "call" ? [`→ ${part.tool}`] : []));
      const text = [messageText(fact.message), ...calls].filter((each) => each !== "").join(" ");
      return { kind: role === "assistant" ? "answer" : "input", text, id };
    }
    case "tool-end":
      return fact.held ? undefined : { kind: "result", text: `${fact.tool}: ${fact.outcome}` };
    case "tool-late":
      return { kind: "result", text: `${fact.tool}, late: ${fact.outcome}` };
    case "step":
      return { kind: "step", text: fact.error === undefined ? fact.key : `${fact.key}: ${fact.error.message}` };
    case "action": {
      const { interrupted } = fact.action;
      if (interrupted === undefined) return undefined;
      const { id, reason = "", by, kind, tool, address } = interrupted;
      // The view of a pause repeats requests and nodes that are on record. A stop, and nodes of the root, stand only there.
      if (isView(interrupted) && kind !== "user" && kind !== "manual") return nodesIn(interrupted, fact.runPath);
      if (isRequest(interrupted)) return { kind: "request", text: reason, id };
      if (isAtNode(interrupted)) return { kind: "stop", text: `by ${by}: ${reason} ${nodeAt(address)}` };
      const words = tool === undefined ? reason : `${reason} ${tool}`;
      return { kind: "stop", text: words === "" ? `by ${by}` : `by ${by}: ${words}` };
    }
    case "request-answered":
      return fact.refused ? undefined : { kind: "decision", text: `${fact.answer.type} by ${fact.by}`, id: fact.id };
    case "state":
      return fact.forked && { kind: "fork", text: `of ${fact.forked.threadId} at ${fact.forked.seq}` };
    case "run-end": {
      const text = fact.error === undefined ? fact.status : `${fact.status}: ${fact.error.message}`;
      if (!fact.runPath.includes("/")) return { kind: "end", text };
      // The output of a chat agent is its answer; a node or another agent has no message.
      if (fact.output === undefined && fact.error === undefined) return undefined;
      return { kind: "result", text: `${fact.agentName}: ${text}` };
    }
    case "run-start":
    case "tool-start":
    case "input-queued":
    case "input-consumed":
    case "command":
    case "drift":
    case "rule-removed":
    case "breakpoint":
    case "label":
      return undefined;
    default:
      return fact satisfies never;
  }
}

/** The nodes of the root graph that wait for resume(). */
function nodesIn(view: InterruptView, root: string): Pick<HistoryPoint, "kind" | "text"> | undefined {
  const nodes: string[] = [];
  mapLeaves(view, (each) => {
    const { kind, reason = "", address } = each;
    if (kind === "node" && address.lastIndexOf("/") === root.length) nodes.push(`${reason} ${nodeAt(address)}`);
    return each;
  });
  return nodes.length === 0 ? undefined : { kind: "stop", text: `by ${root}: ${nodes.join(", ")}` };
}

/** The node of a visit's address. */
function nodeAt(address: string): string {
  return address.slice(address.lastIndexOf("/") + 1, address.lastIndexOf("#"));
}
