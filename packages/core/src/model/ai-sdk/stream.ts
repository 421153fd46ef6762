// From the AI SDK's stream to our events, by hand instead of by async generator: a generator's `return()` waits for the
// read that is under way, which a stalled provider never ends. Invariants:
// 1. `return()` settles at once, never throws, and settles a `next()` that is waiting, with any provider.
//    Only after the finish, with no reader waiting, the stream is read to its end instead of cancelled.
// 2. The request is made by the first `next()`; before that no token is spent.
// 3. An answer is complete when the provider has reported that: a stream that just ends has failed.
// 4. One promise per chunk beyond the stream's own, and no closure.

import type { Json } from "../../json.ts";
import type { ModelEvent } from "../model.ts";
import {
  htmlPage,
  mergeMetadata,
  opaqueData,
  readFile,
  readFinish,
  readUsage,
  streamError,
  unfinished,
} from "./part.ts";
import type { AiSdkPart, AiSdkReader, AiSdkResponse, AiSdkStream } from "./shape.ts";

type Step = IteratorResult<ModelEvent, undefined>;
type Read = Awaited<ReturnType<AiSdkReader["read"]>>;

export class EventStream implements AsyncIterableIterator<ModelEvent, undefined, undefined> {
  private readonly request: () => PromiseLike<AiSdkResponse>;
  private reader: AiSdkReader | undefined;
  private opening: Promise<void> | undefined;
  private stopOpening: (() => void) | undefined;
  private closed = false;
  /** The finish is the last thing that was handed out. */
  private finished = false;
  /** The provider has said how it ended. */
  private complete = false;
  /** The provider data so far of the open blocks. */
  private metadata: Map<string, Json> | undefined;
  /** The tools of calls whose arguments are being written, by the provider's id. */
  private writing: Map<string, string> | undefined;

  constructor(request: () => PromiseLike<AiSdkResponse>) {
    this.request = request;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    this.finished = false;
    if (this.reader !== undefined) return this.reader.read().then(this.accept);
    if (this.closed) return Promise.resolve(end());
    this.opening ??= this.open();
    return this.opening.then(this.resume);
  }

  return(): Promise<Step> {
    this.closed = true;
    this.stopOpening?.();
    if (this.reader !== undefined) {
      if (this.finished) void drain(this.reader);
      else drop(this.reader);
    }
    return Promise.resolve(end());
  }

