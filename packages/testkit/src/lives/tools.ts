// The tools of a life: those that work, hang, heed nothing, fail, wait for approval, ask in the middle of their code, and
// those that may or may not run again. Every effect is reported to the scene.

import {
  humanApproval,
  humanInput,
  jsonSchema,
  type RequestOptions,
  rerun,
  type Tool,
  type ToolContext,
  tool,
  UserInterrupt,
} from "@belay/core";
import type { ToolOptions } from "@belay/core/inside";
import { never } from "../simulation/effect.ts";
import { ticks } from "../simulation/tick.ts";
import type { Scene } from "./scene.ts";

interface Args {
  readonly n: number;
}
const input = jsonSchema<Args>({ type: "object", properties: { n: { type: "number" } }, required: ["n"] });
type Options = Partial<ToolOptions<typeof input, unknown>>;
type Work = (args: Args, ctx: ToolContext) => unknown;

/** The choices of one agent's model. */
export const kits: readonly (readonly string[])[] = [
  ["work", "again", "gated"],
  ["asks", "gated", "work"],
  ["deaf", "work", "finish", "deafStream"],
  ["hang", "serial", "gated", "serial"],
  ["doubt", "boom", "work", "asks"],
  ["leave", "work", "gated", "asks"],
  ["timed", "deafLeave", "asks", "work"],
  ["retries", "shares", "retries", "gated"],
  ["shares", "stops", "asks", "retries"],
];

export function lifeTools(scene: Scene): Tool<unknown>[] {
  const make = (name: string, options: Options, execute: Work) =>
    tool({ name, description: name, input, onCrash: "fail", ...options, execute });
  const plain = (name: string, options: Options, work: Work) =>
    make(name, options, async (args, ctx) => {
      if (scene.dead) return never();
      const effect = scene.began(name, ctx, { repeatable: options.repeatable === true });
      try {
        return scene.calm ? "calm" : await work(args, ctx);
      } finally {
        effect.ended = true;
      }
    });
  return [
    plain("work", {}, busy),
    plain("again", { repeatable: true, onCrash: "retry" }, busy),
    plain("doubt", { onCrash: "ask" }, busy),
    plain("finish", { onStop: "finish" }, busy),
    plain("serial", { serial: true }, busy),
    plain("gated", { needsApproval: ({ n }) => humanApproval("May I?", gate(scene, n)) }, busy),
    plain("boom", {}, async () => {
      throw new Error("boom");
    }),
    plain("hang", {}, (_, ctx) => untilAborted(scene, ctx)),
    plain("deaf", {}, ({ n }, ctx) => deaf(scene, ctx, n % 5 === 4)),
    make("deafStream", { graceMs: 10 }, (_, ctx) => deafStream(scene, ctx)),
    plain("timed", { timeoutMs: 300 }, (_, ctx) => deaf(scene, ctx, false)),
    plain("deafLeave", {}, async ({ n }, ctx) => {
      const word = await deaf(scene, ctx, false);
      if (n % 3 === 0) ctx.breakLoop(word);
      return word;
    }),
    make("retries", {}, async ({ n }, ctx) => {
      if (scene.dead) return never();
      const effect = scene.began("retries", ctx, { repeatable: true });
      await ticks(n % 3);
      effect.ended = true;
      if (!scene.calm && scene.chance(2) === 0) throw rerun({ n });
      return `got ${n}`;
    }),
    make("shares", {}, async ({ n }, ctx) => {
      if (scene.dead) return never();
      const effect = scene.began("shares", ctx);
      ctx.setValue(ctx.callId, n);
      await ticks(n % 5);
      effect.ended = true;
      if (n % 6 === 0) throw new Error("shares nothing");
      return "shared";
    }),
    plain("stops", {}, async ({ n }, ctx) => {
      await ticks(n % 3);
      if (n % 2 === 0) ctx.interrupt({ reason: "pause_to_think" });
      else throw new UserInterrupt(scene.now(), "direction_change");
    }),
    make("asks", {}, (args, ctx) => asks(scene, args, ctx)),
    make("leave", { onStop: "finish", onCrash: "retry" }, ({ n }, ctx) => {
      if (n % 10 === 5) ctx.exit(`${ctx.agentName} ends it all`);
      else if (n % 2 === 1) ctx.breakLoop(`${ctx.agentName} has left`);
      else ctx.customAction({ hi: n });
      return "left";
    }),
  ];
}

async function busy({ n }: Args): Promise<string> {
  await ticks(n % 7);
  return `did ${n}`;
}

/** Two people, or one with a deadline, or one with a question that outlives new input; mostly just one. */
function gate(scene: Scene, n: number): RequestOptions {
  if (n % 3 === 0) return { quorum: 2 };
  if (n % 5 === 1) return { expiresAt: scene.now() + 400, onExpire: n % 2 === 1 ? "approve" : "reject" };
  return n % 5 === 2 ? { onNewInput: "keep" } : {};
}

function untilAborted(scene: Scene, { signal }: ToolContext): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
    scene.untilLetGo(() => reject(new Error("let go")));
  });
}

function deaf(scene: Scene, ctx: ToolContext, fails: boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    scene.untilLetGo(() => {
      if (fails) return reject(new Error("a late error"));
      scene.spoke(ctx);
      resolve("a late word");
    });
  });
}

async function* deafStream(scene: Scene, ctx: ToolContext): AsyncGenerator<string, string, void> {
  if (scene.dead) await never();
  const effect = scene.began("deafStream", ctx);
  try {
    yield "half";
    if (!scene.calm) await deaf(scene, ctx, false);
    return "whole";
  } finally {
    effect.ended = true;
  }
}

/** A step, a question, a step; some ask two more at once after that. */
async function asks(scene: Scene, { n }: Args, ctx: ToolContext): Promise<string> {
  const step = (key: string, after?: string) =>
    ctx.step(key, async () => {
      if (scene.dead) await never();
      const effect = scene.began("asks", ctx, { step: key, repeatable: true, ...(after !== undefined && { after }) });
      await ticks(scene.calm ? 0 : n % 4);
      effect.ended = true;
      return key;
    });
  await step("a");
  const said = await question(scene, n, ctx);
  if (scene.other && n % 5 === 1) await step("other");
  await step("b", "ask#0");
  if (n % 3 !== 0) return `asked ${said}`;
  const both = [ctx.ask(humanApproval("x?"), { key: "x" }), ctx.ask(humanInput("y?"), { key: "y" })];
  const heard = JSON.stringify(await Promise.all<unknown>(both));
  await step("c", "y");
  return heard;
}

async function question(scene: Scene, n: number, ctx: ToolContext): Promise<string> {
  const options: RequestOptions = n % 4 === 0 ? { onNewInput: "keep" } : n % 4 === 1 ? { onNewInput: "answer" } : {};
  if (n % 7 !== 3) return ctx.ask(humanInput(scene.other && n % 2 === 1 ? "What else?" : "What?", options));
  const soon = { expiresAt: scene.now() + 300, onExpire: n % 2 === 1 ? "fail" : "reject", ...options } as const;
  return ctx.ask(humanInput("Soon?", soon)).catch((error: unknown) => {
    if (n % 5 === 0) throw error;
    return String((error as { code?: unknown }).code);
  });
}
