// A tool with two steps and two questions in it, and a witness that says when its code breaks a promise: a recorded step
// computed again, code past an unanswered question, a catch or finally that ran over a pause.

import {
  approve,
  type Fact,
  humanApproval,
  humanInput,
  type Json,
  jsonSchema,
  respond,
  type Session,
  type Store,
  type Tool,
  type ToolContext,
  tool,
} from "@belay/core";
import type { ToolOptions } from "@belay/core/inside";
import { factsOf } from "./facts-of.ts";

export const anything = jsonSchema<Record<string, never>>({ type: "object" });

/** A tool that takes anything. */
export function toolOf(
  name: string,
  execute: (ctx: ToolContext) => unknown,
  more: Partial<ToolOptions<typeof anything, unknown>> = {},
): Tool<unknown> {
  return tool({ name, description: "", input: anything, ...more, execute: (_, ctx) => execute(ctx) as never });
}

/** The values that steps have on record, by key. */
export function stepsOf(facts: readonly Fact[]): string[] {
  return facts.flatMap((fact) => (fact.type === "step" ? [fact.key] : []));
}

/** Returns the output of the call; undefined while it has no end. */
export function toolResult(facts: readonly Fact[], callId: string): Json | undefined {
  const end = facts.findLast((fact) => fact.type === "tool-end" && fact.callId === callId && !fact.held);
  return end?.type === "tool-end" ? end.output : undefined;
}

export interface Witness {
  /** The acts of the code, in order. */
  readonly did: string[];
  readonly problems: string[];
  /** How often it was entered. */
  entries: number;
}

export function witness(): Witness {
  return { did: [], problems: [], entries: 0 };
}

/** The output of the tool without a fault. */
export const ORDERED = "one ann two true";

/** `store` has the truth, also if the process that runs the tool has lost its connection. */
export function orderTool(store: Store, seen: Witness, more: Partial<ToolOptions<typeof anything, unknown>> = {}) {
  const step = (ctx: ToolContext, key: string) =>
    ctx.step(key, async (given) => {
      if (stepsOf(await factsOf(store)).includes(key)) seen.problems.push(`${key} is on record, and computed again`);
      if (given.idempotencyKey !== `${ctx.idempotencyKey}/s:${key}`) seen.problems.push(`${key} has another key`);
      seen.did.push(key);
      return key;
    });
  const past = async (key: string) => {
    if (!answeredKeys(await factsOf(store)).includes(key)) seen.problems.push(`went past ${key} without an answer`);
  };
  const execute = async (ctx: ToolContext) => {
    seen.entries += 1;
    try {
      const one = await step(ctx, "one");
      const name = await ctx.ask(humanInput("Whose order?"));
      await past("ask#0");
      const two = await step(ctx, "two");
      const { approved } = await ctx.ask(humanApproval("Really?"));
      await past("ask#1");
      const result = `${one} ${name} ${two} ${approved}`;
      seen.did.push("returned");
      return result;
    } catch (error) {
      seen.problems.push(`caught ${error}`);
      throw error;
    } finally {
      seen.did.push("finally");
      if (seen.did.at(-2) !== "returned") seen.problems.push("finally without a result");
    }
  };
  return toolOf("order", execute, { onCrash: "retry", ...more });
}

function answeredKeys(facts: readonly Fact[]): string[] {
  const keys = new Map<string, string>();
  const answered: string[] = [];
  for (const fact of facts) {
    const raised = fact.type === "action" ? fact.action.interrupted : undefined;
    if (raised !== undefined && !("data" in raised)) keys.set(raised.id, raised.key ?? "");
    if (fact.type === "request-answered" && fact.answer.type !== "withdraw") answered.push(keys.get(fact.id) ?? "");
  }
  return answered;
}

/** Answers all open requests: questions with "ann", the rest with yes. */
export function answersFor(session: Session) {
  const open = session.interrupts.filter(({ kind }) => kind === "input" || kind === "approval" || kind === "unknown");
  return open.map(({ id, kind }) => ({ id, answer: kind === "input" ? respond("ann") : approve({ by: "ann" }) }));
}

/** Answers and resumes until the run has its end, or this process can do no more. */
export async function goOnToTheEnd(session: Session, by: "answer" | "resume" = "answer"): Promise<void> {
  for (let rounds = 0; rounds < 50; rounds++) {
    if (session.state === "created") await session.run("go").result;
    if (session.state !== "paused") return;
    const open = answersFor(session);
    if (by === "resume") {
      await session.resume({ answers: Object.fromEntries(open.map(({ id, answer }) => [id, answer])) }).result;
      continue;
    }
    for (const { id, answer } of open) await session.answer(id, answer);
    await session.resume().result;
  }
  throw new Error(`It never ended: ${session.state}`);
}
