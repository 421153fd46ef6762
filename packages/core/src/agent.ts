// The interface every agent implements: a frame in, facts and drafts through the frame, an end out.

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

/** Which calls of the turn a stop met, by id. */
export interface StoppedCalls {
  readonly stopped: readonly string[];
  readonly finished: readonly string[];
  readonly notStarted: readonly string[];
}

/** `facts` go into the same append as the end itself; `turn` is the turn that ends with it; `attempt` is the next try of its model call. */
export type Ended = { readonly facts: readonly Fact[]; readonly turn?: number } & (
  | {
      readonly how: "completed";
      readonly text: string;
      readonly output: unknown;
      readonly finish: Finish;
      /** What ends those above it, too. */
      readonly action?: Action;
      /** The shared values that it set. */
      readonly values?: Patch;
      /** The shared value that its output becomes. */
      readonly outputKey?: string;
      /** What it changes in the state of the graph around it, as that is when its end is written. Throws `TOO_LARGE`. */
      readonly patch?: () => Patch | undefined;
    }
  | { readonly how: "stopped"; readonly partialText: string; readonly calls: StoppedCalls; readonly attempt: number }
  /** Nothing moves any more but by people's answers. */
  | { readonly how: "asking"; readonly calls: StoppedCalls }
  | { readonly how: "failed"; readonly error: BelayError; readonly attempt?: number }
);

/** Marks an agent. */
const AGENT: unique symbol = Symbol("agent");

/**
 * An immutable definition: a name, and how input is turned into events. Made by `agent()`, `defineAgent()`, `sequential()`,
 * `parallel()`, `loop()` or a compiled graph. `Out` is the type of a completed run's output, `Deps` what its tools need of the
 * runner; neither exists at run time. `describe(agent)` tells more.
 */
export interface Agent<out Out = unknown, in Deps = never> {
  readonly name: string;
  readonly [AGENT]: true;
  readonly types?: { readonly output: Out; readonly deps: (deps: Deps) => void };
}

/** What the runtime knows of each agent. */
const definitions = new WeakMap<object, Definition>();

/** The agent that users get for a definition, with `more` for them to ask. */
export function published<More extends object>(definition: Definition, more?: More): Agent & More {
  const made = Object.freeze({ name: definition.name, [AGENT]: true as const, ...(more as More) });
  definitions.set(made, definition);
  return made;
}

/** Throws `AGENT_INVALID`, or `refusal`, for anything else than an agent of this copy of the package. */
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
  /** How calls that never started are told to the model when the person changes direction. */
  readonly repair: "synthetic" | "drop";
  run(frame: Frame): Promise<Ended>;
  /** It reads messages; others are given a value. */
  readonly chats: boolean;
  /** The agents inside it. */
  readonly children: readonly Definition[];
  /** The one of them that runs under this last part of a path; by its name where it does not say. */
  childAt?(segment: string): Definition | undefined;
  /** What the interrupts inside it look like from outside (W2); a list where it does not say. */
  view?(inside: Inside): InterruptData;
  /** Called around what it does. */
  readonly hooks?: HookTable | undefined;
  /** Said to the person after a stop if no hook speaks. */
  readonly interruptMessage?: string | undefined;
  /** It is no agent to people: hooks around replies are not called for it. */
  readonly plain?: true;
  /** It stands for an agent that this process does not have: nothing of it can run here. */
  readonly absent?: true;
  /** What it is made of. */
  fingerprint(): Fingerprint;
  /** Returns it as JSON, with the agents inside it. */
  describe(): AgentDescription;
  /** What is wrong with arguments that a person gave instead of the model's, where something is. */
  argsProblem(interrupt: Interrupt, args: Json): Promise<string | undefined>;
  /** What its rules say of a call. */
  verdict(desk: Desk, tool: string, args: Json): Promise<Verdict>;
  /** Of a graph: the keys of its nodes. */
  readonly nodes?: readonly string[];
  /** Of a graph: where its run at `path` stands; undefined where it has not begun. */
  readonly checkpoint?: (
    look: Pick<Desk, "scope" | "breakpoints" | "request">,
    path: string,
    interrupts: readonly Interrupt[],
  ) => Checkpoint | undefined;
}

/** Where a run of a graph stands: a view of what is on record, not what it goes on from. Copies, by the keys of nodes. */
export interface Checkpoint {
  readonly state: Patch;
  /** What nodes that have not handed on what they give were given, or will be. */
  readonly inputs: Readonly<Record<string, Json>>;
  /** What has arrived at nodes that wait for more, by where it came from. */
  readonly channels: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  /** Nodes that wait for resume() or for an approval before they run, and nodes that wait for resume() after. */
  readonly beforeNodes: readonly string[];
  readonly afterNodes: readonly string[];
  /** Nodes that asked to be run again. */
  readonly rerunNodes: readonly { readonly node: string; readonly input: Json; readonly extra: Json }[];
  /** Nodes whose input is on record: their `before` does not run again. */
  readonly skipPreHandler: readonly string[];
  readonly subGraphs: Readonly<Record<string, Checkpoint>>;
}

export const noCalls: StoppedCalls = { stopped: [], finished: [], notStarted: [] };
