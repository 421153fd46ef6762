// An answer while it streams: model events in, parts out. It holds exactly what was published, so that what the
// person saw is what is kept (S3).

import { type Json, toJson } from "../json.ts";
import type { CallPart, Finish, Part, ProviderData, Usage } from "../message.ts";
import { isBlank } from "../message.ts";
import type { Model, ModelEvent } from "../model/model.ts";
import { parseArgs } from "../tool/parse-args.ts";

/** Says under which id a call may enter the thread. */
export interface CallIds {
  callId(wanted: string, by: string): string;
}

export class Answer {
  readonly #provider: string;
  readonly #ids: CallIds;
  readonly #by: string;
  readonly #parts: Part[] = [];
  #open: { type: "text" | "reasoning"; text: string; block: string | undefined } | undefined;
  /** Characters of text and of reasoning so far, over all parts. */
  textLength = 0;
  reasoningLength = 0;
  calls = 0;
  finish: Finish | undefined;
  usage: Usage | undefined;

  /** `by` is the path of whose answer it is. */
  constructor(model: Model, ids: CallIds, by: string) {
    this.#provider = model.provider ?? model.id;
    this.#ids = ids;
    this.#by = by;
  }

  /** True once anything at all has come. */
  get begun(): boolean {
    return this.#open !== undefined || this.#parts.length > 0;
  }

  addText(text: string, block: string | undefined): void {
    this.#append("text", text, block);
    this.textLength += text.length;
  }

  addReasoning(text: string, block: string | undefined): void {
    this.#append("reasoning", text, block);
    this.reasoningLength += text.length;
  }

  /** Everything that is not a delta. */
  add(event: Exclude<ModelEvent, { type: "text" | "reasoning" }>): void {
    switch (event.type) {
      case "text-end":
      case "reasoning-end": {
        const type = event.type === "text-end" ? "text" : "reasoning";
        if (this.#open?.type !== type) this.#append(type, "", event.block);
        return this.#close(this.#data(event.provider));
      }
      case "call":
        this.#close(undefined);
        this.#parts.push(this.#call(event));
        this.calls += 1;
        return;
      case "file": {
        this.#close(undefined);
        const { mediaType, data } = event;
        const provider = this.#data(event.provider);
        this.#parts.push({ type: "file", mediaType, data, ...(provider && { provider }) });
        return;
      }
      case "opaque":
        this.#close(undefined);
        this.#parts.push({ type: "opaque", provider: this.#data(event.provider)! });
        return;
      case "finish":
        this.finish = event.finish;
        this.usage = counted(event.usage);
        return;
      default:
        // A native model may say more than we know; what we cannot place is not part of the answer.
        event satisfies never;
    }
  }

  /** The whole answer, without blanks that no provider takes back. */
  parts(): Part[] {
    this.#close(undefined);
    return this.#parts.filter((part) => part.type !== "text" || part.text !== "" || part.provider !== undefined);
  }

  /** What is kept of an answer that was cut: undefined where nobody saw a word of it and no call was complete. */
  cutParts(): Part[] | undefined {
    const parts = this.parts();
    const text = parts.some((part) => part.type === "text" && !isBlank(part.text));
    if (!text && this.calls === 0) return undefined;
    return text ? parts : parts.filter((part) => part.type !== "text");
  }

  text(): string {
    let text = this.#open?.type === "text" ? this.#open.text : "";
    for (let i = this.#parts.length - 1; i >= 0; i--) {
      const part = this.#parts[i]!;
      if (part.type === "text") text = part.text + text;
    }
    return text;
  }

  #append(type: "text" | "reasoning", text: string, block: string | undefined): void {
    const open = this.#open;
    if (open !== undefined && open.type === type && open.block === block) {
      open.text += text;
      return;
    }
    this.#close(undefined);
    this.#open = { type, text, block };
  }

  #close(provider: ProviderData | undefined): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    if (open.text === "" && provider === undefined) return;
    this.#parts.push({ type: open.type, text: open.text, ...(provider && { provider }) });
  }

  #call(event: Extract<ModelEvent, { type: "call" }>): CallPart {
    const { args } = parseArgs(event.args);
    const given = typeof event.id === "string" ? event.id : "";
    const repeated = this.#parts.some((part) => part.type === "call" && part.id === given);
    const id = this.#ids.callId(repeated ? "" : given, this.#by);
    // The provider's data speaks of its own id.
    const provider = id === event.id ? this.#data(event.provider) : undefined;
    return { type: "call", id, tool: String(event.tool), args, ...(provider && { provider }) };
  }

  #data(data: Json | undefined): ProviderData | undefined {
    return data === undefined ? undefined : { name: this.#provider, data: toJson(data, "Provider data") };
  }
}

/** The counts in it: what a model cannot count it leaves out, or says as NaN. */
function counted(usage: Usage | undefined): Usage | undefined {
  if (typeof usage !== "object" || usage === null) return undefined;
  const counts: Record<string, number> = { inputTokens: 0, outputTokens: 0 };
  for (const of in usage) {
    const count = usage[of as keyof Usage];
    if (count !== undefined && Number.isFinite(count)) counts[of] = count;
  }
  return counts as unknown as Usage;
}
