import type { HookTable } from "../hooks/hooks.ts";
import type { Message } from "../message.ts";
import type { Model, ModelRequest } from "../model/model.ts";
import type { CheckedPermissions } from "../permission/permissions.ts";
import type { StandardSchema } from "../schema/schema.ts";
import type { Tool } from "../tool/tool.ts";
import type { ModelTimeouts } from "./call-model.ts";
import type { RetrySettings } from "./retry.ts";

export interface ContextBudget {
  /** The prompt is kept under this many tokens, as far as they can be estimated. */
  readonly maxTokens: number;
  /** How many tokens of the newest messages stay as they are; a third by default. */
  readonly keepTokens?: number | undefined;
  /** Writes the summaries; the agent's own model by default. */
  readonly model?: Model | undefined;
  /** What a summary must keep. */
  readonly instructions?: string | undefined;
}

/** What the loop works with: everything checked, everything that is the same each turn made once. */
export interface ChatDefinition {
  readonly name: string;
  readonly model: Model;
  readonly instructions: Message | undefined;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Without messages yet. */
  readonly request: ModelRequest;
  readonly output: StandardSchema | undefined;
  readonly maxTurns: number;
  readonly maxCorrections: number;
  readonly timeouts: ModelTimeouts;
  readonly retry: RetrySettings;
  readonly graceMs: number;
  /** Which calls may run, must be asked for, or never run. */
  readonly permissions: CheckedPermissions | undefined;
  readonly hooks: HookTable | undefined;
  /** Those that may have the word in the same history, by name, itself among them; undefined where it is alone. */
  readonly family: ReadonlyMap<string, ChatDefinition> | undefined;
  /** Chooses what of the history is sent. */
  readonly context: ((history: readonly Message[]) => readonly Message[]) | undefined;
  /** Keeps what is sent under a number of tokens, by recorded summaries. */
  readonly budget: ContextBudget | undefined;
}
