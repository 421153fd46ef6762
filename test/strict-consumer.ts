// A program under the strictest settings of TypeScript: optional values are passed on as they are.
// Compiled by consumer.test.ts against the declarations that are published; it is never run.

import {
  agent,
  agentTool,
  approve,
  content,
  createRunner,
  customInterrupt,
  defineAgent,
  describe,
  END,
  type FilePart,
  graph,
  humanApproval,
  humanInput,
  isBelayError,
  jsonSchema,
  loop,
  parallel,
  reject,
  respond,
  START,
  sequential,
  tool,
} from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import type { Append, Appended, Store, ThreadKey } from "@belay/core/store";
import { reached, scriptedModel } from "@belay/core/testing";
import { DatabaseSync } from "@photostructure/sqlite";

interface Asked {
  readonly text?: string | undefined;
  readonly count?: number | undefined;
  readonly flag?: boolean | undefined;
  readonly at?: Date | undefined;
  readonly signal?: AbortSignal | undefined;
}

export async function product({ text, count, flag, at, signal }: Asked): Promise<void> {
  const model = scriptedModel("hello");
  const options = { context: text, stateKey: text, expiresAt: at, quorum: count, approvers: text ? [text] : undefined };
  const look = tool({
    name: "look",
    description: "Looks.",
    input: jsonSchema<{ at: string }>({ type: "object" }),
    version: text,
    timeoutMs: count,
    graceMs: count,
    readOnly: flag,
    needsApproval: flag ? () => humanApproval("May it look?", options) : undefined,
    execute: async (_args, ctx) => [
      await ctx.ask(humanInput("Where?", { ...options, schema: undefined }), { key: text }),
      await ctx.ask(customInterrupt("How?", options)),
    ],
  });
  const helper = agent({
    name: "helper",
    model,
    tools: [look],
    instructions: text,
    maxTurns: count,
    context: count === undefined ? undefined : { maxTokens: count, keepTokens: count },
    timeouts: { idleMs: count },
    settings: { temperature: count, maxOutputTokens: count, retry: { attempts: count } },
    hooks: undefined,
  });
  const inside = [helper, agent({ name: "other", model, tools: [agentTool(helper, { description: text })] })];
  const flow = graph("flow")
    .node("one", defineAgent({ name: "own", version: text, run: () => 1 }))
    .edge(START, "one")
    .edge("one", END)
    .compile({ maxSteps: count, interruptBefore: flag ? ["one"] : undefined });
  const whole = sequential({
    name: "whole",
    agents: [
      parallel({ name: "both", agents: inside, hooks: undefined }),
      loop({ name: "again", agents: [flow], maxIterations: count }),
    ],
  });
  const store = text === undefined ? undefined : sqliteStore(new DatabaseSync(text));
  const runner = createRunner({ agent: whole, store, tenant: text, leaseTtlMs: count, unattended: flag });
  const session = await runner.open(text, { agent: text });
  await session.run("go", { id: text }).result;
  await session.interrupt({ by: text, reason: text, timeoutMs: count, force: flag });
  await session.resume({ input: text, to: text, by: text }).result;
  await session.steer("there", { id: text, by: text });
  for await (const event of session.events({ after: count, signal })) if (event.type === "gap") break;
  for await (const event of runner.events("thread", { after: count, signal })) if (event.type === "gap") break;
  const [item] = (await runner.inbox({ threadId: text, by: text })).items;
  for (const answer of [approve({ note: text, by: text }), reject("no", { by: text }), respond(1, { by: text })]) {
    await runner.answer(item!.id, answer, { id: text });
  }
  await runner.fork("thread", { at: 1, as: text });
  await runner.prune({ idleMs: 1, dryRun: flag });
  await runner.work({ concurrency: count, signal });
  await runner.drain({ timeoutMs: count });
}

/** Wraps a store, reads threads by id, and returns a picture as a result. */
export async function more({ text, count, signal }: Asked, inner: Store): Promise<string | undefined> {
  const store: Store = Object.create(inner, {
    append: { value: (key: ThreadKey, append: Append): Promise<Appended> => inner.append(key, append) },
  });
  const picture: FilePart = { type: "file", mediaType: "image/png", data: { base64: "AAAA" } };
  const draw = tool({
    name: "draw",
    description: "Draws.",
    input: jsonSchema<object>({ type: "object" }),
    execute: async (_args, ctx) => {
      await ctx.spawn("true", [], { cwd: text, maxOutputBytes: count }).exit;
      return content(["A map:", picture]);
    },
  });
  const model = scriptedModel("hello", { id: text, delayMs: count });
  const painter = agent({
    name: "painter",
    model,
    tools: [draw],
    permissions: { rules: undefined, default: undefined },
  });
  const runner = createRunner({ agent: painter, store });
  const run = await runner.start("thread", "Draw.", { id: text, agent: text });
  const { runId, segment } = await run.started;
  await reached(run, "text-delta");
  try {
    await runner.interrupt("thread", { runId, segment });
    await (await runner.resume("thread", { input: text })).result;
  } catch (error) {
    if (isBelayError(error) && error.code === "STALE") return error.hint;
    throw error;
  }
  const { items } = await runner.journal("thread", { after: count, limit: count });
  for await (const event of runner.events("thread", { after: items.at(-1)?.seq, signal }))
    if (event.type === "gap") break;
  const state: string | undefined = (await runner.look("thread"))?.state;
  return state ?? describe(painter).model;
}
