// Runs `beforeReply` hooks on an input before it is on record. A stop gives them their grace. If a hook takes longer, the reply
// has not begun, and its input is not recorded.

import type { Definition } from "../../agent.ts";
import { BelayError, errorText, UserInterrupt } from "../../error.ts";
import type { FramePlace } from "../../frame.ts";
import { type HookHost, hookFailed, withinGrace } from "../../hooks/call-hooks.ts";
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

/** Calls the hooks once, however often the segment has to be opened. */
export function inputHooks(host: ReplyHost, place: FramePlace, inputs: Inputs): (signal: StopSignal) => Given {
  let made: Promise<Inputs> | undefined;
  return (signal) => {
    if (inputs.length === 0) return inputs;
    made ??= ask(host, place, inputs, signal);
    return made ?? inputs;
  };
}

type Given = Inputs | Promise<Inputs>;

function ask(host: ReplyHost, place: FramePlace, inputs: Inputs, signal: StopSignal): Promise<Inputs> | undefined {
  const { agent, setup, deps } = host;
  const at = { place, signal, clock: setup.clock, deps, desk: setup };
  const hooked = inputAfterHooks(agent, at, { messages: inputs });
  return (
    hooked &&
    withinGrace(at, hooked).then(
      (given) => {
        if (given === undefined) throw stopped(signal);
        return readGiven(at, given, setup.maxBytes);
      },
      (error: unknown) => {
        // The hook threw because of the stop.
        throw signal.stop !== undefined && error instanceof BelayError ? stopped(signal) : error;
      },
    )
  );
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

function stopped({ stop }: StopSignal): UserInterrupt {
  return new UserInterrupt(stop?.at ?? 0, stop?.reason);
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
