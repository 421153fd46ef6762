// The position of a run of a graph, read from its record (G3). Derived each time: a run continues from the journal.

import type { Checkpoint } from "../agent.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import type { Json } from "../json.ts";
import { valueOfFrame } from "../workflow/composite.ts";
import type { Visit } from "./flow.ts";
import { GraphRecord, type Look, type Plan } from "./record.ts";

export function checkpointOf(
  plan: Plan,
  look: Look,
  path: string,
  interrupts: readonly Interrupt[],
): Checkpoint | undefined {
  const scope = look.scope(path);
  if (scope?.runId === undefined) return undefined;
  const record = new GraphRecord(look, scope, plan);
  try {
    record.read();
  } catch {
    // A branch that throws fails the run when it is resumed; this is the position up to there.
  }
  const { open, state, waiting } = record.flow;
  const halts = new Map(interrupts.map((interrupt) => [interrupt.address, interrupt]));
  const inputs: Record<string, Json> = {};
  const subGraphs: Record<string, Checkpoint> = {};
  const rerunNodes: { node: string; input: Json; extra: Json }[] = [];
  const skipPreHandler: string[] = [];
  const stopped = (reason: string) =>
    open.flatMap(({ id, key }) => (halts.get(record.address(id))?.reason === reason ? [key] : []));
  const asked = open.filter((visit) => {
    const request = record.begun(visit) === undefined ? record.requestBefore(visit) : undefined;
    return request !== undefined && request.decision === undefined;
  });
  for (const visit of open) {
    if (record.held.has(visit.id)) continue;
    const begun = record.begun(visit);
    const input = begun === undefined ? visit.input : valueOfFrame({ scope: begun });
    inputs[nameOf(visit, inputs)] = input;
    const halt = halts.get(record.address(visit.id));
    if (halt?.reason === "rerun") rerunNodes.push({ node: visit.key, input, extra: halt.extra ?? null });
    if (begun === undefined) continue;
    skipPreHandler.push(visit.key);
    const below = plan.shape.nodes.get(visit.key)!.agent.checkpoint?.(look, record.path(visit), interrupts);
    if (below !== undefined) subGraphs[nameOf(visit, subGraphs)] = below;
  }
  const nodes = {
    beforeNodes: [...stopped("before"), ...asked.map(({ key }) => key)],
    afterNodes: stopped("after"),
    rerunNodes,
    skipPreHandler,
  };
  return structuredClone({ state, inputs, channels: waiting, ...nodes, subGraphs });
}

/** By its key; a second visit of the same node by its number, too. */
function nameOf({ key, id }: Visit, taken: object): string {
  return Object.hasOwn(taken, key) ? id : key;
}
