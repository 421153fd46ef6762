// An answer while it streams: model events in, parts out. It holds exactly the published events, so that the shown text is
// the kept text (S3). An event that would make it larger than one record may be is refused before it becomes a part
// (P12): while there is room for the worst that its characters could take, that is one subtraction for each event.

import { type BelayError, belayError } from "../error.ts";
import { bytesAtMost, CHARACTER_BYTES, type Json, Room, toJson } from "../json.ts";
import type { CallPart, Finish, Part, ProviderData, Usage } from "../message.ts";
import { isBlank } from "../message.ts";
import type { Model, ModelEvent } from "../model/model.ts";
import { parseArgs } from "../tool/parse-args.ts";

/** More than a part of text takes beside its text. */
const PART_BYTES = 40;

/** Says under which id a call may enter the thread, and how much an answer may take there. */
export interface AnswerDesk {
  callId(wanted: string, by: string): string;
  readonly maxBytes: number;
}

/** Frozen: it is part of messages, which readers get, and all that have none share it. */
const nothing: readonly never[] = Object.freeze([]);

export class Answer {
  readonly #model: Model;
  readonly #desk: AnswerDesk;
  readonly #by: string;
  /** Made with the first of them: most answers have one, and an array that grows is made for many. */
  #parts: Part[] | undefined;
  #open: { type: "text" | "reasoning"; text: string; block: string | undefined } | undefined;
  /** Characters of text and of reasoning so far, over all parts. */
  textLength = 0;
  reasoningLength = 0;
  calls = 0;
  finish: Finish | undefined;
  usage: Usage | undefined;
  /** Bytes that are free even if each character takes the most; once there are none, all is counted. */
  #free: number;
  #room: Room | undefined;
  /** Characters of arguments since the last call that was complete. */
  #underWay = 0;

  /** `by` is the path of the answering agent. */
  constructor(model: Model, desk: AnswerDesk, by: string) {
    this.#model = model;
    this.#desk = desk;
    this.#by = by;
    this.#free = desk.maxBytes;
  }

  /** True once anything at all has come. */
  get begun(): boolean {
    return this.#open !== undefined || this.#parts !== undefined;
  }

  /** Throws `TOO_LARGE`, and is as it was. */
  addText(text: string, block: string | undefined): void {
    this.#append("text", text, block);
    this.textLength += text.length;
  }

  /** Throws `TOO_LARGE`, and is as it was. */
  addReasoning(text: string, block: string | undefined): void {
    this.#append("reasoning", text, block);
    this.reasoningLength += text.length;
  }

