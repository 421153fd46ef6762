// A thread on the server, and one run of it. A method exists only if the server has a route for it.

import type {
  BelayEvent,
  Checkpoint,
  Effect,
  Fact,
  HistoryPoint,
  Input,
  InterruptOptions,
  Json,
  Look,
  Message,
  Receipt,
  RememberedRule,
  ResumeOptions,
  RunResult,
  Verdict,
  Waiting,
} from "@belay/core";
import { follow, isThreadEvent, type StreamEvent, type StreamOptions } from "./events.ts";
import type { Hints } from "./hints.ts";
import { type Line, newKey, RequestError } from "./request.ts";

/** The idempotency key of a write. Random if left out. */
export interface KeyOptions {
  readonly id?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Guard extends KeyOptions {
  readonly runId?: string | undefined;
  readonly segment?: number | undefined;
}

export interface Place {
  readonly runId: string;
  readonly segment: number;
  readonly seq: number;
}

/** The result of a run, without the handle: tokens stay on the server. */
export type ClientResult = RunResult extends infer Result
  ? Result extends { readonly handle: unknown }
    ? Omit<Result, "handle">
    : Result
  : never;

type StopOptions = Omit<InterruptOptions, "id" | "by"> & KeyOptions;
type ContinueOptions = Omit<ResumeOptions, "by" | "drift"> & Guard & { readonly drift?: "warn" | "refuse" | undefined };

/** How far before its first state a run's own facts may begin: the inputs of one append. */
const FIRST_FACTS = 64;

/** The handle on a thread of the server. */
export class ClientThread {
  readonly threadId: string;
  readonly #line: Line;
  readonly #hints: Hints;
  readonly #path: string;

  constructor(line: Line, hints: Hints, threadId: string) {
    this.threadId = threadId;
    this.#line = line;
    this.#hints = hints;
    this.#path = `/threads/${encodeURIComponent(threadId)}`;
  }

  #get<T>(path: string, query?: object): Promise<T> {
    return this.#line.get<T>(this.#path + path, query);
  }

  async #items<T>(path: string, query?: object): Promise<readonly T[]> {
    return (await this.#get<{ items: T[] }>(path, query)).items;
  }

