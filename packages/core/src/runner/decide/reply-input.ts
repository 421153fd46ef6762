// Runs `beforeReply` hooks on an input before it is on record.

import type { Definition } from "../../agent.ts";
import { BelayError, errorText, UserInterrupt } from "../../error.ts";
import type { FramePlace } from "../../frame.ts";
import { type HookHost, hookFailed } from "../../hooks/call-hooks.ts";
import type { ReplyInput } from "../../hooks/hooks.ts";
import type { StopSignal } from "../../interrupt/stop-signal.ts";
import { inputAfterHooks } from "../../reply.ts";
import { type InputMessage, readInput } from "../given/input.ts";
import type { Setup } from "../given/setup.ts";
import type { Inputs } from "./command.ts";

export interface ReplyHost {
  readonly agent: Definition;
  readonly setup: Pick<Setup, "clock" | "hooks" | "log" | "maxBytes">;
  readonly deps: unknown;
}

/** Returns the input as the hooks leave it; undefined if there is no hook. */
export function inputsAfterHooks(
  { agent, setup, deps }: ReplyHost,
  place: FramePlace,
  inputs: Inputs,
  signal: StopSignal,
): Promise<Inputs> | undefined {
  const at = { place, signal, clock: setup.clock, deps, desk: setup };
  const asked = inputs.length === 0 ? undefined : inputAfterHooks(agent, at, { messages: inputs });
  return asked && given(at, asked, setup.maxBytes);
}

async function given(at: HookHost, asked: Promise<ReplyInput>, most: number): Promise<Inputs> {
  try {
    return readGiven(at, await asked, most);
  } catch (error) {
    // The hook threw because of the stop.
    throw at.signal.stop !== undefined && error instanceof BelayError ? stopped(at.signal) : error;
  }
}

/** Checks the input that a hook returned by the rules for callers. The error names the hook, not the caller. */
function readGiven(at: HookHost, given: ReplyInput, most: number): Inputs {
  let inputs: Inputs;
  try {
    inputs = readInput("messages" in given ? (given.messages as readonly InputMessage[]) : asText(given.value), most);
  } catch (error) {
    throw hookFailed(at, "beforeReply", errorText(error), error);
  }
  if (inputs.length === 0) throw hookFailed(at, "beforeReply", "it left nothing of the input");
  return inputs;
}

/** Returns the error of a command that a stop came before. */
export function stopped({ stop }: StopSignal): UserInterrupt {
  return new UserInterrupt(stop?.at ?? 0, stop?.reason);
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
