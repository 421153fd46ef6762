// Reads parts of the stream that the versions of the specification write differently.

import type { Json } from "../../json.ts";
import type { FilePart, Finish, Usage } from "../../message.ts";
import type { AiSdkPart, Metadata, OpaqueData } from "./shape.ts";

/** `known` with `metadata` over it, by provider and key. Undefined when neither says anything: that is no signature. */
export function mergeMetadata(known: Json | undefined, metadata: Metadata["providerMetadata"]): Json | undefined {
  if (metadata === undefined || metadata === null) return known;
  let merged = known as Record<string, Record<string, Json>> | undefined;
  for (const name of Object.keys(metadata)) {
    const from = metadata[name];
    if (from === undefined || from === null) continue;
    for (const key of Object.keys(from)) {
      const value = from[key];
      if (value === undefined) continue;
      merged ??= {};
      let space = merged[name];
      if (space === undefined) {
        space = {};
        merged[name] = space;
      }
      space[key] = value;
    }
  }
  return merged;
}

const finishes: Readonly<Record<string, Finish>> = {
  stop: "stop",
  length: "length",
  "tool-calls": "tool-calls",
  "content-filter": "content-filter",
};

/**
 * Returns the finish: v2 has it as text, v3 and v4 as `{ unified, raw }`. Throws for an answer that ended with an error, or whose
 * provider did not report that it is complete: `interrupted` in v4, `other` without `raw` in v3. v2 cannot report that.
 */
export function readFinish(reason: unknown): Finish {
  if (typeof reason === "string") return known(reason, reason);
  const said = (reason ?? {}) as { readonly unified?: unknown; readonly raw?: unknown };
  if (said.unified === "interrupted" || (said.unified === "other" && said.raw === undefined)) throw unfinished();
  return known(said.unified, said.raw);
}

function known(word: unknown, raw: unknown): Finish {
  if (word !== "error") return (typeof word === "string" ? finishes[word] : undefined) ?? "other";
  const why = typeof raw === "string" && raw !== "" && raw !== "error" ? `: ${raw}` : "";
  throw Object.assign(new Error(`the provider ended the answer with an error${why}`), { isRetryable: true });
}

/** A connection that ends like any other, in the middle of an answer, as a proxy or a worker that is replaced ends it. */
export function unfinished(): Error {
  return Object.assign(new Error("the stream ended before the answer was complete"), { isRetryable: true });
}

/** v2 counts in numbers, v3 and v4 in objects. Undefined when the provider did not count. */
export function readUsage(usage: unknown): Usage | undefined {
  if (typeof usage !== "object" || usage === null) return undefined;
  const counted = usage as Record<string, unknown>;
  const input = counted.inputTokens as Record<string, unknown> | number | null | undefined;
  const output = counted.outputTokens as Record<string, unknown> | number | null | undefined;
  const nested = typeof input === "object" && input !== null;
  const inputTokens = count(nested ? input.total : input);
  const outputTokens = count(typeof output === "object" && output !== null ? output.total : output);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  const cached = count(nested ? input.cacheRead : counted.cachedInputTokens);
  const reasoning = count(typeof output === "object" && output !== null ? output.reasoning : counted.reasoningTokens);
  return {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    ...(cached ? { cachedInputTokens: cached } : undefined),
    ...(reasoning ? { reasoningTokens: reasoning } : undefined),
  };
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** Base64 or bytes in v2 and v3, tagged data or an address in v4. */
export function readFile(data: unknown): FilePart["data"] {
  if (typeof data === "string") return { base64: data };
  if (data instanceof Uint8Array) {
    return { base64: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64") };
  }
  const tagged = data as { type: "data"; data: unknown } | { type: "url"; url: URL; originalUrl?: string };
  return tagged.type === "url" ? { url: tagged.originalUrl ?? String(tagged.url) } : readFile(tagged.data);
}

/** The parts that the provider must be given back in its own words, as parts of a prompt. */
export function opaqueData(
  part: Extract<AiSdkPart, { type: "tool-call" | "tool-result" | "custom" | "reasoning-file" }>,
): OpaqueData {
  const metadata = mergeMetadata(undefined, part.providerMetadata);
  const providerOptions = metadata === undefined ? undefined : { providerOptions: metadata };
  switch (part.type) {
    case "tool-call": {
      const { toolCallId, toolName } = part;
      const input = parsed(part.input);
      return { type: "tool-call", toolCallId, toolName, input, providerExecuted: true, ...providerOptions };
    }
    case "tool-result": {
      const { toolCallId, toolName } = part;
      const value = (part.result ?? null) as Json;
      const type = part.isError ? "error-json" : typeof value === "string" ? "text" : "json";
      return { type: "tool-result", toolCallId, toolName, output: { type, value }, ...providerOptions };
    }
    case "custom":
      return { type: "custom", kind: part.kind, ...providerOptions };
    case "reasoning-file":
      return { type: "reasoning-file", mediaType: part.mediaType, data: taggedFile(part.data), ...providerOptions };
    default:
      return part satisfies never;
  }
}

/** As v4 tags it, but for the address, which is text here. */
function taggedFile(data: unknown): Json {
  const file = readFile(data);
  if ("url" in file) return { type: "url", url: file.url };
  return { type: "data", data: "base64" in file ? file.base64 : "" };
}

function parsed(input: unknown): Json {
  if (typeof input !== "string") return (input ?? {}) as Json;
  try {
    return input.trim() === "" ? {} : JSON.parse(input);
  } catch {
    return input;
  }
}

/**
 * The error of an answer that is a page for people: a proxy, a sign-in page or another server answered in place of the
 * provider. It is not retryable: the same address gives the same page.
 */
export function htmlPage(headers: Readonly<Record<string, string>> | undefined): Error | undefined {
  const type = headers?.["content-type"] ?? "";
  if (!/^text\/html\b/i.test(type)) return undefined;
  const words = "an HTML page came in place of the model's answer: a proxy or another server answered at this address";
  return Object.assign(new Error(words), { isRetryable: false });
}

/** Names of the AI SDK's errors for a part of the stream that cannot be read. */
const malformed = new Set(["AI_JSONParseError", "AI_TypeValidationError", "AI_InvalidResponseDataError"]);

/** Providers also report errors as text or plain objects; the fields by which the runtime classifies them are kept. */
export function streamError(said: unknown): unknown {
  if (said instanceof Error && malformed.has(said.name)) {
    return Object.assign(new Error("a part of the stream could not be read", { cause: said }), { isRetryable: true });
  }
  if (said instanceof Error) return said;
  const fields = typeof said === "object" && said !== null ? (said as Record<string, unknown>) : {};
  const message = typeof said === "string" ? said : typeof fields.message === "string" ? fields.message : undefined;
  const error = new Error(message ?? `The provider's stream reported an error: ${JSON.stringify(said)}`, {
    cause: said,
  });
  const { type, code, statusCode, isRetryable, responseHeaders } = fields;
  const retryable = isRetryable ?? (typeof type === "string" && transient.has(type) ? true : undefined);
  return Object.assign(error, { type, code, statusCode, isRetryable: retryable, responseHeaders });
}

/** Anthropic's names, in the middle of a stream, for errors that may pass in a moment. */
const transient = new Set(["overloaded_error", "api_error", "rate_limit_error", "timeout_error"]);