  /** Everything that is not a delta. Throws `TOO_LARGE`. */
  add(event: Exclude<ModelEvent, { type: "text" | "reasoning" }>): void {
    switch (event.type) {
      case "text-end":
      case "reasoning-end": {
        const type = event.type === "text-end" ? "text" : "reasoning";
        if (this.#open?.type !== type) this.#append(type, "", event.block);
        const provider = this.#data(event.provider);
        if (provider !== undefined) this.#take({ provider: provider as unknown as Json });
        return this.#close(provider);
      }
      case "args":
        this.#underWay += typeof event.text === "string" ? event.text.length : 0;
        // Of a client that collects them: a call without end would come to nothing but its memory.
        if (this.#underWay > this.#desk.maxBytes) throw this.#tooLarge(this.#underWay);
        return;
      case "call":
        this.#underWay = 0;
        this.#close(undefined);
        this.#push(this.#call(event));
        this.calls += 1;
        return;
      case "file": {
        this.#close(undefined);
        const { mediaType, data } = event;
        const provider = this.#data(event.provider);
        this.#push({ type: "file", mediaType, data, ...(provider && { provider }) });
        return;
      }
      case "opaque":
        this.#close(undefined);
        this.#push({ type: "opaque", provider: this.#data(event.provider)! });
        return;
      case "finish":
        this.finish = event.finish;
        this.usage = counted(event.usage);
        return;
      default:
        // A native model may send unknown events; they are not part of the answer.
        event satisfies never;
    }
  }

  /** The whole answer, without blanks that no provider takes back. */
  parts(): readonly Part[] {
    this.#close(undefined);
    const parts = this.#parts ?? nothing;
    return parts.some(isNothing) ? parts.filter((part) => !isNothing(part)) : parts;
  }

  /** Returns the kept parts of a cut answer: undefined if no word of it was shown and no call was complete. */
  cutParts(): readonly Part[] | undefined {
    const parts = this.parts();
    const text = parts.some((part) => part.type === "text" && !isBlank(part.text));
    if (!text && this.calls === 0) return undefined;
    return text ? parts : parts.filter((part) => part.type !== "text");
  }

  /** The text so far, if another try can be asked to continue it: only visible text, not ending in a blank. */
  get prefix(): string | undefined {
    const parts = this.parts();
    const plain = parts.every((part) => part.type === "text" && part.provider === undefined);
    const text = this.text();
    return plain && /\S$/.test(text) ? text : undefined;
  }

  text(type: "text" | "reasoning" = "text"): string {
    let text = this.#open?.type === type ? this.#open.text : "";
    const parts = this.#parts ?? nothing;
    for (let i = parts.length - 1; i >= 0; i--) {
      const part = parts[i]!;
      if ((part.type === "text" || part.type === "reasoning") && part.type === type) text = part.text + text;
    }
    return text;
  }

  #add(part: Part): void {
    if (this.#parts === undefined) this.#parts = [part];
    else this.#parts.push(part);
  }

  #append(type: "text" | "reasoning", text: string, block: string | undefined): void {
    const open = this.#open;
    if (open !== undefined && open.type === type && open.block === block) {
      this.#free -= CHARACTER_BYTES * text.length;
      if (this.#free < 0 && !this.#counted().extend(text)) throw this.#tooLarge();
      open.text += text;
      return;
    }
    this.#free -= PART_BYTES + CHARACTER_BYTES * text.length;
    if (this.#free < 0 && !this.#counted().take({ type, text })) throw this.#tooLarge();
    this.#close(undefined);
    this.#open = { type, text, block };
  }

  #close(provider: ProviderData | undefined): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    if (open.text === "" && provider === undefined) return;
    this.#add({ type: open.type, text: open.text, ...(provider && { provider }) });
  }

  #push(part: Part): void {
    this.#take(part as unknown as Json);
    this.#add(part);
  }

  #take(value: Json): void {
    this.#free -= bytesAtMost(value);
    if (this.#free < 0 && !this.#counted().take(value)) throw this.#tooLarge();
  }

  /** Counts the present parts once. */
  #counted(): Room {
    if (this.#room === undefined) {
      this.#room = new Room(this.#desk.maxBytes);
      for (const part of this.#parts ?? nothing) this.#room.take(part as unknown as Json);
      if (this.#open !== undefined) this.#room.take({ type: this.#open.type, text: this.#open.text });
    }
    return this.#room;
  }

  #tooLarge(bytes = this.#room?.bytes ?? 0): BelayError {
    const what = `What ${this.#model.id} has answered so far`;
    return belayError("TOO_LARGE", { what, bytes, most: this.#desk.maxBytes });
  }

  #call(event: Extract<ModelEvent, { type: "call" }>): CallPart {
    const { args } = parseArgs(event.args);
    const given = typeof event.id === "string" ? event.id : "";
    const repeated = this.#parts?.some((part) => part.type === "call" && part.id === given);
    const id = this.#desk.callId(repeated ? "" : given, this.#by);
    // The provider's data speaks of its own id.
    const provider = id === event.id ? this.#data(event.provider) : undefined;
    return { type: "call", id, tool: String(event.tool), args, ...(provider && { provider }) };
  }

  #data(data: Json | undefined): ProviderData | undefined {
    if (data === undefined) return undefined;
    const { id, provider } = this.#model;
    return { name: provider ?? id, data: toJson(data, "Provider data") };
  }
}

/** True for a part that no provider takes back and no reader saw. */
function isNothing(part: Part): boolean {
  return part.type === "text" && part.text === "" && part.provider === undefined;
}

/** Returns the counts in it: a model leaves out unknown counts, or sends NaN. */
function counted(usage: Usage | undefined): Usage | undefined {
  if (typeof usage !== "object" || usage === null) return undefined;
  const counts: Record<string, number> = { inputTokens: 0, outputTokens: 0 };
  for (const of in usage) {
    const count = usage[of as keyof Usage];
    if (count !== undefined && Number.isFinite(count)) counts[of] = count;
  }
  return counts as unknown as Usage;
}