  #ask<T>(path: string, options: object) {
    const { id, signal, ...body } = options as KeyOptions;
    return this.#line.ask<T>("POST", this.#path + path, { body, key: id, signal });
  }

  async #post<T>(path: string, options: object): Promise<T> {
    return (await this.#ask<T>(path, options)).body;
  }

  look(): Promise<Look> {
    return this.#get("");
  }

  /** Starts a run; resolves once it is on record. */
  async run(input: Input, options: KeyOptions & { readonly agent?: string } = {}): Promise<ClientRun> {
    return this.#run(await this.#post<Place>("/runs", { input, ...options }));
  }

  async resume(options: ContinueOptions = {}): Promise<ClientRun> {
    return this.#run(await this.#post("/resume", options));
  }

  #run(place: Place): ClientRun {
    return new ClientRun(this, place);
  }

  /** The chat box: runs, resumes, steers or answers, as the thread's state asks for. */
  send(
    input: Input,
    options: KeyOptions & {
      readonly agent?: string;
      readonly whenRunning?: "steer" | "enqueue" | "interrupt";
      readonly whenAsked?: "withdraw" | "keep" | "answer";
    } = {},
  ): Promise<{ readonly how: string; readonly runId?: string; readonly id: string }> {
    return this.#post("/send", { input, ...options });
  }

  /** Stops the run; resolves to the receipt, however long the work takes to stop. */
  interrupt(options: StopOptions = {}): Promise<Receipt> {
    return this.#receipt("/interrupt", options);
  }

  pause(options: Guard = {}): Promise<Receipt> {
    return this.#receipt("/pause", options);
  }

  async #receipt(path: string, options: KeyOptions): Promise<Receipt> {
    const id = options.id ?? newKey();
    for (;;) {
      const { status, body } = await this.#ask<Receipt>(path, { ...options, id });
      if (status === 200) return body;
    }
  }

  async terminate(options: Guard & { readonly force?: boolean } = {}): Promise<void> {
    await this.#post("/terminate", options);
  }

  steer(input: Input, options: KeyOptions = {}): Promise<{ readonly id: string }> {
    return this.#post("/steer", { input, ...options });
  }

  enqueue(input: Input, options: KeyOptions = {}): Promise<{ readonly id: string }> {
    return this.#post("/enqueue", { input, ...options });
  }

  observe(input: Input, options: KeyOptions = {}): Promise<{ readonly id: string }> {
    return this.#post("/observe", { input, ...options });
  }

  waiting(): Promise<readonly Waiting[]> {
    return this.#items("/waiting");
  }

  /** Takes back a steer or an input; false if the thread has read it. */
  async withdraw(id: string): Promise<boolean> {
    try {
      await this.#line.ask("DELETE", `${this.#path}/waiting/${encodeURIComponent(id)}`);
      return true;
    } catch (error) {
      if (error instanceof RequestError && error.code === "INPUT_CONSUMED") return false;
      throw error;
    }
  }

  /** Streams facts from a cursor on, then live events; over lost connections. Ends with the signal, or if the server refuses. */
  async *events(options: StreamOptions = {}): AsyncGenerator<StreamEvent> {
    const release = options.changes ? this.#hints.carry() : undefined;
    try {
      for await (const event of follow(this.#line, `${this.#path}/events`, options)) {
        if (event.type === "sync" || event.type === "change") this.#hints.tell(event);
        yield event;
      }
    } finally {
      release?.();
    }
  }

  facts(
    query: { readonly after?: number; readonly before?: number; readonly limit?: number } = {},
  ): Promise<{ readonly items: readonly Fact[]; readonly head: number; readonly next?: string }> {
    return this.#get("/facts", query);
  }

  messages(
    query: { readonly before?: string; readonly limit?: number } = {},
  ): Promise<{ readonly items: readonly Message[]; readonly next?: string }> {
    return this.#get("/messages", query);
  }

  history(): Promise<readonly HistoryPoint[]> {
    return this.#items("/history");
  }

  /** The effects after a seq: show them before a fork. */
  effects(query: { readonly after: number }): Promise<readonly Effect[]> {
    return this.#items("/effects", query);
  }

  async checkpoint(query: { readonly to?: string } = {}): Promise<Checkpoint | undefined> {
    return (await this.#get<Checkpoint | null>("/checkpoint", query)) ?? undefined;
  }

  fork(
    options: KeyOptions & { readonly at?: number | string; readonly before?: string; readonly as?: string },
  ): Promise<{ readonly threadId: string; readonly effects: readonly Effect[] }> {
    return this.#post("/fork", options);
  }

  repair(options: KeyOptions & { readonly as?: string } = {}): Promise<{ readonly threadId: string }> {
    return this.#post("/repair", options);
  }

  permission(tool: string, args: Json): Promise<Verdict> {
    return this.#post("/permission", { tool, args });
  }

  rules(): Promise<readonly RememberedRule[]> {
    return this.#items("/rules");
  }

  async removeRule(id: string): Promise<void> {
    await this.#line.ask("DELETE", `${this.#path}/rules/${encodeURIComponent(id)}`);
  }

  async label(body: {
    readonly title?: string | null;
    readonly labels?: Readonly<Record<string, string | null>>;
  }): Promise<Look> {
    return (await this.#line.ask<Look>("PATCH", this.#path, { body })).body;
  }

  async setBreakpoint(body: {
    readonly node: string;
    readonly graph?: string;
    readonly at?: "before" | "after";
    readonly stop?: boolean;
    readonly when?: Json;
  }): Promise<void> {
    await this.#line.ask("PUT", `${this.#path}/breakpoints`, { body });
  }

  async delete(): Promise<void> {
    await this.#line.ask("DELETE", this.#path);
  }
}

/** One segment of a run. Iterating it opens a stream; so does `result`. */
export class ClientRun implements AsyncIterable<BelayEvent> {
  readonly thread: ClientThread;
  readonly runId: string;
  readonly segment: number;
  readonly seq: number;
  #result: Promise<ClientResult> | undefined;

  constructor(thread: ClientThread, { runId, segment, seq }: Place) {
    this.thread = thread;
    this.runId = runId;
    this.segment = segment;
    this.seq = seq;
  }

  get threadId(): string {
    return this.thread.threadId;
  }

  /** Stops this segment and no later one. */
  interrupt(options: StopOptions = {}): Promise<Receipt> {
    const { runId, segment } = this;
    return this.thread.interrupt({ runId, segment, ...options });
  }

  [Symbol.asyncIterator](): AsyncGenerator<BelayEvent> {
    return this.#events(true);
  }

  async *#events(drafts: boolean): AsyncGenerator<BelayEvent> {
    const { runId, segment } = this;
    const after = Math.max(0, this.seq - FIRST_FACTS);
    for await (const event of this.thread.events({ after, drafts })) {
      if (event.type === "connection" && event.state === "closed") throw event.error;
      if (!isThreadEvent(event)) continue;
      const isOwn = event.runId === runId && event.segment === segment;
      if (isOwn) yield event;
      const isOver = event.seq > this.seq && event.type === "state" && event.state !== "running";
      if (event.seq > this.seq && (isOver || !isOwn)) return;
    }
  }

  /** Never rejects, except if the server no longer lets this client read the thread. */
  get result(): Promise<ClientResult> {
    this.#result ??= this.#read();
    return this.#result;
  }

  async #read(): Promise<ClientResult> {
    const { runId, segment } = this;
    const facts: BelayEvent[] = [];
    for await (const event of this.#events(false)) facts.push(event);
    const look = await this.thread.look();
    const end = facts.findLast((each) => each.type === "run-end" && !each.runPath.includes("/")) as
      | Extract<Fact, { type: "run-end" }>
      | undefined;
    const place = { runId, segment, usage: end?.usage ?? look.usage };
    if (end?.status === "completed") {
      const text = lastText(facts);
      const { output = text, finish = "stop" } = end;
      return { ...place, status: "completed", output, text, finish };
    }
    if (end?.status === "failed") return { ...place, status: "failed", error: failed(end.error) as never };
    if (end?.status === "terminated") return { ...place, status: "terminated" };
    const pause = facts.findLast((each) => each.type === "state") as Extract<Fact, { type: "state" }> | undefined;
    return {
      ...place,
      status: "interrupted",
      interruptType: pause?.pauseType ?? "crash",
      interrupts: pause?.interrupts ?? [],
      interrupt: look.interrupt as never,
      partialText: lastText(facts, true),
    };
  }
}

function lastText(facts: readonly BelayEvent[], onlyCut = false): string {
  const last = facts.findLast(
    (each) => each.type === "message" && each.message.role === "assistant" && !each.runPath.includes("/"),
  ) as Extract<Fact, { type: "message" }> | undefined;
  if (last === undefined || (onlyCut && last.message.interrupted === undefined)) return "";
  return last.message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function failed(record: { readonly code: string; readonly message: string; readonly hint?: string } | undefined) {
  const { code = "AGENT_FAILED", message = "It failed.", hint = "" } = record ?? {};
  return new RequestError(200, { code, detail: message, hint });
}
