// The provider interface: the request to a model, and the events of its answer.

import type { Json } from "../json.ts";
import type { FilePart, Finish, Message, Usage } from "../message.ts";

/** A tool as the model sees it. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: Json;
}

/** Which tools a model may or must call. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/** Settings of a model call. */
export interface ModelSettings {
  readonly toolChoice?: ToolChoice;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  /** Handed to the provider as it is. */
  readonly providerOptions?: Json;
}

/** A request to a model. */
export interface ModelRequest extends ModelSettings {
  /** Instructions, if any, are the first message, with role system. Every call has its result directly after its message. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  /**
   * The answer must be JSON that fits this JSON Schema. `strict` is true if a provider can follow the schema
   * strictly: every object is closed and requires all of its keys.
   */
  readonly output?: { readonly name: string; readonly schema: Json; readonly strict?: boolean };
}

/** `provider` of an event is opaque data that comes back on the part it belongs to. */
export type ModelEvent =
  /** A piece of visible text. Another `block` than before begins another part. */
  | { readonly type: "text"; readonly text: string; readonly block?: string }
  /** The text part is complete. */
  | { readonly type: "text-end"; readonly block?: string; readonly provider?: Json }
  | { readonly type: "reasoning"; readonly text: string; readonly block?: string }
  /** The reasoning part is complete; `provider` holds its signature. Without this it is never sent back. */
  | { readonly type: "reasoning-end"; readonly block?: string; readonly provider?: Json }
  /** A piece of the arguments of a call that is not complete. It is shown to readers and limits the size; the call itself follows. */
  | { readonly type: "args"; readonly text: string; readonly id?: string; readonly tool?: string }
  /** A complete call. `args` is the JSON text of the arguments, or the arguments themselves. */
  | {
      readonly type: "call";
      readonly id: string;
      readonly tool: string;
      readonly args: unknown;
      readonly provider?: Json;
    }
  | { readonly type: "file"; readonly mediaType: string; readonly data: FilePart["data"]; readonly provider?: Json }
  | { readonly type: "opaque"; readonly provider: Json }
  /** The last event. With `error` the call has failed, as if it had thrown; a stream that ends without any is complete. */
  | { readonly type: "finish"; readonly finish: Finish; readonly usage?: Usage };

/** A language model. `fromAiSdk()` makes one of any model of the AI SDK; a class of your own needs `id` and `stream()`. */
export interface Model {
  /** For instance "openai/gpt-5". Recorded with each message. */
  readonly id: string;
  /** The provider of the opaque data that this model reads and writes. Default: the id. */
  readonly provider?: string;
  /** True if the model continues a last message of the assistant instead of answering it. */
  readonly prefill?: boolean;
  stream(request: ModelRequest, options: { readonly signal: AbortSignal }): AsyncIterable<ModelEvent>;
}
