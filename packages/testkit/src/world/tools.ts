// The tools of a world. Each start and end is written to one log, whichever process runs the tool: the log is what really
// happened, and everything a journal or a model says is held against it.

import { humanApproval, humanInput, jsonSchema, type Tool, type ToolContext, tool } from "@belay/core";
import type { ToolOptions } from "@belay/core/inside";
import { never, type Stage } from "../simulation/effect.ts";
import { tick, ticks } from "../simulation/tick.ts";

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
  /** After a crash a person is asked for its outcome. */
  "doubt",
  "absent",
] as const;
export type ToolName = (typeof toolNames)[number];

/** The time that people have for requests with a deadline. */
export const ANSWER_MS = 500;

interface Args {
  readonly ticks: number;
}
const input = jsonSchema<Args>({ type: "object", properties: { ticks: { type: "number" } }, required: ["ticks"] });
type Work = (args: Args, ctx: ToolContext, stage: Stage) => unknown;

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
  deaf: (_, __, stage) => new Promise<void>((resolve) => stage.untilLetGo(resolve)),
  finish: busy,
  serial: busy,
  again: busy,
  timed: (_, ctx) => untilAborted(ctx),
  gated: busy,
  sealed: busy,
  doubt: busy,
};

/** Many calls have no time, some have little. */
const deadline = (stage: Stage, { ticks }: Args) => (ticks > 3 ? { expiresAt: stage.now() + ANSWER_MS } : {});

const options: Partial<Record<ToolName, Partial<ToolOptions<typeof input, unknown>>>> = {
  finish: { onStop: "finish" },
  serial: { serial: true },
  again: { repeatable: true },
  timed: { timeoutMs: 50, graceMs: 10 },
  sealed: { serial: true },
  doubt: { onCrash: "ask" },
};

const gates: readonly ToolName[] = ["gated", "sealed"];

/** Tools that may end, or be cut, when all that they have done is to ask. */
export const askingTools: readonly ToolName[] = ["asks", "pair"];

/** One set for each process; `absent` is not among them. */
export function worldTools(stage: Stage): Tool<unknown>[] {
  const isRepeatable = (name: ToolName) => options[name]?.repeatable === true;
  const begin = (name: ToolName, ctx: ToolContext) => stage.began(name, ctx, { repeatable: isRepeatable(name) });
  const define = (name: ToolName, execute: (args: Args, ctx: ToolContext) => unknown) =>
    tool({
      name,
      description: name,
      input,
      onCrash: isRepeatable(name) ? "retry" : "fail",
      ...(gates.includes(name) && { needsApproval: (args: Args) => humanApproval("May I?", deadline(stage, args)) }),
      ...options[name],
      execute,
    });
  const plain = Object.entries(work).map(([name, does]) =>
    define(name as ToolName, (args, ctx) => {
      // In a process that is dead nothing happens any more.
      if (stage.dead) return never();
      const effect = begin(name as ToolName, ctx);
      const end = () => {
        effect.ended = true;
      };
      if (stage.calm || name === "fast") {
        end();
        return "calm";
      }
      const result = Promise.resolve(does(args, ctx, stage));
      result.then(end, end);
      return result;
    }),
  );
  const stream = define("stream", async function* (args, ctx) {
    if (stage.dead) await never();
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
  /** Its effect happens once, also when its code begins again. */
  const did = (name: ToolName, ctx: ToolContext, key: string, args: Args) =>
    ctx.step(key, async () => {
      if (stage.dead) await never();
      // A step that was cut off while its call waited for another answer may run again.
      const effect = stage.began(name, ctx, { step: key, repeatable: name === "pair" });
      await ticks(stage.calm ? 0 : args.ticks);
      effect.ended = true;
      return key;
    });
  const asks = define("asks", async (args, ctx) => {
    await did("asks", ctx, "before", args);
    const said = await ctx.ask(humanInput("What?", deadline(stage, args)));
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
