// What a model reads and writes. Messages are immutable: a change makes a new object, so identity tells "unchanged".

import type { Json } from "./json.ts";

/** Who a message is from. */
export type Role = "system" | "user" | "assistant" | "tool";

/** Opaque data of the provider that made a part: it goes back verbatim, to that provider only. */
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
  /** base64 of the bytes, an address, or the name of a stored blob. */
  readonly data: { readonly base64: string } | { readonly url: string } | { readonly blob: string };
  readonly name?: string;
  readonly provider?: ProviderData;
}

/** Sent back only when it was finished and the provider signed it (`provider` is there). */
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
  /** What the model asked for; a string when the model's arguments were not a JSON object. */
  readonly args: Json;
  /** What ran, where a person or a hook changed it. */
  readonly ranArgs?: Json;
  /** Who changed it, where that was no person. */
  readonly changedBy?: "hook";
  readonly provider?: ProviderData;
}

/** How a call ended. */
export type Outcome = "ok" | "error" | "rejected" | "not-executed" | "interrupted" | "unknown";

/** The result of a call. */
export interface ResultPart {
  readonly type: "result";
  /** The id of the call it answers. */
  readonly id: string;
  readonly tool: string;
  readonly outcome: Outcome;
  /** JSON; of a result that `content()` made, its parts under the key `~content`. */
  readonly output: Json;
  readonly provider?: ProviderData;
}

/** Something only the provider understands (a call it executed itself, say). */
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

/** Who cut an answer short, and when. */
export interface Cut {
  /** "user", a person's id, "error", or "runtime" where the program let go of the thread. */
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
  /** The person or program that said it, if the command named one. */
  readonly by?: string;
  readonly interrupted?: Cut;
  /** Said after a stop, by an `onInterrupt` hook or as the agent's `interruptMessage`: for people. */
  readonly isInterrupted?: true;
  /** Of words after a stop: models read them too, before the next input. */
  readonly remembered?: true;
  /** The id of the cut message that this one goes on with. */
  readonly continues?: string;
  /** The id of the model that wrote it. */
  readonly model?: string;
  readonly usage?: Usage;
  readonly finish?: Finish;
  /** It stands, in what a model reads, for everything up to the message with that id. */
  readonly summary?: { readonly coversTo: string };
}

/** What every provider takes as the name of a tool; agents and nodes, which can be tools too, are named alike. */
export const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** The visible text of a message. */
export function messageText(message: Pick<Message, "parts">): string {
  let text = "";
  for (const part of message.parts) if (part.type === "text") text += part.text;
  return text;
}

/** What is wrong with a file, whoever reads it: it would stand in the history, and fail every request from then on. */
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
