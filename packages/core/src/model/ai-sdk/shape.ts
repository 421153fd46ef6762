// The AI SDK's language models as we use them, by shape: v2, v3 and v4 of the specification are one family that
// differs in how files, usage and finish reasons are written. Nothing is imported from it, so core depends on nothing.

import type { Json } from "../../json.ts";

export type AiSdkVersion = "v2" | "v3" | "v4";

/** Any AI SDK language model. */
export interface AiSdkModel {
  readonly specificationVersion: AiSdkVersion;
  readonly provider: string;
  readonly modelId: string;
  /** `never`: the three versions take different calls; we pass an `AiSdkCall`. */
  doStream(call: never): PromiseLike<AiSdkResponse>;
}

export interface AiSdkResponse {
  readonly stream: AiSdkStream;
  readonly response?: { readonly headers?: Readonly<Record<string, string>> | undefined } | undefined;
}

/** A ReadableStream of parts. */
export interface AiSdkStream {
  getReader(): AiSdkReader;
  cancel(reason?: unknown): Promise<void>;
}

export interface AiSdkReader {
  read(): Promise<{ readonly done: boolean; readonly value?: unknown }>;
  cancel(reason?: unknown): Promise<void>;
}

export interface AiSdkCall {
  readonly prompt: PromptMessage[];
  readonly tools: PromptTool[] | undefined;
  readonly toolChoice: PromptToolChoice | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly stopSequences: string[] | undefined;
  readonly seed: number | undefined;
  readonly responseFormat: { readonly type: "json"; readonly schema: Json; readonly name: string } | undefined;
  readonly providerOptions: Json | undefined;
  readonly abortSignal: AbortSignal;
}

export type PromptToolChoice =
  | { readonly type: "auto" | "none" | "required" }
  | { readonly type: "tool"; readonly toolName: string };

export interface PromptTool {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Json;
}

export type PromptMessage =
  | { readonly role: "system"; readonly content: string; readonly providerOptions: Json | undefined }
  | { readonly role: "user" | "assistant" | "tool"; readonly content: PromptPart[] };

export type PromptPart =
  | { readonly type: "text" | "reasoning"; readonly text: string; readonly providerOptions: Json | undefined }
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly data: PromptFileData;
      readonly filename: string | undefined;
      readonly providerOptions: Json | undefined;
    }
  | {
      readonly type: "tool-call";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: Json;
      readonly providerOptions: Json | undefined;
    }
  | {
      readonly type: "tool-result";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly output: PromptOutput;
      readonly providerOptions: Json | undefined;
    }
  /** A part that was kept in the provider's own words. */
  | OpaqueData;

/** v2 and v3 take the data itself, v4 takes it with a tag. */
export type PromptFileData =
  | string
  | URL
  | { readonly type: "data"; readonly data: string }
  | { readonly type: "url"; readonly url: URL };

export type PromptOutput =
  | { readonly type: "text" | "error-text"; readonly value: string }
  | { readonly type: "json" | "error-json"; readonly value: Json }
  | { readonly type: "content"; readonly value: PromptContent[] };

/** Text or a file in a result: v2 takes bytes as media, v3 knows images and other files apart, v4 has tagged files. */
export type PromptContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "media"; readonly mediaType: string; readonly data: string }
  | { readonly type: "image-data"; readonly mediaType: string; readonly data: string }
  | { readonly type: "image-url"; readonly url: string }
  | { readonly type: "file-data"; readonly mediaType: string; readonly data: string; readonly filename?: string }
  | { readonly type: "file-url"; readonly mediaType: string; readonly url: string }
  | { readonly type: "file"; readonly mediaType: string; readonly data: PromptFileData; readonly filename?: string };

/** The content of an `opaque` part: a part of the prompt, ready to be sent. */
export interface OpaqueData {
  readonly type: "tool-call" | "tool-result" | "custom" | "reasoning-file";
  readonly toolCallId?: string;
  readonly [key: string]: Json | undefined;
}

/** A part of the stream. Unlisted types are ignored. */
export type AiSdkPart = Metadata &
  (
    | {
        readonly type: "text-delta" | "reasoning-delta" | "tool-input-delta";
        readonly id: string;
        readonly delta: string;
      }
    | {
        readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end";
        readonly id: string;
      }
    | { readonly type: "tool-input-start"; readonly id: string; readonly toolName: string }
    | {
        readonly type: "tool-call";
        readonly toolCallId: string;
        readonly toolName: string;
        readonly input: unknown;
        readonly providerExecuted?: boolean;
      }
    | {
        readonly type: "tool-result";
        readonly toolCallId: string;
        readonly toolName: string;
        readonly result: unknown;
        readonly isError?: boolean;
        readonly preliminary?: boolean;
      }
    | { readonly type: "file"; readonly mediaType: string; readonly data: unknown }
    | { readonly type: "reasoning-file"; readonly mediaType: string; readonly data: unknown }
    | { readonly type: "custom"; readonly kind: string }
    | { readonly type: "finish"; readonly finishReason: unknown; readonly usage: unknown }
    | { readonly type: "error"; readonly error: unknown }
  );

export interface Metadata {
  readonly providerMetadata?: { readonly [name: string]: { readonly [key: string]: Json | undefined } };
}
