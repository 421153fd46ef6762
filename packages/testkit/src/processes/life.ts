// A thread's life with everything in it: calls side by side and one alone, a steer, a queued question, text that
// streams, a call that needs approval and one that asks between two steps. People stop it in mid-text, after the model and
// in a tool that is deaf, is left behind and ends late; they press more than once each time. Requests are
// answered by another process. Its process, and each that answers, may be killed at any point; the next process resumes.

import { appendFileSync, closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import {
  agent,
  approve,
  createRunner,
  humanInput,
  type InterruptOptions,
  jsonSchema,
  type Model,
  type ModelEvent,
  type ModelRequest,
  messageText,
  respond,
  type Session,
  type Tool,
  tool,
} from "@belay/core";
import { isFact, onPoint, type ToolOptions } from "@belay/core/inside";
import { promptProblems } from "@belay/core/testing";
import { openStore } from "./open-store.ts";

export interface Life {
  /** The folder of the effects, and of the SQLite file if no other store is named. */
  readonly folder: string;
  readonly where?: string;
  readonly leaseTtlMs?: number;
  /** Dies at this point; 0 counts the points. */
  readonly killAt: number;
}

/** The inputs of people, each exactly once. */
export const saidByPeople = ["go", "be quick", "now the rest", "one more thing"] as const;
const [GO, STEER, REST, NEXT] = saidByPeople;

export const THREAD = "life";

/** A store far away on a busy machine takes its time; a life that gets no further has an end. */
const MOST_MS = 60_000;
const MOST_TRIES = 8;

/** Lives until all is said, or until it waits for people. */
export async function live(life: Life): Promise<void> {
  console.log((await lived(life)) ? "waits" : "ends");
}

/** Runs to the end. At each pause a new person answers, and a new person resumes: all in this process. */
export async function liveToTheEnd(life: Life): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    if (!(await lived(life))) return console.log("ends");
    await answerLife(life);
  }
  console.log("waits");
}

/** True if it waits for people. */
async function lived(life: Life): Promise<boolean> {
  let session: Session | undefined;
  const { passed, points, runner, close } = await begin(life, () => session);
  const off = onPoint((name, detail) => {
    passed(name);
    if (name === "model:event" && session !== undefined) stopInTheMiddle(session, detail, life.folder);
  });
  session = await runner.open(THREAD);
  const reading = new AbortController();
  void record(session, life.folder, reading.signal);
  await goOn(session);
  const waits = session.pauseType === "tool_interrupt";
  reading.abort();
  await runner.close();
  await close();
  off();
  console.log(`points ${points()}`);
  return waits;
}

/** Answers requests; the approved calls run in this process. */
export async function answerLife(life: Life): Promise<void> {
  const { passed, points, runner, close } = await begin(life, () => undefined);
  const off = onPoint(passed);
  for (const { id, kind } of (await runner.inbox()).items) {
    await runner.answer(id, kind === "approval" ? approve() : respond("the blue one"), { id: `answer-${id}` });
  }
  await runner.drain();
  await close();
  off();
  console.log(`points ${points()}`);
}

async function begin({ folder, killAt, where, leaseTtlMs }: Life, session: () => Session | undefined) {
  let points = 0;
  const passed = (name: string): void => {
    points += 1;
    if (points !== killAt) return;
    appendFileSync(join(folder, "death"), `${points} ${name}`);
    process.kill(process.pid, "SIGKILL");
  };
  const { store, close } = await openStore(where ?? join(folder, "threads.db"), passed);
  const runner = createRunner({ agent: helper(folder, session), store, ...(leaseTtlMs && { leaseTtlMs }) });
  return { passed, points: () => points, runner, close };
}

/** Runs, resumes and asks until both questions are answered, or people are asked for something. */
async function goOn(session: Session): Promise<void> {
  // A sender that is not sure of the delivery sends again, under the same id.
  const repeat = session.state !== "created";
  if (repeat && lastText(session) !== "answered") await session.steer(STEER, { id: "steer" });
  for (const began = Date.now(); Date.now() - began < MOST_MS && lastText(session) !== "answered"; ) {
    if (session.state === "created") await session.run(GO).result;
    else if (session.state === "completed") {
      await session.enqueue(NEXT, { id: "next" });
      await new Promise((resolve) => setTimeout(resolve, 2));
    } else if (session.state === "paused") {
      if (session.pauseType === "tool_interrupt" && session.interrupts.length > 0) return;
      const stopped = session.pauseType === "user_interrupt" && !heard(session.messages, REST);
      await (stopped ? session.resume({ input: REST }) : session.resume()).result;
    } else await new Promise((resolve) => setTimeout(resolve, 2));
  }
  while (session.state === "running") await new Promise((resolve) => setTimeout(resolve, 1));
}

function stopInTheMiddle(session: Session, step: unknown, folder: string): void {
  const event = (step as { readonly value?: ModelEvent } | undefined)?.value;
  if (event?.type === "text" && event.text === " and then") void stop(session, folder, { reason: "direction_change" });
  if (event?.type === "call" && event.tool === "sign") void stop(session, folder, { mode: "after-model" });
}

