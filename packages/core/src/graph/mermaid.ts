// A graph as a Mermaid diagram, with the position of a run if one is given.

import type { Checkpoint } from "../agent.ts";
import { belayError, shown } from "../error.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { END, type Shape, START } from "./shape.ts";

/** The options of `toMermaid()`. */
export interface MermaidOptions {
  /** Nodes to mark, by key, or the checkpoint of a run. */
  readonly at?: readonly string[] | Checkpoint | undefined;
}

const OPTIONS: KnownOptions<MermaidOptions> = { at: true };

export function toMermaid({ nodes, edges, branches, rejections }: Shape, options: MermaidOptions = {}): string {
  refuseUnknown("toMermaid()", options, OPTIONS);
  const { at = [] } = options;
  const lines = ["flowchart TD", `  ${START}([START])`];
  for (const { key, agent } of nodes.values())
    lines.push(`  ${id(key)}["${key === agent.name ? key : `${key}: ${agent.name}`}"]`);
  lines.push(`  ${END}([END])`);
  for (const [from, targets] of edges) for (const to of targets) lines.push(`  ${id(from)} --> ${id(to)}`);
  for (const [from, all] of branches) {
    for (const { to } of all) {
      for (const key of to ?? [...nodes.keys(), END]) lines.push(`  ${id(from)} -.-> ${id(key)}`);
    }
  }
  for (const [from, to] of rejections) lines.push(`  ${id(from)} -. rejected .-> ${id(to)}`);
  if (typeof at !== "object" || at === null) {
    throw belayError("OPTION_INVALID", { option: "at", value: shown(at), needed: "a list of nodes, or a checkpoint" });
  }
  const keys = "inputs" in at ? [...Object.keys(at.inputs), ...at.afterNodes] : at;
  const here = keys.filter((key) => nodes.has(key));
  if (here.length > 0)
    lines.push("  classDef here fill:#ffd866,stroke-width:3px,color:#000", `  class ${here.map(id).join(",")} here`);
  return `${lines.join("\n")}\n`;
}

/** Some words mean something to Mermaid, whatever their case. */
function id(key: string): string {
  return key === START || key === END ? key : `n_${key}`;
}
