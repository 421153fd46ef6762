// An interrupt: the reason and the place of a stop, and the data to continue. An interrupt that waits for a person is a
// request.

import type { Json } from "../json.ts";
import type { PauseType } from "../lifecycle.ts";

/** The kind of a request. `unknown` asks for the outcome of a call that a crash cut off. */
export type RequestKind = "approval" | "input" | "custom" | "unknown";

/** The reason and the place of a stop, and the data to continue. An interrupt that waits for a person is a request. */
export interface Interrupt {
  readonly id: string;
  /**
   * `node`: a graph waits there for resume(), before or after the node by its reason. `rerun`: a call, a custom agent
   * or a node asks to run again and waits for resume().
   */
  readonly kind: "user" | "manual" | "node" | "rerun" | RequestKind;
  /** Its address: agent › turn › call › step. */
  readonly address: string;
  readonly raisedAt: number;
  /** The sender of the stop; for a request, the agent that asks. */
  readonly by: string;
  readonly reason?: string;
  /** A note of the person that stopped the run, for the record. It is not part of the conversation. */
  readonly message?: string;
  /** The calls that it met, by id; undefined if it met none. */
  readonly calls?: {
    readonly stopped: readonly string[];
    readonly finished: readonly string[];
    readonly notStarted: readonly string[];
    readonly late: readonly string[];
  };
  /** The call that a request is about: one that waits to run, or the one that asks. */
  readonly callId?: string;
  readonly tool?: string;
  readonly version?: string;
  /** The arguments of the call. */
  readonly args?: Json;
  /** The JSON Schema of the arguments: an approval that edits them is checked by it, also by a runner without agents. */
  readonly argsSchema?: Json;
  /** Set on a request inside a call with arguments that differ from the model's. */
  readonly edited?: true;
  /** The node of a graph that it belongs to. */
  readonly node?: string;
  /** Set if a hook and not a person changed the model's arguments. */
  readonly changedBy?: "hook";
  /** The key of a request raised inside a call. */
  readonly key?: string;
  /** A name for the asker's own use, to match the answer. */
  readonly stateKey?: string;
  /** The facts that a person needs to decide. */
  readonly context?: Json;
  /** Data for the program that shows it, not for the person. */
  readonly extra?: Json;
  /** The sha256 digest of the requested action. An approval holds for exactly that. */
  readonly digest?: string;
  readonly expiresAt?: number;
  readonly onExpire?: OnExpire;
  /** The ids, or group:name, that may answer; undefined for no restriction. */
  readonly approvers?: readonly string[];
  /** How many different people must approve; one if undefined. */
  readonly quorum?: number;
  readonly onNewInput?: OnNewInput;
  /** The JSON Schema of an answer. */
  readonly schema?: Json;
  /** The permission rule that made it necessary. */
  readonly rule?: string;
  /** The request of the parent thread that it replaces. Forks only. */
  readonly replaces?: string;
}

/** The outcome of a request that is not answered in time. */
export type OnExpire = "reject" | "approve" | "fail";

/** The effect of a new input on a request. */
export type OnNewInput = "withdraw" | "keep" | "answer";

/** Returns whether the interrupt waits for a person. The view of a whole pause does not count: it repeats requests. */
export function isRequest(interrupt: Interrupt | undefined): interrupt is Interrupt {
  if (interrupt === undefined || "data" in interrupt) return false;
  const { kind } = interrupt;
  return kind !== "user" && kind !== "manual" && kind !== "node" && kind !== "rerun";
}

/** Returns whether it waits for resume() alone: a graph stopped at a node, or code asks to run again. */
export function waitsForResume({ kind }: Interrupt): boolean {
  return kind === "node" || kind === "rerun";
}

/**
 * Returns whether it belongs to a node of a graph. Journals of version 3 and older have no `node` in interrupts that
 * wait for resume().
 */
export function isAtNode({ kind, node }: Interrupt): boolean {
  return kind === "node" || (kind === "rerun" && node !== undefined);
}

/** Returns the pause type for interrupts that wait for resume(); undefined if none does. */
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
  /** True if resuming means reasoning again; false if an answer goes back to the code that asked. */
  readonly restartBlock: boolean;
}
