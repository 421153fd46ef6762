// Requests to people, and their answers.

import type { BelayError, InboxFilter, Message } from "@belay/core";
import { type AnyRoute, type Call, route } from "../http/route.ts";
import { problemOf } from "../problem.ts";
import { signed } from "./control.ts";
import { type Said, sameDigest, unwitnessed } from "./four-eyes.ts";
import {
  answer,
  answers,
  anyObject,
  closed,
  count,
  damagedRequest,
  flag,
  inboxItem,
  list,
  message,
  oneOf,
  page,
  requestKind,
  text,
} from "./schemas.ts";
import { sentMessage } from "./sent-value.ts";
import { unknownRequest } from "./unknown.ts";

const LAST_MESSAGES = 6;
const MOST_COUNTED = 1000;

/** Gives an answer, and lets the run continue if nothing else is open. */
async function decide(call: Call, id: string, said: Said, key: string | undefined) {
  const given = signed(call, said);
  await unwitnessed(call, id);
  await sameDigest(call, id, said.digest);
  const found = await call.runner.request(id);
  if (found === undefined) throw unknownRequest(id);
  const { user: by, groups } = call.login;
  const { open } = await call.runner.answer(id, given, { id: key, by, groups });
  return { open, resumed: open === 0 && (await resumed(call, found.item.threadId)) };
}

/** The answer counts in any case; a run that another process has, or that needs more, continues without this server. */
async function resumed({ runner, login }: Call, threadId: string): Promise<boolean> {
  const look = await runner.look(threadId);
  if (look?.state !== "paused" || look.pauseType !== "tool_interrupt" || look.interrupts.length > 0) {
    return look?.state === "running" || look?.state === "completed";
  }
  try {
    await (await runner.resume(threadId, { by: login.user })).started;
    return true;
  } catch (error) {
    const { code } = error as Partial<BelayError>;
    return code === "ALREADY_RUNNING" || code === "TOKEN_SPENT" || code === "THREAD_BUSY" || code === "STALE";
  }
}

interface InboxParams extends Omit<InboxFilter, "by"> {
  /** Of open requests those that the person may answer, of decided ones those that they decided. */
  readonly mine?: boolean;
  readonly state?: "open" | "decided";
}

async function countOf({ runner, login }: Call): Promise<{ open: number; mine: number }> {
  const limit = MOST_COUNTED;
  const [all, mine] = await Promise.all([
    runner.inbox({ limit }),
    runner.inbox({ limit, by: login.user, groups: login.groups }),
  ]);
  return { open: all.items.length + all.damaged.length, mine: mine.items.length };
}

export const asking: readonly AnyRoute[] = [
  route<undefined, InboxParams>({
    method: "GET",
    path: "/inbox",
    name: "inbox",
    summary: "Lists open requests, the oldest first, or decided ones, last decided first.",
    role: "viewer",
    query: {
      kind: requestKind,
      tool: text,
      threadId: text,
      mine: flag,
      state: oneOf("open", "decided"),
      limit: { type: "integer", minimum: 1, maximum: 200 },
      cursor: text,
    },
    answers: {
      200: page(inboxItem, {
        damaged: list(damagedRequest),
        counts: closed({ open: count, mine: count }, ["open", "mine"]),
      }),
    },
    async handle(call) {
      const { runner, query, login } = call;
      const { mine, state, limit = 50, cursor, ...filter } = query;
      const counts = await countOf(call as Call);
      if (state === "decided") {
        const by = mine ? login.user : undefined;
        const page = await runner.requests({ ...filter, state, limit, cursor, by });
        return { status: 200, body: { ...page, counts } };
      }
      const open = await runner.inbox({
        ...filter,
        limit,
        cursor,
        ...(mine && { by: login.user, groups: login.groups }),
      });
      return { status: 200, body: { ...open, counts } };
    },
  }),
  route({
    method: "GET",
    path: "/requests/:id",
    name: "getRequest",
    summary: "Returns a request, open or decided, with the last messages before it.",
    role: "viewer",
    answers: {
      200: {
        type: "object",
        properties: { item: inboxItem, decided: anyObject, messages: list(message) },
        required: ["item", "messages"],
      },
    },
    async handle({ runner, params }) {
      const found = await runner.request(params.id!);
      if (found === undefined) throw unknownRequest(params.id!);
      const { threadId } = found.item;
      return { status: 200, body: { ...found, messages: await lastMessages(runner, threadId, params.id!) } };
    },
  }),
  route<Said>({
    method: "POST",
    path: "/requests/:id/answer",
    name: "answer",
    summary: "Answers a request. `by` is the login's.",
    role: "approver",
    body: answer,
    answers: { 200: closed({ open: count, resumed: flag }, ["open", "resumed"]) },
    async handle(call) {
      return { status: 200, body: await decide(call as Call, call.params.id!, call.body, call.id) };
    },
  }),
  route<{ answers: readonly (Said & { id: string })[] }>({
    method: "POST",
    path: "/requests/answers",
    name: "answerMany",
    summary: "Answers up to 100 requests. Each stands alone: one refusal stops no other.",
    role: "approver",
    body: answers,
    answers: { 200: closed({ results: list(anyObject) }, ["results"]) },
    async handle(call) {
      const results = [];
      for (const { id, ...said } of call.body.answers) {
        try {
          results.push({ id, ok: true, ...(await decide(call as Call, id, said as Said, call.id)) });
        } catch (error) {
          results.push({ id, problem: problemOf(error, call.site.newId()) });
        }
      }
      return { status: 200, body: { results } };
    },
  }),
];

/** The messages before the request was raised, the oldest first. */
async function lastMessages(runner: Call["runner"], threadId: string, request: string): Promise<Message[]> {
  const messages: Message[] = [];
  for (let after = 0; ; ) {
    const { items, next } = await runner.journal(threadId, { after, limit: 1000 });
    for (const fact of items) {
      if (fact.type === "message") messages.push(sentMessage(fact.message, threadId));
      if (fact.type === "action" && fact.action.interrupted?.id === request) return messages.slice(-LAST_MESSAGES);
    }
    if (next === undefined) return messages.slice(-LAST_MESSAGES);
    after = next;
  }
}
