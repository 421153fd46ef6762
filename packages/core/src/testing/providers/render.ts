// Belay's messages as each provider would get them: faithful and dumb. Nothing is repaired, joined or left out that a
// provider would complain about; a part with no place on a wire becomes a part of an unknown type, which its validator
// reports. Two things are left out by contract, not by repair: data of another provider (it goes back to its own
// only), and in an assistant message what the wire has no place for (files, and reasoning in chat completions).

import { historyProblems } from "../../history-problems.ts";
import type { Json } from "../../json.ts";
import type { FilePart, Message, Part, ProviderData, ResultPart } from "../../message.ts";
import { anthropicProblems } from "./anthropic.ts";
import { geminiProblems } from "./gemini.ts";
import { openAiProblems } from "./openai.ts";
import { isObject, type RequestRules, type Wire } from "./wire.ts";

/** Every reason why some provider would refuse these messages, or H1 is broken; empty when they are valid. */
export function promptProblems(messages: readonly Message[], rules: RequestRules = {}): string[] {
  return [
    ...historyProblems(messages).map((problem) => `belay: ${problem}`),
    ...openAiProblems(toOpenAi(messages)).map((problem) => `openai: ${problem}`),
    ...anthropicProblems(toAnthropic(messages), rules).map((problem) => `anthropic: ${problem}`),
    ...geminiProblems(toGemini(messages), rules).map((problem) => `gemini: ${problem}`),
  ];
}

export function toOpenAi(messages: readonly Message[]): { messages: Wire[] } {
  return { messages: messages.flatMap(openAiMessages) };
}

function openAiMessages(message: Message): Wire[] {
  if (message.role === "tool") {
    return message.parts.map((part) =>
      part.type === "result"
        ? { role: "tool", tool_call_id: part.id, content: words(part.output) }
        : { role: "tool", content: [{ type: part.type }] },
    );
  }
  if (message.role !== "assistant") return [{ role: message.role, content: message.parts.map(openAiPart) }];
  const calls = message.parts.flatMap((part) =>
    part.type === "call"
      ? [{ id: part.id, type: "function", function: { name: part.tool, arguments: words(part.args) } }]
      : [],
  );
  const content = message.parts.filter((part) => part.type === "text" || part.type === "result").map(openAiPart);
  return [
    {
      role: "assistant",
      content: content.length > 0 ? content : null,
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
  ];
}

function openAiPart(part: Part): Wire {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type !== "file") return { type: part.type };
  const url = "base64" in part.data ? `data:${part.mediaType};base64,${part.data.base64}` : addressOf(part);
  return part.mediaType.startsWith("image/")
    ? { type: "image_url", image_url: { url } }
    : { type: "file", file: { file_data: url, filename: part.name } };
}

export function toAnthropic(messages: readonly Message[]): { system?: Wire[]; messages: Wire[] } {
  const [first, ...rest] = messages;
  const hasSystem = first?.role === "system";
  return {
    ...(hasSystem ? { system: first.parts.flatMap(anthropicBlocks) } : {}),
    messages: (hasSystem ? rest : messages).map((message) => ({
      role: message.role === "tool" ? "user" : message.role,
      content: message.parts
        .filter((part) => !(message.role === "assistant" && part.type === "file"))
        .flatMap(anthropicBlocks),
    })),
  };
}

function anthropicBlocks(part: Part): Wire[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", text: part.text }];
    case "file":
      return [{ type: part.mediaType.startsWith("image/") ? "image" : "document", source: anthropicSource(part) }];
    case "reasoning":
      if (part.provider === undefined) return [{ type: "thinking", thinking: part.text }];
      return part.provider.name === "anthropic" ? [anthropicThinking(part.text, part.provider)] : [];
    case "call":
      return [{ type: "tool_use", id: part.id, name: part.tool, input: part.args }];
    case "result": {
      const failed = part.outcome === "ok" ? {} : { is_error: true };
      return [{ type: "tool_result", tool_use_id: part.id, content: words(part.output), ...failed }];
    }
    case "opaque":
      return own(part.provider, "anthropic");
    default:
      return [{ type: (part as Part).type }];
  }
}

function anthropicThinking(thinking: string, { data }: ProviderData): Wire {
  if (isObject(data) && data.redactedData !== undefined) return { type: "redacted_thinking", data: data.redactedData };
  return { type: "thinking", thinking, signature: isObject(data) ? data.signature : data };
}

function anthropicSource(part: FilePart): Wire {
  return "base64" in part.data
    ? { type: "base64", media_type: part.mediaType, data: part.data.base64 }
    : { type: "url", url: addressOf(part) };
}

/** The results of one turn are one content here, so a run of tool messages becomes one. */
export function toGemini(messages: readonly Message[]): { systemInstruction?: Wire; contents: Wire[] } {
  const [first, ...rest] = messages;
  const hasSystem = first?.role === "system";
  const contents: { role: string; parts: Wire[] }[] = [];
  let before: Message | undefined;
  for (const message of hasSystem ? rest : messages) {
    const parts = message.parts.flatMap(geminiParts);
    if (message.role === "tool" && before?.role === "tool") contents.at(-1)!.parts.push(...parts);
    else contents.push({ role: geminiRole(message), parts });
    before = message;
  }
  return { ...(hasSystem ? { systemInstruction: { parts: first.parts.flatMap(geminiParts) } } : {}), contents };
}

function geminiRole(message: Message): string {
  if (message.role === "assistant") return "model";
  return message.role === "tool" ? "user" : message.role;
}

function geminiParts(part: Part): Wire[] {
  switch (part.type) {
    case "text":
      return [{ text: part.text }];
    case "file":
      return "base64" in part.data
        ? [{ inlineData: { mimeType: part.mediaType, data: part.data.base64 } }]
        : [{ fileData: { mimeType: part.mediaType, fileUri: addressOf(part) } }];
    case "reasoning":
      if (part.provider === undefined) return [{ thought: true, text: part.text }];
      return part.provider.name === "google" ? [{ thought: true, text: part.text, ...signature(part.provider) }] : [];
    case "call":
      return [{ functionCall: { id: part.id, name: part.tool, args: part.args }, ...signature(part.provider) }];
    case "result":
      return [{ functionResponse: { id: part.id, name: part.tool, response: geminiResponse(part) } }];
    case "opaque":
      return own(part.provider, "google");
    default:
      return [{ [(part as Part).type]: true }];
  }
}

/** The API takes an object: the result of a function under `output`, its error under `error`. */
function geminiResponse(part: ResultPart): Wire {
  return part.outcome === "ok" ? { output: part.output } : { error: part.output };
}

function signature(provider: ProviderData | undefined): Wire {
  if (provider?.name !== "google" || !isObject(provider.data)) return {};
  return { thoughtSignature: provider.data.thoughtSignature };
}

function own(provider: ProviderData, name: string): Wire[] {
  return provider.name === name && isObject(provider.data) ? [provider.data] : [];
}

/** Values go over these wires as text: text as it is, the rest as JSON. */
function words(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A stored blob has no address a provider could read: left as it is, its validator says so. */
function addressOf(part: FilePart): string {
  if ("url" in part.data) return part.data.url;
  return "blob" in part.data ? `blob:${part.data.blob}` : "";
}
