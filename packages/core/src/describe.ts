// An agent as plain JSON, for pages and tools that show it. It holds no code and no instructions.

import type { Json } from "./json.ts";

/** An agent as JSON. */
export interface AgentDescription {
  readonly name: string;
  readonly kind: "chat" | "sequential" | "parallel" | "loop" | "custom" | "graph";
  /** The id of its model. */
  readonly model?: string;
  /** The tools that its model can call. */
  readonly tools?: readonly ToolDescription[];
  /** The agents inside it: its parts, its sub-agents, the agents of its tools. */
  readonly children: readonly AgentDescription[];
  /** The JSON Schema of its output; undefined if the output is text or not declared. */
  readonly output?: Json;
  /** The most rounds. Loops only. */
  readonly maxIterations?: number;
  /** The nodes and the edges between them. Graphs only. */
  readonly graph?: GraphDescription;
}

/** A tool as JSON. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** The arguments as JSON Schema. */
  readonly input: Json;
  /** `"depends"` if a function of the arguments decides; undefined if only rules and `destructive` do. */
  readonly needsApproval?: boolean | "depends";
  readonly onStop: "abort" | "finish";
  readonly onCrash: "ask" | "retry" | "fail";
  readonly serial: boolean;
  readonly readOnly: boolean;
  readonly repeatable: boolean;
  readonly destructive: boolean;
  readonly timeoutMs?: number;
  readonly graceMs?: number;
  /** The name of the agent that a call of this tool runs. */
  readonly agent?: string;
}

/** The shape of a graph as JSON. */
export interface GraphDescription {
  /** `agent` is the name of the agent that the node runs; undefined if the node is a function. */
  readonly nodes: readonly { readonly key: string; readonly agent?: string }[];
  /** The keys include `START` and `END`. */
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  /** `to` has the keys that the branch may lead to; undefined if it may lead to any. */
  readonly branches: readonly { readonly from: string; readonly to?: readonly string[] }[];
  readonly trigger?: "any" | "all";
  readonly interruptBefore: readonly BreakpointDescription[];
  readonly interruptAfter: readonly BreakpointDescription[];
  /** The nodes that a person approves before they run, each with the node that a rejection leads to. */
  readonly approveBefore?: readonly { readonly node: string; readonly onReject?: string }[];
}

export interface BreakpointDescription {
  readonly node: string;
  /** True if a function decides at each visit. */
  readonly conditional: boolean;
}
