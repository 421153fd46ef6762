// Hooks around a call. Before the call: the arguments that a hook returns are judged like the model's (schema, rules, people)
// and recorded with the verdict; nothing changes them later. After the call: the output that a hook returns is recorded,
// once.

import type { Frame } from "../frame.ts";
import { callHook, hookFailed, runAfter, show } from "../hooks/call-hooks.ts";
import { type Hook, type HookCall, hooksNamed } from "../hooks/hooks.ts";
import { canonical } from "../interrupt/digest.ts";
import { StopSignal } from "../interrupt/stop-signal.ts";
import type { CallState } from "../journal/state.ts";
import { fitting, type Json, toJson } from "../json.ts";
import type { Outcome } from "../message.ts";
import type { ChatDefinition } from "./definition.ts";

/** A call after its hooks, before it is judged: other arguments, or its end without running. */
export type HookedCall =
  | { readonly ranArgs?: Json }
  | { readonly outcome: "rejected" | "ok"; readonly output: Json }
  /** A stop arrived: no code waits for it. */
  | undefined;

/** The hooks for a call that can be made at all. */
export function beforeToolHooks(frame: Frame, agent: ChatDefinition, { part }: CallState): readonly Hook[] | undefined {
  const outer = frame.desk.hooks;
  if (outer === undefined && agent.hooks === undefined) return undefined;
  const { tool, args } = part;
  if (!agent.tools.has(tool) || typeof args !== "object" || args === null || Array.isArray(args)) return undefined;
  return hooksNamed(outer, agent.hooks, "beforeTool");
}

/** Rejects with HOOK_FAILED. */
export async function askHooks(frame: Frame, call: CallState, hooks: readonly Hook[]): Promise<HookedCall> {
  const asked = call.part.args;
  let args = asked;
  for (const hook of hooks) {
    if (frame.signal.stop !== undefined) return undefined;
    const given = await callHook(frame, "beforeTool", hook, infoOf(call, args));
    if (given === undefined) continue;
    const { args: other, reject, result } = (given ?? {}) as Record<string, unknown>;
    try {
      const { maxBytes } = frame.desk;
      if (typeof reject === "string") {
        const words = reject.trim() === "" ? "the program rejected it." : reject;
        return { outcome: "rejected", output: fitting(words, "What it says", maxBytes) };
      }
      if (result !== undefined) return { outcome: "ok", output: toJson(result, "A result", maxBytes) };
      if (typeof other === "object" && other !== null && !Array.isArray(other))
        args = toJson(other, "What it gave for the arguments", maxBytes);
      else throw new TypeError(`it gave ${show(given)}, none of { args }, { reject }, { result }`);
    } catch (error) {
      throw hookFailed(frame, "beforeTool", (error as Error).message, error);
    }
  }
  return canonical(args) === canonical(asked) ? {} : { ranArgs: args };
}

/** Returns the recorded output of a call that has run; `late`, of one that a stop or its time has left behind. Never rejects. */
export type AfterTool = (
  call: CallState,
  ran: Json | undefined,
  outcome: Outcome,
  output: Json,
  late?: boolean,
) => Promise<Json>;

export function afterToolHooks(frame: Frame, agent: ChatDefinition): AfterTool | undefined {
  const outer = frame.desk.hooks;
  if (outer === undefined && agent.hooks === undefined) return undefined;
  const hooks = hooksNamed(outer, agent.hooks, "afterTool");
  if (hooks === undefined) return undefined;
  return async (call, ran, outcome, output, late) => {
    const info = (now: Json) => ({ ...infoOf(call, ran ?? call.part.args), outcome, output: now });
    const take = (_: Json, given: unknown): Json => {
      if (typeof given !== "object" || given === null || !("output" in given)) {
        throw new TypeError(`it gave ${show(given)}, not { output }`);
      }
      return toJson(given.output, "A result", frame.desk.maxBytes);
    };
    if (late) {
      // No stop waits for it any more.
      const { place, clock, deps, desk } = frame;
      const host = { place, clock, deps, desk, signal: new StopSignal() };
      return runAfter(host, "afterTool", hooks, output, info, take);
    }
    const made = await frame.signal.orStopped(
      runAfter(frame, "afterTool", hooks, output, info, take).then((value) => ({ value })),
    );
    return made === undefined ? output : made.value;
  };
}

function infoOf({ part, address }: CallState, args: Json): HookCall {
  return { callId: part.id, tool: part.tool, address, asked: part.args, args };
}
