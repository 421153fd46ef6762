// Any language model of the AI SDK as a model of ours.

import { belayError } from "../error.ts";
import type { Json } from "../json.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { markCached } from "./ai-sdk/mark-cached.ts";
import { PromptWriter } from "./ai-sdk/prompt.ts";
import type { AiSdkCall, AiSdkModel, PromptTool, PromptToolChoice } from "./ai-sdk/shape.ts";
import { EventStream } from "./ai-sdk/stream.ts";
import type { Model, ModelRequest, ToolChoice, ToolSpec } from "./model.ts";

/** The options of `fromAiSdk()`. */
export interface FromAiSdkOptions {
  /** The id that is recorded with each message. Default: provider and model id. */
  readonly id?: string | undefined;
  /** True if the model continues a last message of the assistant instead of answering it. Default: false. */
  readonly prefill?: boolean | undefined;
  /** Marks the stable beginning of each request for providers that cache only marked content (Anthropic). Default: false. */
  readonly cache?: boolean | undefined;
}

const OPTIONS: KnownOptions<FromAiSdkOptions> = { id: true, prefill: true, cache: true };

/** Takes a language model of the AI SDK (specification v2, v3 or v4), for instance `fromAiSdk(anthropic("…"))`. */
export function fromAiSdk(model: AiSdkModel, options: FromAiSdkOptions = {}): Model {
  refuseOthers(model);
  refuseUnknown("fromAiSdk()", options, OPTIONS);
  const { provider } = model;
  const prompts = new PromptWriter(provider, model.specificationVersion);
  const tools = new WeakMap<readonly ToolSpec[], PromptTool[]>();

  function write(request: ModelRequest, abortSignal: AbortSignal): AiSdkCall {
    const { output } = request;
    const offered = request.tools.length > 0;
    return {
      prompt: options.cache ? markCached(prompts.write(request.messages)) : prompts.write(request.messages),
      tools: offered ? writeTools(request.tools, tools) : undefined,
      toolChoice: offered ? writeToolChoice(request.toolChoice) : undefined,
      maxOutputTokens: request.maxOutputTokens,
      temperature: request.temperature,
      topP: request.topP,
      stopSequences: request.stopSequences?.slice(),
      seed: request.seed,
      responseFormat: output && { type: "json", schema: output.schema, name: output.name },
      providerOptions:
        output?.strict === false ? looseOptions(provider, request.providerOptions) : request.providerOptions,
      abortSignal,
    };
  }

  return {
    id: options.id ?? `${provider}/${model.modelId}`,
    provider,
    prefill: options.prefill ?? false,
    stream(request, given) {
      // `given.signal` is read once, when the request is made: the first read makes the kernel's AbortController.
      return new EventStream(() => model.doStream(write(request, given.signal) as never));
    },
  };
}

/**
 * Turns off strict schemas for providers that follow every schema strictly by default. They read the option under
 * their own name, or under the name of OpenAI if they speak its API. A value that the user has set stays.
 */
function looseOptions(provider: string, given: Json = {}): Json {
  const options = given as { readonly [name: string]: object };
  const names = new Set(["openai", provider.split(".")[0]!]);
  const loose = [...names].map((name) => [name, { strictJsonSchema: false, ...options[name] }]);
  return { ...options, ...Object.fromEntries(loose) };
}

function refuseOthers(model: unknown): void {
  const needed = "a language model of the AI SDK with specificationVersion v2, v3 or v4, such as openai('…')";
  const refuse = (value: string) => belayError("OPTION_INVALID", { option: "model of fromAiSdk", value, needed });
  if (model === null || (typeof model !== "object" && typeof model !== "function")) {
    throw refuse(typeof model === "string" ? `"${model}"` : String(model));
  }
  const found = model as Partial<Record<keyof AiSdkModel, unknown>>;
  const version = found.specificationVersion;
  if (version !== "v2" && version !== "v3" && version !== "v4") {
    throw refuse(`${typeof model} with specificationVersion ${String(version)}`);
  }
  if (typeof found.doStream !== "function") throw refuse(`${typeof model} without doStream`);
  if (typeof found.provider !== "string" || typeof found.modelId !== "string") {
    throw refuse(`${typeof model} without provider and modelId`);
  }
}

/** The same list of tools is handed in on each turn: it is written once. A provider gets an array of its own. */
function writeTools(specs: readonly ToolSpec[], known: WeakMap<readonly ToolSpec[], PromptTool[]>): PromptTool[] {
  let written = known.get(specs);
  if (written === undefined) {
    written = specs.map(({ name, description, inputSchema }) => ({ type: "function", name, description, inputSchema }));
    known.set(specs, written);
  }
  return written.slice();
}

function writeToolChoice(choice: ToolChoice | undefined): PromptToolChoice | undefined {
  if (choice === undefined) return undefined;
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool };
}
