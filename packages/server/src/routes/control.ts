// Verbs on a thread. A 202 is sent only after the command is on record. The file is one piece: a table, a row for each verb.

import {
  type Answer,
  BelayError,
  type Input,
  type InterruptOptions,
  type Message,
  type ResumeOptions,
  type Run,
  type RunResult,
} from "@belay/core";
import { type AnyRoute, type Call, type Reply, route } from "../http/route.ts";
import { needRole } from "../login/login.ts";
import { ServerError } from "../problem.ts";
import { checkAnswers, checkSentAnswer, type Said } from "./four-eyes.ts";
import { headOf } from "./head-of.ts";
import { sentThread } from "./reading.ts";
import {
  answer,
  anyObject,
  anything,
  closed,
  count,
  effect,
  flag,
  guard,
  id,
  input,
  list,
  look,
  lost,
  oneOf,
  receipt,
  result,
  sent,
  started,
  text,
} from "./schemas.ts";

/** Only this run, only this segment of it. */
interface Guard {
  readonly runId?: string;
  readonly segment?: number;
}

const DEFAULT_STOP_WAIT_MS = 30_000;

/** The idempotency key and the login, as every verb of the kernel takes them. */
function caller({ id, login }: Call<unknown, unknown>) {
  return { ...(id !== undefined && { id }), by: login.user };
}

/** Of a command that may answer requests: the groups of the login count. */
function answerer(call: Call<unknown, unknown>) {
  return { ...caller(call), groups: call.login.groups };
}

/** Resolves to undefined if the time is over first. */
async function within<T>(ms: number | undefined, promise: Promise<T>): Promise<T | undefined> {
  if (ms === undefined) return undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, ms, undefined)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** A result without its handle: tokens never leave the server. */
export function sentResult(result: RunResult): unknown {
  if (result.status !== "interrupted") return result;
  const { handle: _, ...rest } = result;
  return rest;
}

async function begun(run: Run<unknown>, waitMs: number | undefined): Promise<Reply> {
  const place = await run.started;
  const ended = await within(waitMs, run.result);
  return ended === undefined ? { status: 202, body: place } : { status: 200, body: sentResult(ended) };
}

/** Several texts or messages become one: an observed message is one fact. */
function oneMessage(input: Input): Pick<Message, "parts"> {
  const all = typeof input === "string" ? [input] : input;
  return { parts: all.flatMap((each) => (typeof each === "string" ? [{ type: "text", text: each }] : each.parts)) };
}

type Verb = "steer" | "enqueue" | "observe";

function sending(verb: Verb, summary: string): AnyRoute {
  return route<{ input: Input }>({
    method: "POST",
    path: `/threads/:t/${verb}`,
    name: verb,
    summary,
    role: "operator",
    body: closed({ input }, ["input"]),
    answers: { 202: sent },
    async handle(call) {
      await headOf(call as Call, call.params.t!);
      const { runner, params, body } = call;
      const { id: key } =
        verb === "observe"
          ? await runner.observe(params.t!, oneMessage(body.input), caller(call))
          : await runner[verb](params.t!, body.input, caller(call));
      return { status: 202, body: { id: key ?? call.id ?? call.site.newId() } };
    },
  });
}

interface CreateBody {
  readonly threadId?: string;
  readonly agent?: string;
  readonly title?: string;
  readonly labels?: Record<string, string>;
  readonly input?: Input;
}

