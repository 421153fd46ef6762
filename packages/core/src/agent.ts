// The interface that every agent implements. An agent gets a frame, records facts and publishes drafts through it, and
// returns how it ended.

import type { AgentDescription } from "./describe.ts";
import { type BelayError, belayError } from "./error.ts";
import type { Action, Fact, Patch } from "./event.ts";
import type { Fingerprint } from "./fingerprint.ts";
import type { Desk, Frame } from "./frame.ts";
import type { HookTable } from "./hooks/hooks.ts";
import type { Interrupt } from "./interrupt/interrupt.ts";
import type { Inside, InterruptData } from "./interrupt/view.ts";
import type { Json } from "./json.ts";
import type { Finish } from "./message.ts";
import type { Verdict } from "./permission/decide.ts";

/** A call that a stop met, and its effect on it. */
export interface MetCall {
  readonly id: string;
  readonly address: string;
  readonly how: "stopped" | "finished" | "notStarted";
}

/**
 * Describes how an agent ended. `facts` go into the same append as the end itself. `turn` is the turn that ends with
 * it. `attempt` is the number of the next try of its model call.
 */
export type Ended = { readonly facts: readonly Fact[]; readonly turn?: number } & (
  | {
      readonly how: "completed";
      readonly text: string;
      readonly output: unknown;
      readonly finish: Finish;
      /** The action that also ends the agents above it. */
      readonly action?: Action;
      /** The shared values that the agent set. */
      readonly values?: Patch;
      /** The name of the shared value that the output becomes. */
      readonly outputKey?: string;
      /**
       * Returns the changes to the state of the surrounding graph, computed when the end is appended. Throws
       * `TOO_LARGE`.
       */
      readonly patch?: () => Patch | undefined;
    }
  | {
      readonly how: "stopped";
      readonly partialText: string;
      readonly calls: readonly MetCall[];
      readonly attempt: number;
    }
  /** Only an answer of a person can continue the run. */
  | { readonly how: "asking"; readonly calls: readonly MetCall[] }
  | { readonly how: "failed"; readonly error: BelayError; readonly attempt?: number }
);

/** Marks an agent. */
const AGENT: unique symbol = Symbol("agent");

/**
 * An immutable definition: a name, and how it turns input into events. `agent()`, `defineAgent()`, `sequential()`,
 * `parallel()`, `loop()` and a compiled graph make one. `Out` is the type of a completed run's output. `Deps` is the
 * type of the dependencies that its tools expect from the runner. Neither exists at run time. Use `describe(agent)` to
 * inspect one.
 */
export interface Agent<out Out = unknown, in Deps = never> {
  readonly name: string;
  readonly [AGENT]: true;
  readonly types?: { readonly output: Out; readonly deps: (deps: Deps) => void };
}

/** The runtime definition behind each public agent. */
const definitions = new WeakMap<object, Definition>();

/** Returns the public agent for a definition, with the public methods in `more`. */
export function published<More extends object>(definition: Definition, more?: More): Agent & More {
  const made = Object.freeze({ name: definition.name, [AGENT]: true as const, ...(more as More) });
  definitions.set(made, definition);
  return made;
}

/**
 * Returns the definition behind an agent. Throws `AGENT_INVALID`, or `refusal`, for any value that this copy of the
 * package did not make.
 */
export function definitionOf(agent: unknown, refusal?: () => Error): Definition {
  const known = typeof agent === "object" && agent !== null ? definitions.get(agent) : undefined;
  if (known !== undefined) return known;
  if (refusal !== undefined) throw refusal();
  const name = String((agent as Partial<Agent> | null | undefined)?.name ?? agent);
  throw belayError("AGENT_INVALID", { agent: name, problem: "it was not made by agent(…)" });
}

/** An agent as the runtime runs it. */
export interface Definition {
  readonly name: string;
  /** How a rethink closes calls that never started: with a synthetic result, or by dropping their group. */
  readonly repair: "synthetic" | "drop";
  run(frame: Frame): Promise<Ended>;
  /** True if the agent reads messages. Other agents get a value. */
  readonly chats: boolean;
  /** The agents inside it. */
  readonly children: readonly Definition[];
  /** Returns the child that runs under this last part of a path. By default the child with that name. */
  childAt?(segment: string): Definition | undefined;
  /** Builds the view of the interrupts inside it for the agent above (W2). By default a list. */
  view?(inside: Inside): InterruptData;
  /** Hooks that the runtime calls around the work of this agent. */
  readonly hooks?: HookTable | undefined;
  /** The message for the person after a stop if no hook supplies one. */
  readonly interruptMessage?: string | undefined;
  /** Set if this is an inner part and not an agent of its own: hooks around replies are not called for it. */
  readonly plain?: true;
  /** Set if this process does not have the agent: a placeholder, which cannot run here. */
  readonly absent?: true;
  /** Returns the digests of its parts. */
  fingerprint(): Fingerprint;
  /** Returns it as JSON, with the agents inside it. */
  describe(): AgentDescription;
  /** Returns the problem with arguments that a person gave in place of the model's, or undefined. */
  argsProblem(interrupt: Interrupt, args: Json): Promise<string | undefined>;
  /** Returns the verdict of its rules on a call. */
  verdict(desk: Desk, tool: string, args: Json): Promise<Verdict>;
  /** The keys of the nodes. Graphs only. */
  readonly nodes?: readonly string[];
  /** Returns the position of the run of a graph at `path`; undefined if it has not begun. Graphs only. */
  readonly checkpoint?: (
    look: Pick<Desk, "scope" | "breakpoints" | "request">,
    path: string,
    interrupts: readonly Interrupt[],
  ) => Checkpoint | undefined;
}

/** The position of a run of a graph: a view of the record, copied, by the keys of nodes. Resuming does not read it. */
export interface Checkpoint {
  readonly state: Patch;
  /** The inputs of nodes whose output has not been passed on, by node. */
  readonly inputs: Readonly<Record<string, Json>>;
  /** The inputs that have arrived at nodes that wait for more, by source. */
  readonly channels: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  /** Nodes that wait for resume() or for an approval before they run, and nodes that wait for resume() after. */
  readonly beforeNodes: readonly string[];
  readonly afterNodes: readonly string[];
  /** Nodes that asked to run again. */
  readonly rerunNodes: readonly { readonly node: string; readonly input: Json; readonly extra: Json }[];
  /** Nodes whose input is on record: their `before` does not run again. */
  readonly skipPreHandler: readonly string[];
  readonly subGraphs: Readonly<Record<string, Checkpoint>>;
}

export const noCalls: readonly MetCall[] = [];
