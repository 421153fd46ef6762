// The actions on a world: as data, so that a property test can draw, shrink and print them.

import {
  type Answer,
  approve,
  type Interrupt,
  type InterruptOptions,
  type ResumeOptions,
  reject,
  respond,
} from "@belay/core";
import type { Fault, FaultyOperation } from "@belay/core/inside";

export type Action =
  | { readonly do: "run"; readonly on: number; readonly inputs: number }
  | { readonly do: "resume"; readonly on: number; readonly inputs: number }
  /** Resumes if that is possible, else runs; does nothing during a run. */
  | { readonly do: "go"; readonly on: number; readonly inputs: number; readonly mode?: ResumeOptions["mode"] }
  | { readonly do: "resume-handle"; readonly on: number; readonly back: number; readonly inputs: number }
  | { readonly do: "interrupt"; readonly on: number; readonly options: InterruptOptions; readonly times: number }
  | { readonly do: "pause" | "terminate" | "close" | "kill" | "freeze" | "thaw"; readonly on: number }
  /** Says something to a request: `which` of the open ones, counted from the last, or of those that are decided. */
  | { readonly do: "answer"; readonly on: number; readonly which: number; readonly how: How; readonly times: number }
  /** By whichever process has the thread. */
  | { readonly do: "interrupt-anywhere"; readonly on: number; readonly options: InterruptOptions }
  | { readonly do: "steer" | "enqueue"; readonly on: number }
  /** Takes back the input that was sent last but `back`. */
  | { readonly do: "withdraw"; readonly on: number; readonly back: number }
  | { readonly do: "start" }
  | { readonly do: "advance"; readonly ms: number }
  | { readonly do: "release-deaf" }
  | { readonly do: "settle"; readonly ticks: number }
  | {
      readonly do: "fault";
      readonly on: number;
      readonly operation: FaultyOperation;
      readonly faults: readonly Fault[];
    }
  | { readonly do: "slow"; readonly on: number; readonly fault: Fault };

export type How = "yes" | "no" | "instead" | "wrong" | "unknown";

export function answerTo({ kind, key }: Interrupt, how: How): Answer {
  const question = kind === "input" || kind === "custom";
  switch (how) {
    case "yes":
    case "unknown":
      return question ? respond("yes") : approve();
    case "no":
      return reject("no");
    case "instead":
      return kind === "approval" && key !== undefined ? approve() : respond("instead");
    case "wrong":
      if (kind === "approval" && key !== undefined) return respond("yes");
      return question ? approve() : approve({ args: "none" });
    default:
      return how satisfies never;
  }
}
