// From our messages to the AI SDK's prompt. Invariants:
// 1. A message is converted once: messages are immutable, so the same object means the same prompt message.
// 2. A provider's changes to its array reach no later call.
// 3. Provider data goes back verbatim, and only to the provider that gave it.

import { contentOf, contentText } from "../../content.ts";
import { belayError } from "../../error.ts";
import type { Json } from "../../json.ts";
import {
  type FilePart,
  isBlank,
  type Message,
  messageText,
  type Part,
  type ResultPart,
  type TextPart,
} from "../../message.ts";
import type {
  AiSdkVersion,
  OpaqueData,
  PromptContent,
  PromptFileData,
  PromptMessage,
  PromptOutput,
  PromptPart,
} from "./shape.ts";

/** The converted part of one conversation: `made[i]` comes from `seen[i]`, undefined if nothing was left. */
interface Converted {
  readonly seen: Message[];
  readonly made: (PromptMessage | undefined)[];
  /** How many of `made` are undefined. */
  holes: number;
}

export class PromptWriter {
  private readonly provider: string;
  private readonly version: AiSdkVersion;
  /** By the first message after the instructions: it stays the same object for the whole conversation. */
  private readonly conversations = new WeakMap<Message, Converted>();

  constructor(provider: string, version: AiSdkVersion) {
    this.provider = provider;
    this.version = version;
  }

  write(messages: readonly Message[]): PromptMessage[] {
    const head: PromptMessage[] = [];
    let start = 0;
    for (; start < messages.length && messages[start]!.role === "system"; start++) {
      head.push(this.system(messages[start]!));
    }
    const first = messages[start];
    if (first === undefined) return head;
    let known = this.conversations.get(first);
    if (known === undefined) {
      known = { seen: [], made: [], holes: 0 };
      this.conversations.set(first, known);
    }
    this.update(known, messages, start);
    if (known.holes === 0) return head.concat(known.made as PromptMessage[]);
    for (const made of known.made) if (made !== undefined) head.push(made);
    return head;
  }

  /** Converts new messages, and replaced ones. */
  private update(known: Converted, messages: readonly Message[], start: number): void {
    const { seen, made } = known;
    const length = messages.length - start;
    for (let i = length; i < made.length; i++) if (made[i] === undefined) known.holes--;
    if (seen.length > length) {
      seen.length = length;
      made.length = length;
    }
    for (let i = 0; i < length; i++) {
      const message = messages[start + i]!;
      if (seen[i] === message) continue;
      const fresh = this.message(message);
      if (i < made.length && made[i] === undefined) known.holes--;
      if (fresh === undefined) known.holes++;
      made[i] = fresh;
      // Only now, so that a message that is refused is refused again.
      seen[i] = message;
    }
  }

  private system(message: Message): PromptMessage {
    const last = message.parts.at(-1);
    const providerOptions = last === undefined ? undefined : this.own(last, false);
    return { role: "system", content: messageText(message), providerOptions };
  }

  private message(message: Message): PromptMessage | undefined {
    if (message.role === "system") return this.system(message);
    const content: PromptPart[] = [];
    const cut = message.interrupted !== undefined || message.continues !== undefined;
    for (const part of message.parts) {
      const converted = this.part(part, message, cut);
      if (converted !== undefined) content.push(converted);
    }
    return content.length > 0 ? { role: message.role, content } : undefined;
  }

  private part(part: Part, message: Message, cut: boolean): PromptPart | undefined {
    const providerOptions = this.own(part, cut);
    switch (part.type) {
      case "text":
        // An empty text may carry a signature; a blank one without is refused by some providers.
        if (providerOptions === undefined && isBlank(part.text)) return undefined;
        return { type: "text", text: part.text, providerOptions };
      case "reasoning":
        return providerOptions === undefined ? undefined : { type: "reasoning", text: part.text, providerOptions };
      case "file": {
        const { mediaType, data } = this.file(part);
        return { type: "file", mediaType, data, filename: part.name, providerOptions };
      }
      case "call": {
        const input = isObject(part.args) ? part.args : { invalid_arguments: part.args };
        return { type: "tool-call", toolCallId: part.id, toolName: part.tool, input, providerOptions };
      }
      case "result": {
        const { id: toolCallId, tool: toolName } = part;
        return { type: "tool-result", toolCallId, toolName, output: this.result(part), providerOptions };
      }
      case "opaque":
        if (providerOptions === undefined || (cut && !this.isPaired(providerOptions as OpaqueData, message))) return;
        return opaquePart(providerOptions as OpaqueData);
      default:
        return part satisfies never;
    }
  }