/** Presses twice, and once more when the receipt says that the work has stopped. The receipts are left in a file. */
async function stop(session: Session, folder: string, options: InterruptOptions): Promise<void> {
  const told = await Promise.all([session.interrupt(options), session.interrupt(options)]);
  const { runId, segment } = told[0];
  told.push(await session.interrupt({ ...options, runId, segment }));
  for (const receipt of told)
    if (receipt.accepted) appendFileSync(join(folder, "receipts"), `${receipt.runId} ${receipt.segment}\n`);
}

function helper(folder: string, session: () => Session | undefined) {
  const name = "helper";
  return agent({ name, model: model(folder), tools: tools(folder, session) });
}

function model(folder: string): Model {
  return {
    id: "life",
    provider: "life",
    async *stream(request) {
      const problems = promptProblems(request.messages);
      // S5: a late result is reported once, in its place or as a note.
      if (JSON.stringify(request.messages).split(LATE).length > 2) problems.push("a late result is told twice");
      for (const problem of problems) appendFileSync(join(folder, "problems"), `${problem}\n`);
      for (const event of answer(request)) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        yield event;
      }
    },
  };
}

/** The next step, from the history alone: the same after a crash. */
function answer({ messages }: ModelRequest): ModelEvent[] {
  const results = messages.filter(({ role }) => role === "tool").length;
  const words = (...pieces: string[]) => pieces.map((text): ModelEvent => ({ type: "text", text }));
  const calls = (...tools: string[]) =>
    tools.map((tool, i): ModelEvent => ({ type: "call", id: `${tool}${results}${i}`, tool, args: {} }));
  const finish = (finish: "stop" | "tool-calls"): ModelEvent => ({
    type: "finish",
    finish,
    usage: { inputTokens: 1, outputTokens: 1 },
  });
  if (results === 0) return [...words("I look."), ...calls("pay", "look", "alone", "count"), finish("tool-calls")];
  if (heard(messages, NEXT)) return [...words("answer", "ed"), finish("stop")];
  if (heard(messages, REST)) {
    if (results > 2) return [...words("all ", "done"), finish("stop")];
    if (results > 1) return [...calls("linger"), finish("tool-calls")];
    return [...calls("pay", "sign", "look", "book"), finish("tool-calls")];
  }
  return [...words("First this", " and then", " that", "."), finish("stop")];
}

const LATE = "it has come late";

const anything = jsonSchema<object>({ type: "object" });

function tools(folder: string, session: () => Session | undefined): Tool<unknown>[] {
  const make = (name: string, more: Partial<ToolOptions<typeof anything, unknown>>) =>
    tool({
      onCrash: more.readOnly || more.repeatable ? "retry" : "fail",
      name,
      description: "",
      input: anything,
      execute: async (_, ctx) => {
        writeEffect(folder, { address: ctx.address, tool: name, pid: process.pid });
        const first = ctx.address.includes("t1");
        if (name === "pay" && first) await session()?.steer(STEER, { id: "steer" });
        if (name === "look" && first) await session()?.enqueue(NEXT, { id: "next" });
        await new Promise<void>((resolve) => setImmediate(resolve));
        return { done: name };
      },
      ...more,
    });
  const book = make("book", {
    async execute(_, ctx) {
      const step = (key: string) =>
        ctx.step(key, () =>
          writeEffect(folder, { address: `${ctx.address}/s:${key}`, tool: "book", pid: process.pid }),
        );
      await step("room");
      const which = await ctx.ask(humanInput("Which room?"));
      await step("key");
      return { booked: which };
    },
  });
  const linger = make("linger", {
    graceMs: 1,
    async execute(_, ctx) {
      writeEffect(folder, { address: ctx.address, tool: "linger", pid: process.pid });
      // It ends when people need not wait for it.
      const stopped = session();
      if (stopped !== undefined) await stop(stopped, folder, {});
      return LATE;
    },
  });
  return [
    book,
    linger,
    make("sign", { needsApproval: true }),
    make("pay", {}),
    make("look", { readOnly: true }),
    make("alone", { serial: true }),
    make("count", { repeatable: true }),
  ];
}

export interface EffectLine {
  readonly address: string;
  readonly tool: string;
  readonly pid: number;
}

function writeEffect(folder: string, effect: EffectLine): void {
  const file = openSync(join(folder, "effects"), "a");
  writeSync(file, `${JSON.stringify(effect)}\n`);
  fsyncSync(file);
  closeSync(file);
}

/** The facts that a reader saw, by seq. */
async function record(session: Session, folder: string, signal: AbortSignal): Promise<void> {
  for await (const event of session.events({ signal }))
    if (isFact(event)) appendFileSync(join(folder, `seen-${process.pid}`), `${event.seq} ${event.type}\n`);
}

function heard(messages: readonly { readonly parts: readonly { readonly type: string }[] }[], text: string): boolean {
  return messages.some(({ parts }) =>
    parts.some((part) => part.type === "text" && (part as { text?: string }).text === text),
  );
}

function lastText(session: Session): string {
  const last = session.messages.at(-1);
  return last === undefined ? "" : messageText(last);
}
