import { shown } from "../error.ts";
import type { Patch } from "../event.ts";
import type { HookTable } from "../hooks/hooks.ts";
import type { Json } from "../json.ts";
import type { Message } from "../message.ts";
import type { Model, ModelRequest } from "../model/model.ts";
import type { CheckedPermissions } from "../permission/permissions.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import type { StandardSchema } from "../schema/schema.ts";
import type { Tool } from "../tool/tool.ts";
import type { ModelTimeouts } from "./call-model.ts";
import type { RetrySettings } from "./retry.ts";

/** The argument of an `instructions` function. */
export interface InstructionsContext<Deps = unknown> {
  /** The runner's `deps`. */
  readonly deps: Deps;
  readonly threadId: string;
  /** The input of the agent in this run. */
  readonly input: Json;
  /** The values that the agents of the thread share. */
  readonly values: Patch;
}

/** Makes the instructions of an agent when it begins in a run. */
export type InstructionsFunction<Deps = unknown> = (context: InstructionsContext<Deps>) => string | Promise<string>;

/** A budget of tokens for a request: older messages are replaced by a recorded summary to stay within it. */
export interface ContextBudget {
  /** A request is kept under this many tokens, instructions, tools and output schema included, as far as they can be estimated. */
  readonly maxTokens: number;
  /** The number of tokens of the newest messages that stay as they are; a third of the budget by default. If instructions and
   * tools take a part of the budget, the newest messages keep the same share of the rest. */
  readonly keepTokens?: number | undefined;
  /** Writes the summaries; the agent's own model by default. */
  readonly model?: Model | undefined;
  /** The subjects that a summary must keep. */
  readonly instructions?: string | undefined;
  /**
   * Asked before each request. An object that it returns has the history summed up although it fits; `focus` is added to
   * the instructions. Return it once: the next request asks again.
   */
  readonly wanted?: (() => SummaryWish | undefined) | undefined;
}

/** A person's wish for a summary now. */
export interface SummaryWish {
  /** The subject that the summary must not lose, in the person's words. */
  readonly focus?: string | undefined;
}

const BUDGET: KnownOptions<ContextBudget> = {
  maxTokens: true,
  keepTokens: true,
  model: true,
  instructions: true,
  wanted: true,
};

/** Returns the problem of an agent's `context`. */
export function contextProblem(context: unknown): string | undefined {
  if (context === undefined || typeof context === "function") return undefined;
  if (typeof context !== "object" || context === null || Array.isArray(context)) {
    return `its context is ${JSON.stringify(context)}, neither a function nor { maxTokens }`;
  }
  refuseUnknown("context of agent()", context, BUDGET);
  const budget = context as Partial<Record<keyof ContextBudget, unknown>>;
  const { maxTokens, keepTokens = 0, model, instructions, wanted } = budget;
  if (!isCount(maxTokens) || maxTokens === 0)
    return `maxTokens of its context is ${shown(maxTokens)}, not a number above 0`;
  if (!isCount(keepTokens) || keepTokens >= maxTokens) {
    return `its context keeps ${shown(keepTokens)} of ${maxTokens} tokens`;
  }
  const { stream, id } = (model ?? {}) as Partial<Model>;
  if (model !== undefined && (typeof stream !== "function" || typeof id !== "string")) {
    return "the model of its context has no id or no stream(); wrap AI SDK models with fromAiSdk(model)";
  }
  if (wanted !== undefined && typeof wanted !== "function")
    return `wanted of its context is ${shown(wanted)}, not a function`;
  return instructions === undefined || typeof instructions === "string"
    ? undefined
    : "the instructions of its context are not text";
}

function isCount(tokens: unknown): tokens is number {
  return typeof tokens === "number" && tokens >= 0;
}

/** The input of the loop: everything checked, and everything that is the same each turn made once. */
export interface ChatDefinition {
  readonly name: string;
  readonly model: Model;
  readonly instructions: Message | undefined;
  /** Makes the instructions when the agent begins in a run; undefined if they are text, or absent. */
  readonly instruct: InstructionsFunction | undefined;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Without messages yet. */
  readonly request: ModelRequest;
  readonly output: StandardSchema | undefined;
  /** The shared value that its output becomes. */
  readonly outputKey: string | undefined;
  readonly maxTurns: number;
  readonly maxCorrections: number;
  readonly timeouts: ModelTimeouts;
  readonly retry: RetrySettings;
  readonly graceMs: number;
  /** Which calls may run, must be asked for, or never run. */
  readonly permissions: CheckedPermissions | undefined;
  readonly hooks: HookTable | undefined;
  /** The agents that may have the word in the same history, by name, this one included; undefined if it is alone. */
  readonly family: ReadonlyMap<string, ChatDefinition> | undefined;
  /** Chooses the messages of the history to send. */
  readonly context: ((history: readonly Message[]) => readonly Message[]) | undefined;
  /** Keeps each request under a number of tokens, by recorded summaries. */
  readonly budget: ContextBudget | undefined;
}
