// An interrupt: why and where a run stopped, and what it needs to go on. One that waits for a person is a request.

import type { Json } from "../json.ts";
import type { PauseType } from "../lifecycle.ts";

/** `unknown` asks what became of a call that a crash cut off. */
export type RequestKind = "approval" | "input" | "custom" | "unknown";

/** Why and where a run stopped, and what it needs to continue. One that waits for a person is a request. */
export interface Interrupt {
  readonly id: string;
  /**
   * `node`: a graph waits there for resume(); its reason is before or after. `rerun`: a call, a custom agent or a node asks
   * to be run again, and waits for resume() too.
   */
  readonly kind: "user" | "manual" | "node" | "rerun" | RequestKind;
  /** Where it happened: agent › turn › call › step. */
  readonly address: string;
  readonly raisedAt: number;
  /** Who stopped it; for a request, the agent that asks. */
  readonly by: string;
  readonly reason?: string;
  /** Words of the person who stopped it, for the record; they are not part of the conversation. */
  readonly message?: string;
  /** Which calls it met, by id; not there where it met none. */
  readonly calls?: {
    readonly stopped: readonly string[];
    readonly finished: readonly string[];
    readonly notStarted: readonly string[];
    readonly late: readonly string[];
  };
  /** What a request is about: a call before it runs, or the call that asks. */
  readonly callId?: string;
  readonly tool?: string;
  readonly version?: string;
  /** The arguments of the call. */
  readonly args?: Json;
  /** Of a request raised inside a call: its arguments are not the ones that the model asked for. */
  readonly edited?: true;
  /** The node of a graph that it is about. */
  readonly node?: string;
  /** Who changed the arguments that the model asked for, where that was no person. */
  readonly changedBy?: "hook";
  /** Of a request raised inside a call: its key there. */
  readonly key?: string;
  /** Names, for the asker's own use, what the answer belongs to. */
  readonly stateKey?: string;
  /** What a person needs to see to decide. */
  readonly context?: Json;
  /** For whoever shows it; not for the person. */
  readonly extra?: Json;
  /** sha256 of what is asked for: an approval holds for exactly that. */
  readonly digest?: string;
  readonly expiresAt?: number;
  readonly onExpire?: OnExpire;
  /** Who may answer: ids, or group:name. Anyone where it is not there. */
  readonly approvers?: readonly string[];
  /** How many different people must approve; one where it is not there. */
  readonly quorum?: number;
  readonly onNewInput?: OnNewInput;
  /** What an answer must look like, as JSON Schema. */
  readonly schema?: Json;
  /** The permission rule that made it necessary. */
  readonly rule?: string;
  /** Of a fork: the request of the other thread in whose place it is raised. */
  readonly replaces?: string;
}

/** What happens to a request that is not answered in time. */
export type OnExpire = "reject" | "approve" | "fail";

/** What happens to a request when the person says something else instead. */
export type OnNewInput = "withdraw" | "keep" | "answer";

/** True for an interrupt that waits for a person. The view of a whole pause is none: it repeats requests that were raised. */
export function isRequest(interrupt: Interrupt | undefined): interrupt is Interrupt {
  if (interrupt === undefined || "data" in interrupt) return false;
  const { kind } = interrupt;
  return kind !== "user" && kind !== "manual" && kind !== "node" && kind !== "rerun";
}

/** Returns true if it waits for resume() alone: a graph stopped at a node, or code asks to be run again. */
export function waitsForResume({ kind }: Interrupt): boolean {
  return kind === "node" || kind === "rerun";
}

/** Returns true if it is about a node of a graph. Version 3 and older have no `node` in those that wait for resume(). */
export function isAtNode({ kind, node }: Interrupt): boolean {
  return kind === "node" || (kind === "rerun" && node !== undefined);
}

/** Returns the kind of a pause in which these wait for resume(); undefined if none does. */
export function resumePause(interrupts: readonly Interrupt[]): "tool_interrupt" | "node_interrupt" | undefined {
  const waiting = interrupts.filter(waitsForResume);
  if (waiting.length === 0) return undefined;
  return waiting.every(isAtNode) ? "node_interrupt" : "tool_interrupt";
}

/** Names one pause of one run; plain JSON. Its token works once. */
export interface Handle {
  readonly threadId: string;
  readonly runId: string;
  readonly segment: number;
  readonly token: string;
  readonly interruptType: PauseType;
  /** True when going on means reasoning again, false when an answer goes back into what asked for it. */
  readonly restartBlock: boolean;
}
