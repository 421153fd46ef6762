import type { Message } from "../message.ts";
import type { Model, ModelRequest } from "../model/model.ts";
import type { StandardSchema } from "../schema/schema.ts";
import type { Tool } from "../tool/tool.ts";
import type { ModelTimeouts } from "./call-model.ts";
import type { RetrySettings } from "./retry.ts";

/** What the loop works with: everything checked, everything that is the same each turn made once. */
export interface ChatDefinition {
  readonly name: string;
  readonly model: Model;
  readonly instructions: Message | undefined;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly request: Omit<ModelRequest, "messages">;
  readonly output: StandardSchema | undefined;
  readonly maxTurns: number;
  readonly maxCorrections: number;
  readonly timeouts: ModelTimeouts;
  readonly retry: RetrySettings;
  readonly graceMs: number;
}