export const control: readonly AnyRoute[] = [
  route<CreateBody>({
    method: "POST",
    path: "/threads",
    name: "createThread",
    summary: "Creates a thread by its first input. Without `threadId` the idempotency key names it.",
    role: "operator",
    body: closed({
      threadId: id,
      agent: text,
      title: text,
      labels: { type: "object", additionalProperties: text },
      input,
    }),
    answers: { 201: closed({ thread: look, run: started }, ["thread"]) },
    async handle(call) {
      const { runner, body, site } = call;
      const threadId = body.threadId ?? call.id ?? site.newId();
      const { agent, title, labels } = body;
      const known = await runner.look(threadId);
      if (known !== undefined && !(await isFirst(call as Call, threadId))) throw threadExists(threadId);
      if (body.input === undefined) {
        if (title !== undefined || labels !== undefined) {
          throw new ServerError(
            "BODY_INVALID",
            "A thread is on record from its first input on: send `input` with labels.",
          );
        }
        return { status: 201, body: { thread: known ?? created(call as Call, threadId, agent) } };
      }
      const run = await runner.start(threadId, body.input, { ...caller(call), ...(agent !== undefined && { agent }) });
      const place = await run.started;
      if (title !== undefined || labels !== undefined) {
        await runner.label(
          threadId,
          { ...(title !== undefined && { title }), ...(labels && { labels }) },
          caller(call),
        );
      }
      return { status: 201, body: { thread: await sentThread(call as Call, threadId), run: place } };
    },
  }),
  route<{ title?: string | null; labels?: Record<string, string | null> }>({
    method: "PATCH",
    path: "/threads/:t",
    name: "labelThread",
    summary: "Changes title and labels; null removes.",
    role: "operator",
    body: closed({
      title: { type: ["string", "null"] },
      labels: { type: "object", additionalProperties: { type: ["string", "null"] } },
    }),
    answers: { 200: look },
    async handle(call) {
      await headOf(call as Call, call.params.t!);
      await call.runner.label(call.params.t!, call.body, caller(call));
      return { status: 200, body: await sentThread(call as Call, call.params.t!) };
    },
  }),
  route({
    method: "DELETE",
    path: "/threads/:t",
    name: "deleteThread",
    summary: "Removes a thread and its past. A running thread is refused.",
    role: "admin",
    answers: { 204: null },
    async handle(call) {
      await headOf(call, call.params.t!);
      await call.runner.delete(call.params.t!);
      return { status: 204 };
    },
  }),
  route<{ input: Input; agent?: string; whenAsked?: "withdraw" | "keep" | "answer" }>({
    method: "POST",
    path: "/threads/:t/send",
    name: "send",
    summary:
      "The chat box: runs, resumes, steers or answers, as the thread's state asks for. `whenAsked: answer` needs the role approver.",
    role: "operator",
    body: closed(
      {
        input,
        agent: text,
        whenRunning: oneOf("steer", "enqueue", "interrupt"),
        whenAsked: oneOf("withdraw", "keep", "answer"),
      },
      ["input"],
    ),
    answers: { 202: { ...sent, title: "SendOutcome", properties: { id: text, how: text, runId: text } } },
    async handle(call) {
      const { input: said, ...options } = call.body;
      await checkSentAnswer(call as Call, options.whenAsked);
      const outcome = await call.runner.send(call.params.t!, said, { ...options, ...answerer(call) });
      return { status: 202, body: outcome };
    },
  }),
  route<{ input: Input; agent?: string }>({
    method: "POST",
    path: "/threads/:t/runs",
    name: "run",
    summary: "Starts a run. With `prefer: wait=30` it answers with the result if the run ends in time.",
    role: "operator",
    body: closed({ input, agent: text }, ["input"]),
    answers: { 202: started, 200: result },
    async handle(call) {
      const { input: said, agent } = call.body;
      const run = await call.runner.start(call.params.t!, said, {
        ...caller(call),
        ...(agent !== undefined && { agent }),
      });
      return begun(run, call.waitMs);
    },
  }),
  route<Omit<ResumeOptions, "drift"> & Guard & { drift?: "warn" | "refuse"; answers?: Record<string, Said> }>({
    method: "POST",
    path: "/threads/:t/resume",
    name: "resume",
    summary: "Continues after a pause or an error. Answers need the role approver.",
    role: "operator",
    body: closed({
      mode: oneOf("continue", "rethink"),
      input,
      answers: { type: "object", additionalProperties: answer },
      state: anyObject,
      to: text,
      drift: oneOf("warn", "refuse"),
      ...guard,
    }),
    bodyOptional: true,
    answers: { 202: started, 200: result },
    async handle(call) {
      const threadId = call.params.t!;
      await headOf(call as Call, threadId);
      const { answers, ...options } = call.body ?? {};
      if (answers !== undefined) {
        needRole(call.login, "approver");
        await checkAnswers(call as Call, answers);
      }
      const given =
        answers && Object.fromEntries(Object.entries(answers).map(([key, said]) => [key, signed(call, said)]));
      const run = await call.runner.resume(threadId, {
        ...options,
        ...(given && { answers: given }),
        ...answerer(call),
      });
      return begun(run, call.waitMs);
    },
  }),
  route<InterruptOptions>({
    method: "POST",
    path: "/threads/:t/interrupt",
    name: "interrupt",
    summary:
      "Stops the run and returns the receipt. If that takes longer than `prefer: wait`, repeat with the same key.",
    role: "operator",
    body: closed({
      ...guard,
      mode: oneOf("now", "after-model", "after-tools"),
      timeoutMs: count,
      graceMs: count,
      force: flag,
      reason: text,
      message: text,
      rollbackPartial: flag,
      requests: oneOf("withdraw", "keep"),
    }),
    bodyOptional: true,
    answers: { 200: receipt, 202: sent },
    async handle(call) {
      await headOf(call as Call, call.params.t!);
      const key = call.id ?? call.site.newId();
      const stopping = call.runner.interrupt(call.params.t!, { ...call.body, id: key, by: call.login.user });
      // A failure after the answer was sent is in the thread's facts.
      stopping.catch(() => {});
      const stopped = await within(call.waitMs ?? DEFAULT_STOP_WAIT_MS, stopping);
      return stopped === undefined ? { status: 202, body: { id: key } } : { status: 200, body: stopped };
    },
  }),
  route<Guard>({
    method: "POST",
    path: "/threads/:t/pause",
    name: "pause",
    summary: "Parks the run at its next step boundary. Nothing is aborted.",
    role: "operator",
    body: closed(guard),
    bodyOptional: true,
    answers: { 200: receipt, 202: sent },
    async handle(call) {
      await headOf(call as Call, call.params.t!);
      const parking = call.runner.pause(call.params.t!, { ...call.body, ...caller(call) });
      parking.catch(() => {});
      const parked = await within(call.waitMs ?? DEFAULT_STOP_WAIT_MS, parking);
      return parked === undefined
        ? { status: 202, body: { id: call.id ?? call.site.newId() } }
        : { status: 200, body: parked };
    },
  }),
  route<Guard & { force?: boolean }>({
    method: "POST",
    path: "/threads/:t/terminate",
    name: "terminate",
    summary: "Stops the thread for good.",
    role: "admin",
    body: closed({ ...guard, force: flag }),
    bodyOptional: true,
    answers: { 200: look },
    async handle(call) {
      await headOf(call as Call, call.params.t!);
      await call.runner.terminate(call.params.t!, { ...call.body, ...caller(call) });
      return { status: 200, body: await sentThread(call as Call, call.params.t!) };
    },
  }),
  sending("steer", "Adds input before the next model call. Nothing is stopped."),
  sending("enqueue", "Queues input for the next run."),
  sending("observe", "Adds a message to the history that the agent does not answer."),
  route({
    method: "DELETE",
    path: "/threads/:t/waiting/:id",
    name: "withdraw",
    summary: "Takes back a steer or an input that the thread has not read yet.",
    role: "operator",
    answers: { 204: null },
    async handle(call) {
      await headOf(call, call.params.t!);
      if (await call.runner.withdraw(call.params.t!, call.params.id!)) return { status: 204 };
      throw new ServerError("INPUT_CONSUMED", `Thread ${call.params.t} has no waiting input ${call.params.id}.`);
    },
  }),
  route<{ at?: number | string; before?: string; as?: string }>({
    method: "POST",
    path: "/threads/:t/fork",
    name: "fork",
    summary: "Makes a new thread with the past up to a point, and lists the effects that this does not undo.",
    role: "operator",
    body: closed({ at: { type: ["integer", "string"] }, before: text, as: id }),
    answers: { 201: closed({ threadId: text, effects: list(effect) }, ["threadId", "effects"]) },
    async handle(call) {
      const { runner, params, body } = call;
      const as = body.as ?? call.id;
      const options = { ...body, ...(as !== undefined && { as }) } as Parameters<typeof runner.fork>[1];
      // The same request again: the fork exists, and was made of this thread.
      const point = call.id === undefined || as === undefined ? undefined : await forkPoint(runner, as, params.t!);
      if (point !== undefined) {
        return { status: 201, body: { threadId: as, effects: await runner.effects(params.t!, { after: point }) } };
      }
      const { session, effects } = await runner.fork(params.t!, options);
      return { status: 201, body: { threadId: session.threadId, effects } };
    },
  }),
  route<{ as?: string }>({
    method: "POST",
    path: "/threads/:t/repair",
    name: "repair",
    summary: "Makes a new thread of the readable part of a damaged one.",
    role: "admin",
    body: closed({ as: id }),
    bodyOptional: true,
    answers: { 201: closed({ threadId: text, lost }, ["threadId", "lost"]) },
    async handle({ runner, params, body, id: key }) {
      const { session, lost } = await runner.repair(params.t!, { as: body?.as ?? key });
      const { code, message, hint } = lost.error;
      return { status: 201, body: { threadId: session.threadId, lost: { ...lost, error: { code, message, hint } } } };
    },
  }),
  route<{ node: string }>({
    method: "PUT",
    path: "/threads/:t/breakpoints",
    name: "setBreakpoint",
    summary: "Makes graphs of the thread stop at a node, or no longer.",
    role: "operator",
    body: closed({ node: text, graph: text, at: oneOf("before", "after"), stop: flag, when: anything }, ["node"]),
    answers: { 204: null },
    async handle(call) {
      await headOf(call as Call, call.params.t!);
      await call.runner.setBreakpoint(call.params.t!, { ...call.body, ...caller(call) });
      return { status: 204 };
    },
  }),
];