  private open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.stopOpening = resolve;
      const fail = (error: unknown) => {
        this.closed = true;
        reject(error);
      };
      try {
        Promise.resolve(this.request()).then(this.begin).then(resolve, fail);
      } catch (error) {
        fail(error);
      }
    });
  }

  private readonly begin = ({ stream, response }: AiSdkResponse): void => {
    const page = htmlPage(response?.headers);
    if (this.closed || page !== undefined) drop(stream);
    else this.reader = stream.getReader();
    if (page !== undefined) throw page;
  };

  private readonly resume = (): Step | Promise<Step> => (this.closed ? end() : this.next());

  private readonly accept = (read: Read): Step | Promise<Step> => this.step(read) ?? this.skip();

  /** Reads on over parts that say nothing. */
  private async skip(): Promise<Step> {
    for (;;) {
      const step = this.step(await this.reader!.read());
      if (step !== undefined) return step;
    }
  }

  private step(read: Read): Step | undefined {
    if (this.closed) return end();
    if (read.done) return this.ended();
    const value = this.event(read.value as AiSdkPart);
    return value === undefined ? undefined : { done: false, value };
  }

  private ended(): Step {
    if (this.complete) return end();
    this.closed = true;
    throw unfinished();
  }

  private event(part: AiSdkPart): ModelEvent | undefined {
    switch (part.type) {
      case "text-delta":
        if (part.providerMetadata !== undefined) this.note("text", part);
        return part.delta === "" ? undefined : { type: "text", text: part.delta, block: part.id };
      case "reasoning-delta":
        if (part.providerMetadata !== undefined) this.note("reasoning", part);
        return part.delta === "" ? undefined : { type: "reasoning", text: part.delta, block: part.id };
      case "text-start":
        this.note("text", part);
        return undefined;
      case "reasoning-start":
        this.note("reasoning", part);
        return undefined;
      case "text-end":
        return { type: "text-end", block: part.id, provider: this.take("text", part) };
      case "reasoning-end":
        return { type: "reasoning-end", block: part.id, provider: this.take("reasoning", part) };
      case "tool-input-start":
        this.writing ??= new Map();
        this.writing.set(part.id, part.toolName);
        return { type: "args", text: "", id: part.id, tool: part.toolName };
      case "tool-input-delta": {
        if (part.delta === "") return undefined;
        return { type: "args", text: part.delta, id: part.id, tool: this.writing?.get(part.id) ?? "" };
      }
      case "tool-call":
        return part.providerExecuted ? opaque(part) : call(part);
      case "tool-result":
        return part.preliminary ? undefined : opaque(part);
      case "custom":
        // Anthropic's v4 also reports the beginning of its answer in this way, which is no content.
        return part.kind.endsWith(".message_start") ? undefined : opaque(part);
      case "reasoning-file":
        return opaque(part);
      case "file": {
        const provider = mergeMetadata(undefined, part.providerMetadata);
        return { type: "file", mediaType: part.mediaType, data: readFile(part.data), provider };
      }
      case "finish":
        this.finished = true;
        this.complete = true;
        return { type: "finish", finish: readFinish(part.finishReason), usage: readUsage(part.usage) };
      case "error":
        this.closed = true;
        drop(this.reader!);
        throw streamError(part.error);
      default:
        // `tool-call` says that an input is complete; source, raw, ping and the like are not part of the conversation.
        part satisfies never;
        return undefined;
    }
  }

  private note(kind: "text" | "reasoning", part: Extract<AiSdkPart, { id: string }>): void {
    const key = `${kind} ${part.id}`;
    const merged = mergeMetadata(this.metadata?.get(key), part.providerMetadata);
    if (merged === undefined) return;
    this.metadata ??= new Map();
    this.metadata.set(key, merged);
  }

  private take(kind: "text" | "reasoning", part: Extract<AiSdkPart, { id: string }>): Json | undefined {
    const key = `${kind} ${part.id}`;
    const merged = mergeMetadata(this.metadata?.get(key), part.providerMetadata);
    this.metadata?.delete(key);
    return merged;
  }
}

function end(): Step {
  return { done: true, value: undefined };
}

/** Ends a stream without waiting for its source, which may be deaf. */
function drop(stream: AiSdkReader | AiSdkStream): void {
  try {
    stream.cancel().catch(ignore);
  } catch {
    // It was errored or locked already: there is nothing left to end.
  }
}

/** How long a complete answer may take to end its connection. */
const lingerMs = 1000;

/** After a complete answer the connection ends in order, and can be used again; cancelled, it would be thrown away. */
async function drain(reader: AiSdkReader): Promise<void> {
  const timer = setTimeout(drop, lingerMs, reader);
  timer.unref();
  try {
    while (!(await reader.read()).done);
  } catch {
    // An error after the complete answer has no effect.
  }
  clearTimeout(timer);
}

function ignore(): void {}

function call(part: Extract<AiSdkPart, { type: "tool-call" }>): ModelEvent {
  const { input } = part;
  // No arguments at all is how some providers write an empty object.
  const args = typeof input === "string" && input.trim() === "" ? "{}" : input;
  const provider = mergeMetadata(undefined, part.providerMetadata);
  return { type: "call", id: part.toolCallId, tool: part.toolName, args, provider };
}

function opaque(part: Parameters<typeof opaqueData>[0]): ModelEvent {
  return { type: "opaque", provider: opaqueData(part) as Json };
}
