// Shared by tests of sessions: a session on a scripted model, all of its events, and stores that a test can hold.

import {
  type AgentOptions,
  agent,
  type BelayEvent,
  type Clock,
  createRunner,
  type Message,
  type Model,
  type ModelRequest,
  memoryStore,
  messageText,
  type Runner,
  type RunnerOptions,
  type Session,
  type Store,
  type Tool,
} from "@belay/core";
import { type Append, wrapStore } from "@belay/core/inside";
import { promptProblems, type ScriptedModelOptions, type ScriptedTurn, scriptedModel } from "@belay/core/testing";

export interface KitOptions {
  readonly tools?: readonly Tool<unknown>[];
  readonly store?: Store;
  readonly clock?: Clock;
  readonly threadId?: string;
  readonly script?: ScriptedModelOptions;
  readonly agent?: Partial<AgentOptions<undefined, unknown>>;
  readonly leaseTtlMs?: number;
  readonly deps?: unknown;
  /** More options of the runner. */
  readonly runner?: Omit<RunnerOptions<string, unknown>, "agent" | "agents" | "store" | "clock">;
}

export interface Kit {
  readonly runner: Runner;
  readonly session: Session;
  readonly store: Store;
  /** The model's requests, call by call. */
  readonly requests: readonly ModelRequest[];
  /** Why a provider would have refused one of the requests; empty when all were valid (H1). */
  problems(): string[];
}

/** A runner and a session whose model plays `turns`, or is the one given. */
export async function openKit(
  turns: readonly ScriptedTurn[] | ScriptedTurn | Model,
  options: KitOptions = {},
): Promise<Kit> {
  const { clock, threadId = "thread", leaseTtlMs, deps } = options;
  const store = options.store ?? memoryStore(clock && { clock });
  const requests: ModelRequest[] = [];
  const model = listening(isModel(turns) ? turns : scriptedModel(turns, options.script), requests);
  const definition = agent({ name: "helper", model, tools: options.tools ?? [], ...options.agent });
  const runner = createRunner<string, unknown>({
    agent: definition,
    store,
    ...(clock && { clock }),
    ...(leaseTtlMs !== undefined && { leaseTtlMs }),
    ...(deps !== undefined && { deps }),
    ...options.runner,
  });
  const session = await runner.open(threadId);
  const problems = () =>
    requests.flatMap(({ messages }, i) => promptProblems(messages).map((problem) => `request ${i + 1}: ${problem}`));
  return { runner, session, store, requests, problems };
}

function isModel(turns: readonly ScriptedTurn[] | ScriptedTurn | Model): turns is Model {
  return typeof turns === "object" && "stream" in turns;
}

function listening(model: Model, requests: ModelRequest[]): Model {
  return {
    ...model,
    stream(request, options) {
      requests.push(request);
      return model.stream(request, options);
    },
  };
}

export interface Heard {
  /** The text so far. */
  readonly events: readonly BelayEvent[];
  /** Everything, once the reader has ended. */
  readonly all: Promise<readonly BelayEvent[]>;
  /** The first event, past or to come, that fits; rejects when the reader ends without one. */
  until(fits: (event: BelayEvent) => boolean): Promise<BelayEvent>;
}

/** Reads on from now: a run, or `session.events()`. */
export function listen(source: AsyncIterable<BelayEvent>): Heard {
  const events: BelayEvent[] = [];
  const waiting = new Set<{ fits: (event: BelayEvent) => boolean; found: (event: BelayEvent) => void }>();
  const read = async () => {
    for await (const event of source) {
      events.push(event);
      for (const wait of [...waiting]) {
        if (!wait.fits(event)) continue;
        waiting.delete(wait);
        wait.found(event);
      }
    }
    return events;
  };
  const all = read();
  return {
    events,
    all,
    until(fits) {
      const past = events.find(fits);
      if (past !== undefined) return Promise.resolve(past);
      return new Promise((found, reject) => {
        const wait = { fits, found };
        waiting.add(wait);
        const missed = () => {
          if (waiting.has(wait)) reject(new Error(`It never came; heard: ${said(events).join(" · ")}`));
        };
        all.then(missed, reject);
      });
    },
  };
}

/** Each event as one short line, so that a test compares all that was said. */
export function said(events: readonly BelayEvent[]): string[] {
  return events.map(line);
}