/** Returns the point at which a thread was forked from another one; undefined if it was not. */
async function forkPoint(runner: Call["runner"], threadId: string, parent: string): Promise<number | undefined> {
  const known = await runner.look(threadId);
  if (known?.parent?.threadId !== parent) return undefined;
  // The fork shares whole lines: the fact that names its point is among the first of its own.
  const { items } = await runner.journal(threadId, { after: known.parent.seq });
  return items.flatMap((fact) => (fact.type === "state" && fact.forked ? [fact.forked.seq] : []))[0];
}

/** True if the thread began with this very request, sent before. */
async function isFirst({ runner, id }: Call, threadId: string): Promise<boolean> {
  if (id === undefined) return false;
  const { items } = await runner.journal(threadId, { limit: 20 });
  return items.some((fact) => ("id" in fact && fact.id === id) || ("key" in fact && String(fact.key).endsWith(id)));
}

/** A thread that has a name and no input yet: nothing is stored before its first run. */
function created({ runner }: Call, threadId: string, agent = runner.agents()[0]) {
  if (agent === undefined || !runner.agents().includes(agent)) {
    const known = runner.agents().join(", ");
    throw new BelayError("AGENT_UNKNOWN", `This runner has no agent ${agent}; it has ${known}.`, "Name one of these.", {
      agent,
      known,
    });
  }
  const at = Date.now();
  const usage = { inputTokens: 0, outputTokens: 0 };
  const rest = { labels: {}, values: {}, interrupts: [], waiting: [], usage, createdAt: at, updatedAt: at };
  return { threadId, state: "created", agent, head: 0, ...rest };
}

function threadExists(threadId: string): BelayError {
  const hint = "Leave `threadId` out, or post to /threads/:t/runs.";
  return new BelayError("THREAD_EXISTS", `There is a thread ${threadId} already.`, hint, { threadId });
}

/** The answer as the kernel takes it: `by` is the login's. */
export function signed<Said extends object>({ login }: Call<unknown, unknown>, said: Said): Answer {
  const { digest: _, ...given } = said as Said & { digest?: string };
  const { remember } = given as { readonly remember?: string | { readonly scope: string } };
  if (remember === "always" || (typeof remember === "object" && remember.scope === "always")) needRole(login, "admin");
  return { ...given, by: login.user } as unknown as Answer;
}