  /**
   * Returns the part's data if it is this provider's. Responses APIs keep the items of an answer on their side and get
   * references to them. They do not keep a cut answer, so every reference into it would be refused.
   */
  private own(part: Part, cut: boolean): Json | undefined {
    const held = part.provider;
    if (held === undefined || held.name !== this.provider) return undefined;
    const { data } = held;
    if (cut && (this.provider.endsWith(".responses") || hasItemId(data))) return undefined;
    return data;
  }

  /** In an answer that was cut, a call the provider ran itself may lack its result, which it would not take back. */
  private isPaired(data: OpaqueData, message: Message): boolean {
    if (data.type !== "tool-call" && data.type !== "tool-result") return true;
    return message.parts.some((other) => {
      if (other.type !== "opaque") return false;
      const found = other.provider.data as unknown as OpaqueData;
      return found.toolCallId === data.toolCallId && found.type !== data.type;
    });
  }

  private result(part: ResultPart): PromptOutput {
    const { output, outcome } = part;
    const parts = contentOf(output);
    if (parts === undefined) return resultOutput(outcome, output);
    if (outcome !== "ok" || !takesFiles(this.provider)) return resultOutput(outcome, contentText(parts));
    return { type: "content", value: parts.map((each) => this.content(each)) };
  }

  private content(part: TextPart | FilePart): PromptContent {
    if (part.type === "text") return { type: "text", text: part.text };
    const { mediaType, data } = this.file(part);
    const filename = part.name === undefined ? {} : { filename: part.name };
    if (this.version === "v4") return { type: "file", mediaType, data, ...filename };
    const isImage = mediaType.startsWith("image/");
    if (data instanceof URL) {
      // v2 takes bytes only.
      if (this.version === "v2") return { type: "text", text: contentText([part]) };
      return isImage ? { type: "image-url", url: data.href } : { type: "file-url", mediaType, url: data.href };
    }
    const bytes = data as string;
    if (this.version === "v2") return { type: "media", mediaType, data: bytes };
    return isImage
      ? { type: "image-data", mediaType, data: bytes }
      : { type: "file-data", mediaType, data: bytes, ...filename };
  }

  private file(part: FilePart): { mediaType: string; data: PromptFileData } {
    const { data } = part;
    const tagged = this.version === "v4";
    if ("blob" in data) {
      const problem = `file ${part.name ?? data.blob} is a stored blob (${data.blob}), which ${this.provider} cannot read; give it as base64 or url`;
      throw belayError("INPUT_INVALID", { problem });
    }
    if ("base64" in data) {
      return { mediaType: part.mediaType, data: tagged ? { type: "data", data: data.base64 } : data.base64 };
    }
    const inline = /^data:([^;,]*)[^,]*?(;base64)?,/i.exec(data.url);
    if (inline !== null) {
      const bytes = inline[2] === undefined ? spelledOut(data.url) : data.url.slice(inline[0].length);
      const mediaType = part.mediaType || inline[1] || "text/plain";
      return { mediaType, data: tagged ? { type: "data", data: bytes } : bytes };
    }
    if (!URL.canParse(data.url)) {
      throw belayError("INPUT_INVALID", { problem: `file ${part.name ?? ""} has no valid url: ${data.url}` });
    }
    const url = new URL(data.url);
    return { mediaType: part.mediaType, data: tagged ? { type: "url", url } : url };
  }
}

/** Returns the bytes, in base64, of a data url with plain text: a URL writes other characters than ASCII in percents. */
function spelledOut(address: string): string {
  const url = new URL(address);
  url.hash = "";
  const text = url.href.slice(url.href.indexOf(",") + 1);
  const byte = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16));
  return Buffer.from(text.replaceAll(/%([0-9a-f]{2})/gi, byte), "latin1").toString("base64");
}

function resultOutput(outcome: ResultPart["outcome"], output: Json): PromptOutput {
  if (typeof output === "string") return { type: outcome === "ok" ? "text" : "error-text", value: output };
  return { type: outcome === "ok" ? "json" : "error-json", value: output };
}

/** Chat completions take results as text only: files would reach the model as base64 to read. */
function takesFiles(provider: string): boolean {
  return !provider.endsWith(".chat") || provider.startsWith("google.");
}

function isObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether provider data, or the provider options inside an opaque part, name an item kept by the provider. */
function hasItemId(data: Json): boolean {
  if (!isObject(data)) return false;
  if (data.providerOptions !== undefined) return hasItemId(data.providerOptions);
  return Object.values(data).some((space) => isObject(space) && space.itemId != null);
}

/** Data was recorded as JSON; the address of a file must be a URL again. */
function opaquePart(data: OpaqueData): PromptPart {
  const file = data.type === "reasoning-file" ? data.data : undefined;
  if (file === undefined || !isObject(file) || typeof file.url !== "string") return data;
  return { ...data, data: { type: "url", url: new URL(file.url) } } as unknown as PromptPart;
}
