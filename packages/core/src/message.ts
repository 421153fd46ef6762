// The messages that a model reads and writes. They are immutable: a change makes a new object, so the same object means
// unchanged.

import type { Json } from "./json.ts";

/** The sender of a message. */
export type Role = "system" | "user" | "assistant" | "tool";

/** Opaque data of the provider that made a part. It is sent back verbatim, to that provider only. */
export interface ProviderData {
  readonly name: string;
  readonly data: Json;
}

/** Text in a message. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
  readonly provider?: ProviderData;
}

/** A file in a message. */
export interface FilePart {
  readonly type: "file";
  readonly mediaType: string;
  /** The bytes as base64, a URL, or the name of a stored blob. */
  readonly data: { readonly base64: string } | { readonly url: string } | { readonly blob: string };
  readonly name?: string;
  readonly provider?: ProviderData;
}

/** Reasoning of a model. It is sent back only if it was finished and the provider signed it (`provider` is set). */
export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  readonly provider?: ProviderData;
}

/** A call that a model asked for. */
export interface CallPart {
  readonly type: "call";
  readonly id: string;
  readonly tool: string;
  /** The model's arguments; a string if they were not a JSON object. */
  readonly args: Json;
  /** The arguments that ran, if a person or a hook changed them. */
  readonly ranArgs?: Json;
  /** Set if a hook and not a person changed them. */
  readonly changedBy?: "hook";
  readonly provider?: ProviderData;
}

/** How a call ended. */
export type Outcome = "ok" | "error" | "rejected" | "not-executed" | "interrupted" | "unknown";

/** The result of a call. */
export interface ResultPart {
  readonly type: "result";
  /** The id of the call that it belongs to. */
  readonly id: string;
  readonly tool: string;
  readonly outcome: Outcome;
  /** JSON. A result that `content()` made has its parts under the key `~content`. */
  readonly output: Json;
  readonly provider?: ProviderData;
}

/** A part that only its provider understands, such as a call that the provider executed itself. */
export interface OpaquePart {
  readonly type: "opaque";
  readonly provider: ProviderData;
}

/** A part of a message. */
export type Part = TextPart | FilePart | ReasoningPart | CallPart | ResultPart | OpaquePart;

/** The tokens that model calls took. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly reasoningTokens?: number;
}

/** Why a model ended its answer. */
export type Finish = "stop" | "tool-calls" | "length" | "content-filter" | "error" | "other";

/** The stop or error that cut an answer short, and its time. */
export interface Cut {
  /** "user", a person's id, "error", or "runtime" if the program released the thread. */
  readonly by: string;
  readonly at: number;
  readonly reason?: string;
}

/** A message of a thread. Messages are immutable. */
export interface Message {
  readonly id: string;
  readonly role: Role;
  readonly parts: readonly Part[];
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly origin: "person" | "model" | "runtime" | "hook";
  /** The person or program that sent it, if the command named one. */
  readonly by?: string;
  readonly interrupted?: Cut;
  /** A message for the person after a stop, from an `onInterrupt` hook or the agent's `interruptMessage`. */
  readonly isInterrupted?: true;
  /** Set on a message after a stop that models read too, before the next input. */
  readonly remembered?: true;
  /** The id of the cut message that this one continues. */
  readonly continues?: string;
  /** The id of the model that wrote it. */
  readonly model?: string;
  readonly usage?: Usage;
  readonly finish?: Finish;
  /** Replaces, in the prompt, every message up to the one with that id. */
  readonly summary?: { readonly coversTo: string };
}

/** The tool names that every provider accepts. Agents and nodes can be tools too and follow the same rule. */
export const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Returns the visible text of a message. */
export function messageText(message: Pick<Message, "parts">): string {
  let text = "";
  for (const part of message.parts) if (part.type === "text") text += part.text;
  return text;
}

/** Returns the problem with a file. A bad file in the history would fail every later request. */
export function fileProblem({ mediaType, data }: { readonly mediaType?: unknown; readonly data?: unknown }) {
  const { base64, url, blob } = (data ?? {}) as { readonly [source: string]: unknown };
  if (typeof blob === "string" && base64 === undefined && url === undefined) {
    return `is a stored blob (${blob}), which no model can read; give it as base64 or url`;
  }
  if (typeof mediaType !== "string" || ![base64, url].some((source) => typeof source === "string")) {
    return "needs a mediaType and data: base64 or url";
  }
  const said = mediaType === "" && typeof url === "string" && url.startsWith("data:");
  if (!said && !/^[^\s/;]+\/[^\s/;]+\s*(;|$)/.test(mediaType)) {
    return `has the mediaType ${JSON.stringify(mediaType)}; it is written like image/png`;
  }
  if (typeof base64 === "string")
    return /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? undefined : "has data that is not base64";
  return typeof url === "string" && !URL.canParse(url) ? `has no valid url: ${url}` : undefined;
}

export function isBlank(text: string): boolean {
  return text.trim() === "";
}

export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = {
    inputTokens: (a?.inputTokens ?? 0) + (b?.inputTokens ?? 0),
    outputTokens: (a?.outputTokens ?? 0) + (b?.outputTokens ?? 0),
  };
  const cached = (a?.cachedInputTokens ?? 0) + (b?.cachedInputTokens ?? 0);
  const reasoning = (a?.reasoningTokens ?? 0) + (b?.reasoningTokens ?? 0);
  if (cached > 0) sum.cachedInputTokens = cached;
  if (reasoning > 0) sum.reasoningTokens = reasoning;
  return sum;
}