export function line(event: BelayEvent): string {
  switch (event.type) {
    case "run-start":
    case "gap":
    case "owner-lost":
      return event.type;
    case "message":
      return `message ${messageLine(event.message)}`;
    case "tool-start":
      return `tool-start ${event.callId}`;
    case "tool-end":
      return `tool-end ${event.callId} ${event.held ? "held" : event.outcome}`;
    case "action": {
      if (event.action.interrupted === undefined) return `action ${JSON.stringify(event.action)}`;
      const { kind, by, tool, key } = event.action.interrupted;
      if (kind === "user" || kind === "manual") return `interrupted by ${by}`;
      return "data" in event.action.interrupted ? "waits" : `asks ${kind} ${key ?? tool ?? ""}`.trim();
    }
    case "request-answered":
      return `answered ${event.answer.type} by ${event.by}${event.open ? ", open" : ""}${event.refused ? ` ${event.refused.code}` : ""}`;
    case "step":
      return `step ${event.key}${event.error ? ` ${event.error.code}` : ""}`;
    case "breakpoint":
      return `breakpoint ${event.breakpoint.at} ${event.breakpoint.node} ${event.breakpoint.stop}`;
    case "label":
      return `label ${JSON.stringify({ title: event.title, ...event.labels })} by ${event.by}`;
    case "rule-removed":
      return `rule-removed ${event.id} by ${event.by}`;
    case "command":
      return `command ${event.key} by ${event.by}${event.refused ? ` ${event.refused.code}` : ""}`;
    case "drift":
      return `drift ${Object.keys(event.report).join(" ")}`;
    case "state":
      return ["state", event.state, event.pauseType, event.mode].filter(Boolean).join(" ");
    case "run-end":
      return `run-end ${event.status}${event.error ? ` ${event.error.code}` : ""}`;
    case "turn-start":
    case "turn-end":
      return `${event.type} ${event.turn}`;
    case "text-delta":
      return `text ${event.text}`;
    case "reasoning-delta":
      return `reasoning ${event.text}`;
    case "tool-progress":
      return `progress ${event.callId} ${JSON.stringify(event.data)}`;
    case "tool-input-delta":
      return `input ${event.tool} ${event.text}`;
    case "model-wait":
      return event.retry === undefined
        ? `waits for a ${event.reason}`
        : `waits for try ${event.retry.try} of ${event.retry.tries}`;
    case "superseded":
      return `superseded, attempt ${event.attempt}`;
    case "tool-late":
      return `late ${event.callId} ${event.as} ${event.outcome} ${JSON.stringify(event.output)}`;
    case "input-queued":
      return `queued ${event.kind}`;
    case "input-consumed":
      return `consumed ${event.kind}`;
    default:
      return JSON.stringify(event satisfies never);
  }
}

/** Each message as one short line; `~` marks one that was cut. */
export function history(messages: readonly Message[]): string[] {
  return messages.map(messageLine);
}

function messageLine(message: Message): string {
  const parts = message.parts.map((part) => {
    switch (part.type) {
      case "text":
        return part.text;
      case "call":
        return `call ${part.id}`;
      case "result":
        return `${part.id} ${part.outcome}`;
      default:
        return part.type;
    }
  });
  return `${message.role}${message.interrupted ? `~${message.interrupted.by}` : ""}: ${parts.join(" + ")}`;
}

/** The text a reader was shown, of the attempt that counts. */
export function shown(events: readonly BelayEvent[]): string {
  let text = "";
  for (const event of events) {
    if (event.type === "superseded") text = "";
    if (event.type === "text-delta") text += event.text;
  }
  return text;
}

/** Starts of turns and calls without their end, and ends without their start. */
export function unpaired(events: readonly BelayEvent[]): string[] {
  const open = new Set<string>();
  const wrong: string[] = [];
  for (const event of events) {
    const [, kind, side] = /^(turn|tool)-(start|end)$/.exec(event.type) ?? [];
    if (kind === undefined) continue;
    const name = `${kind} ${"turn" in event ? event.turn : "callId" in event ? event.callId : ""}`;
    if (side === "start" ? open.has(name) : !open.has(name)) wrong.push(`${event.type} of ${name}`);
    if (side === "start") open.add(name);
    else open.delete(name);
  }
  return [...wrong, ...open];
}

export interface HeldStore extends Store {
  /** The appends that have reached it. */
  readonly appends: readonly Append[];
}

/** Wraps a store: appends wait for `before`, and their answers for `after`; both get the number of the append, from 1. */
export function heldStore(
  store: Store,
  hold: {
    readonly before?: (n: number, append: Append) => Promise<unknown> | undefined;
    readonly after?: (n: number, append: Append) => Promise<unknown> | undefined;
  },
): HeldStore {
  const appends: Append[] = [];
  const held = wrapStore(store, {
    async append(key, append) {
      const n = appends.push(append);
      await hold.before?.(n, append);
      const appended = await store.append(key, append);
      await hold.after?.(n, append);
      return appended;
    },
  });
  const { linesSync: _sync, ...waiting } = held;
  return { ...waiting, appends };
}

/** The text of the last message. */
export function lastText(messages: readonly Message[]): string {
  const last = messages.at(-1);
  return last === undefined ? "" : messageText(last);
}

/** A promise and the ways to settle it. */
export function gate<T = void>() {
  let open: (value: T) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const opened = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  opened.catch(() => {});
  return { opened, open, fail };
}

/** Lets everything run that needs no timer. */
export async function settle(rounds = 5): Promise<void> {
  for (let i = 0; i < rounds; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Waits until `holds` does, however it comes. Looks less often the longer it takes: a look may read a whole store. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const started = Date.now();
  for (let waited = 0; waited < 30_000; waited = Date.now() - started) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, Math.max(2, waited / 20)));
  }
  throw new Error(`It never came true: ${holds}`);
}

/** Unhandled rejections end a process; here they are counted. */
export async function unhandled(during: () => Promise<void>): Promise<unknown[]> {
  const seen: unknown[] = [];
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (error) => seen.push(error));
  try {
    await during();
    await settle();
  } finally {
    process.removeAllListeners("unhandledRejection");
    for (const other of others) process.on("unhandledRejection", other);
  }
  return seen;
}
