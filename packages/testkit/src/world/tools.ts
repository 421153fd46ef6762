// The tools of a world. Each start and end is written to one log, whoever runs the tool: the log is what really
// happened, and everything a journal or a model says is held against it.

import { humanApproval, humanInput, jsonSchema, type Tool, type ToolContext, tool } from "@belay/core";
import type { ToolOptions } from "@belay/core/inside";
import { tick, ticks } from "./tick.ts";

export const toolNames = [
  "fast",
  "slow",
  "boom",
  "hang",
  "deaf",
  "finish",
  "serial",
  "again",
  "stream",
  "timed",
  /** Needs approval; some of it in time. */
  "gated",
  /** The same, and runs alone. */
  "sealed",
  /** A step, a question, a step. */
  "asks",
  /** Two questions at once. */
  "pair",
  /** After a crash a person is asked what became of it. */
  "doubt",
  "absent",
] as const;
export type ToolName = (typeof toolNames)[number];

export interface Effect {
  readonly callId: string;
  /** Names the call by its address, not by its arguments. */
  readonly key: string;
  readonly tool: string;
  /** A step inside it: its code may come to it long after its start, also after a stop that left it behind. */
  readonly step: boolean;
  readonly process: number;
  readonly runId: string;
  readonly segment: number;
  ended: boolean;
  /** Its session was closed while it ran. */
  closed: boolean;
}

export interface ToolHost {
  /** The number of the process. */
  readonly process: number;
  readonly dead: boolean;
  /** True at the end of a test: tools do nothing unusual any more. */
  readonly calm: boolean;
  now(): number;
  began(effect: Effect): void;
  /** Settles when deaf tools are let go. */
  released(): Promise<void>;
}

/** How long people have for what must be answered in time. */
export const ANSWER_MS = 500;

interface Args {
  readonly ticks: number;
}
const input = jsonSchema<Args>({ type: "object", properties: { ticks: { type: "number" } }, required: ["ticks"] });
type Work = (args: Args, ctx: ToolContext, host: ToolHost) => unknown;

async function busy(args: Args): Promise<string> {
  await ticks(args.ticks);
  return `worked ${args.ticks}`;
}

function untilAborted(ctx: ToolContext): Promise<never> {
  return new Promise((_, reject) => {
    if (ctx.signal.aborted) reject(ctx.signal.reason);
    else ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason));
  });
}

const work: Record<Exclude<ToolName, "absent" | "stream" | "asks" | "pair">, Work> = {
  fast: () => "done at once",
  slow: busy,
  boom: async (args) => {
    await ticks(args.ticks);
    throw new Error("boom");
  },
  hang: (_, ctx) => untilAborted(ctx),
  deaf: (_, __, host) => host.released(),
  finish: busy,
  serial: busy,
  again: busy,
  timed: (_, ctx) => untilAborted(ctx),
  gated: busy,
  sealed: busy,
  doubt: busy,
};

/** Many calls have no time, some have little. */
const deadline = (host: ToolHost, { ticks }: Args) => (ticks > 3 ? { expiresAt: host.now() + ANSWER_MS } : {});

const options: Partial<Record<ToolName, Partial<ToolOptions<typeof input, unknown>>>> = {
  finish: { onStop: "finish" },
  serial: { serial: true },
  again: { repeatable: true },
  timed: { timeoutMs: 50, graceMs: 10 },
  sealed: { serial: true },
  doubt: { onCrash: "ask" },
};

const gates: readonly ToolName[] = ["gated", "sealed"];

export const repeatable = (name: string): boolean => options[name as ToolName]?.repeatable === true;

/** It may end, or be cut, without having done anything but ask. */
export const mayOnlyAsk = (name: string): boolean => name === "asks" || name === "pair";

/** One set for each process; `absent` is not among them. */
export function worldTools(host: ToolHost): Tool<unknown>[] {
  const begin = (name: ToolName, ctx: ToolContext, step = ""): Effect => {
    const { callId, idempotencyKey, runId, segment } = ctx;
    const key = `${idempotencyKey}${step}`;
    const effect: Effect = {
      callId,
      key,
      tool: name,
      step: step !== "",
      process: host.process,
      runId,
      segment,
      ended: false,
      closed: false,
    };
    host.began(effect);
    return effect;
  };
  const define = (name: ToolName, execute: (args: Args, ctx: ToolContext) => unknown) =>
    tool({
      name,
      description: name,
      input,
      onCrash: repeatable(name) ? "retry" : "fail",
      ...(gates.includes(name) && { needsApproval: (args: Args) => humanApproval("May I?", deadline(host, args)) }),
      ...options[name],
      execute,
    });
  const plain = Object.entries(work).map(([name, does]) =>
    define(name as ToolName, (args, ctx) => {
      // In a process that is dead nothing happens any more.
      if (host.dead) return new Promise(() => {});
      const effect = begin(name as ToolName, ctx);
      const end = () => {
        effect.ended = true;
      };
      if (host.calm || name === "fast") {
        end();
        return "calm";
      }
      const result = Promise.resolve(does(args, ctx, host));
      result.then(end, end);
      return result;
    }),
  );
  const stream = define("stream", async function* (args, ctx) {
    if (host.dead) await new Promise(() => {});
    const effect = begin("stream", ctx);
    try {
      for (let i = 0; i < args.ticks; i++) {
        yield `piece ${i}`;
        await tick();
      }
    } finally {
      effect.ended = true;
    }
    return "streamed";
  });
  /** What happens in it happens once, also when its code begins again. */
  const did = (name: ToolName, ctx: ToolContext, key: string, args: Args) =>
    ctx.step(key, async () => {
      if (host.dead) await new Promise(() => {});
      const effect = begin(name, ctx, `/s:${key}`);
      await ticks(host.calm ? 0 : args.ticks);
      effect.ended = true;
      return key;
    });
  const asks = define("asks", async (args, ctx) => {
    await did("asks", ctx, "before", args);
    const said = await ctx.ask(humanInput("What?", deadline(host, args)));
    await did("asks", ctx, "after", args);
    return `asked: ${said}`;
  });
  const pair = define("pair", async (args, ctx) => {
    const ask = (key: string) => ctx.ask(humanApproval(`${key}?`), { key });
    const both = await Promise.all([
      ask("one"),
      ask("two").then((two) => did("pair", ctx, "done", args).then(() => two)),
    ]);
    return both.map(({ approved }) => approved);
  });
  return [...plain, stream, asks, pair];
}
