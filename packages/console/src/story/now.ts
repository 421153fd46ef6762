// What a thread does now, or why it rests, as its last facts say it: for one line in a list. Pure.

import { emptyThread, foldThread, type ThreadView } from "@belay/client";
import type { Fact, PauseType, SessionState } from "@belay/core";
import { textOf, turnOf } from "./story.ts";

export type NowOf =
  | { readonly is: "running"; readonly turn?: number; readonly tools: readonly string[]; readonly since?: number }
  | { readonly is: "stopped"; readonly by: string; readonly why: string | undefined; readonly held: number }
  | { readonly is: "node"; readonly where: "before" | "after"; readonly nodes: readonly string[] }
  | { readonly is: "crashed"; readonly cut: readonly string[] }
  | { readonly is: "failed"; readonly code: string | undefined; readonly words: string }
  | { readonly is: "completed"; readonly words: string };

const WORDS = 160;

/**
 * Returns undefined if the facts do not tell, or if they are of another moment than the list: then the state is all that
 * there is to say.
 */
export function nowOf(
  facts: readonly Fact[],
  state: SessionState,
  pauseType: PauseType | undefined,
): NowOf | undefined {
  const isLost = state === "paused" && pauseType === "crash";
  const recorded = isLost ? "running" : state;
  // The last change of state may lie before these facts.
  const view = facts.reduce<ThreadView>(foldThread, { ...emptyThread, state: recorded });
  if (view.state !== recorded) return undefined;
  switch (state) {
    case "running":
      return running(view, facts);
    case "paused":
      return isLost ? { is: "crashed", cut: toolsThatRun(view) } : resting(view, pauseType);
    case "error": {
      const error = view.runs.at(-1)?.error;
      return error && { is: "failed", code: error.code, words: firstLine(error.message) };
    }
    case "completed": {
      const said = view.messages.findLast(({ role, origin }) => role === "assistant" && origin === "model");
      const words = said === undefined ? "" : plain(textOf(said));
      return words === "" ? undefined : { is: "completed", words };
    }
    default:
      return undefined;
  }
}

function running(view: ThreadView, facts: readonly Fact[]): NowOf {
  const tools = toolsThatRun(view);
  const since = view.runs.at(-1)?.segments.at(-1)?.startedAt;
  const turn = turnOf(facts, tools.length > 0);
  return { is: "running", tools, ...(turn !== undefined && { turn }), ...(since !== undefined && { since }) };
}

function resting(view: ThreadView, pauseType: PauseType | undefined): NowOf | undefined {
  if (pauseType === "node_interrupt") {
    const nodes = view.interrupts.filter(({ kind }) => kind === "node");
    if (nodes.length === 0) return undefined;
    const where = nodes[0]!.reason === "after" ? "after" : "before";
    return { is: "node", where, nodes: nodes.map(({ address }) => nodeAt(address)) };
  }
  const stop = view.stops.at(-1);
  if ((pauseType !== "user_interrupt" && pauseType !== "manual") || stop === undefined) return undefined;
  const why = stop.message ?? (stop.reason === "general" ? undefined : stop.reason);
  return { is: "stopped", by: stop.by, why: why && firstLine(why), held: stop.notStarted.length };
}

function toolsThatRun({ calls }: ThreadView): readonly string[] {
  return [...new Set(calls.filter(({ state }) => state === "running").map(({ tool }) => tool))];
}

/** The key of the node in the address of its visit. */
export function nodeAt(address: string): string {
  return /([^/]*?)(#\d+)?$/.exec(address)![1]!;
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0]!.slice(0, WORDS);
}

/** The first words of an answer without the marks of Markdown. */
function plain(text: string): string {
  return firstLine(text.replace(/\*\*|__|`+|^#+\s+/gm, ""));
}
