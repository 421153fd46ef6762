import type { DriftReport } from "@belay/core";
import type { Texts } from "../texts/texts.ts";

/** The changes of the agent, a few words each. */
export function driftWords(t: Texts, { model, instructions, tools, shape }: DriftReport): readonly string[] {
  return [
    model && t.drift.model(model.was ?? "–", model.is ?? "–"),
    instructions && t.drift.instructions,
    tools && tools.added.length > 0 && t.drift.added(tools.added.join(", ")),
    tools && tools.removed.length > 0 && t.drift.removed(tools.removed.join(", ")),
    tools && tools.changed.length > 0 && t.drift.changed(tools.changed.join(", ")),
    shape && t.drift.shape,
  ].filter((words): words is string => typeof words === "string");
}
