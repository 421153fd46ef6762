// Threads as readers see them: lists, looks, messages, facts, events.

import { emptyThread, foldThread } from "@belay/client";
import type { Fact, Json, Look, Message, Part, ThreadFilter, ThreadItem } from "@belay/core";
import { type AnyRoute, type Call, type Outlet, route } from "../http/route.ts";
import { needRole } from "../login/login.ts";
import { ServerError } from "../problem.ts";
import { headOf } from "./head-of.ts";
import {
  anything,
  closed,
  count,
  effect,
  fact,
  flag,
  historyPoint,
  look,
  message,
  page,
  pauseType,
  rule,
  sessionState,
  text,
  threadRow,
  verdict,
  waiting,
} from "./schemas.ts";
import { AT_FACT, contentOf, sentEvent, sentMessage } from "./sent-value.ts";
import { changeFeed, threadFeed } from "./thread-feed.ts";
import { unknownThread } from "./unknown.ts";

const limit = (most: number) => ({ type: "integer", minimum: 1, maximum: most });

/** Returns the thread, or refuses an id that the tenant does not have. */
async function lookAt({ runner }: Call, threadId: string): Promise<Look> {
  const found = await runner.look(threadId);
  if (found === undefined) throw unknownThread(threadId);
  return found;
}

/** Returns the thread as a client may see it. */
export async function sentThread(call: Call, threadId: string): Promise<unknown> {
  return sentLook(await lookAt(call, threadId));
}

function sentLook({ waiting, ...rest }: Look): unknown {
  const sent = waiting.map((each) =>
    "messages" in each ? { ...each, messages: each.messages.map((m) => sentMessage(m, rest.threadId)) } : each,
  );
  return { ...rest, waiting: sent };
}

/** A row with the name of its owner, and without the inner side of its lease. */
function sentRow({ lease, rest: _rest, queued: _queued, answered: _answered, ...row }: ThreadItem): unknown {
  return { ...row, ...(lease && { owner: { name: lease.owner, until: lease.until } }) };
}

/** Yields all facts after a seq. */
async function* factsAfter({ runner }: Call, threadId: string, after: number): AsyncGenerator<Fact> {
  for (let from = after; ; ) {
    const { items, next } = await runner.journal(threadId, { after: from, limit: 1000 });
    yield* items;
    if (next === undefined) return;
    from = next;
  }
}

/** Returns the messages as every page shows them: by the one fold. */
async function messagesOf(call: Call, threadId: string): Promise<readonly Message[]> {
  let view = emptyThread;
  for await (const each of factsAfter(call, threadId, 0)) view = foldThread(view, each);
  return view.messages.map((each) => sentMessage(each, threadId));
}

interface ListQuery extends Omit<ThreadFilter, "label"> {
  readonly label?: string;
}

function readLabels(given: string | undefined): Readonly<Record<string, string>> | undefined {
  if (given === undefined) return undefined;
  return Object.fromEntries(
    given.split(",").map((pair) => {
      const at = pair.indexOf(":");
      if (at < 1) throw new ServerError("BODY_INVALID", `label is ${JSON.stringify(pair)}; it is written key:value.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

export const reading: readonly AnyRoute[] = [
  route<undefined, ListQuery>({
    method: "GET",
    path: "/threads",
    name: "listThreads",
    summary: "Lists threads, last changed first.",
    role: "viewer",
    query: { state: sessionState, pauseType, agent: text, label: text, search: text, limit: limit(200), cursor: text },
    answers: { 200: page(threadRow) },
    async handle({ runner, query, login, site }) {
      if (query.search !== undefined && site.redacts) needRole(login, "admin");
      const label = readLabels(query.label);
      const { items, next } = await runner.threads({ ...query, label, limit: query.limit ?? 50 });
      return { status: 200, body: { items: items.map(sentRow), ...(next !== undefined && { next }) } };
    },
  }),
  route({
    method: "GET",
    path: "/threads/:t",
    name: "getThread",
    summary: "Returns a thread as the store has it. The ETag is its head.",
    role: "viewer",
    answers: { 200: look, 304: null },
    async handle(call) {
      const found = await lookAt(call, call.params.t!);
      const etag = `"${found.head}-${found.state}-${found.waiting.length}"`;
      const same = call.request.headers.get("if-none-match") === etag;
      return same ? { status: 304, headers: { etag } } : { status: 200, body: sentLook(found), headers: { etag } };
    },
  }),
  route<undefined, { before?: string; limit?: number }>({
    method: "GET",
    path: "/threads/:t/messages",
    name: "listMessages",
    summary:
      "Returns the last messages of the root agent, the oldest of them first; `next` is the `before` of the page before.",
    role: "viewer",
    query: { before: text, limit: limit(1000) },
    answers: { 200: page(message) },
    async handle(call) {
      const { before, limit: most = 100 } = call.query;
      const threadId = call.params.t!;
      const all = await messagesOf(call as Call, threadId);
      const end = before === undefined ? all.length : all.findIndex(({ id }) => id === before);
      if (end < 0) throw new ServerError("BODY_INVALID", `before is ${before}, and the thread has no such message.`);
      const from = Math.max(0, end - most);
      const next = from > 0 ? { next: all[from]!.id } : {};
      return { status: 200, body: { items: all.slice(from, end), ...next } };
    },
  }),
  route<undefined, { after?: number; before?: number; limit?: number }>({
    method: "GET",
    path: "/threads/:t/facts",
    name: "listFacts",
    summary:
      "Returns facts in order, after a seq or before one. With `accept: application/x-ndjson` it streams all of them.",
    role: "viewer",
    query: { after: count, before: count, limit: limit(1000) },
    answers: { 200: page(fact, { head: count }) },
    async handle(call) {
      const { runner, params, query, request, login, site } = call;
      const threadId = params.t!;
      const sent = (each: Fact) => site.redact(sentEvent(each, threadId, true), login);
      if (request.headers.get("accept")?.includes("application/x-ndjson")) {
        await headOf(call as Call, threadId);
        return exported(factsAfter(call as Call, threadId, query.after ?? 0), sent);
      }
      const most = query.limit ?? 200;
      const from = query.before === undefined ? (query.after ?? 0) : Math.max(0, query.before - 1 - most);
      const { items, head, next } = await runner.journal(threadId, { after: from, limit: most });
      const wanted = query.before === undefined ? items : items.filter(({ seq }) => seq < query.before!);
      const more = query.before === undefined && next !== undefined ? { next: String(next) } : {};
      return { status: 200, body: { items: wanted.map(sent), head, ...more } };
    },
  }),
  route<undefined, { after?: number; tail?: number; drafts?: boolean; changes?: boolean }>({
    method: "GET",
    path: "/threads/:t/events",
    name: "followThread",
    summary:
      "Streams facts from a cursor on, then what happens. `last-event-id` wins over `after`, `after` over `tail`.",
    role: "viewer",
    query: { after: count, tail: count, drafts: flag, changes: flag },
    answers: { 200: null },
    streams: "text/event-stream",
    async handle(call) {
      const { params, query, request, site } = call;
      const threadId = params.t!;
      const head = await headOf(call as Call, threadId);
      const cursor = readCursor(request.headers.get("last-event-id")) ?? query.after;
      const tail = query.tail === undefined ? 0 : Math.max(0, head - query.tail);
      const reset = cursor !== undefined && cursor > head;
      const after = cursor === undefined || reset ? tail : cursor;
      const feed = { threadId, after, head, reset, drafts: query.drafts ?? true };
      return site.stream(call as Call, {
        headers: { "x-belay-head": String(head) },
        feeds: [
          (outlet) => threadFeed(call as Call, feed, outlet),
          ...(query.changes ? [(outlet: Outlet) => changeFeed(call as Call, outlet)] : []),
        ],
      });
    },
  }),
  route({
    method: "GET",
    path: "/changes",
    name: "followChanges",
    summary: "Streams hints over all threads. `sync` means: read your lists again.",
    role: "viewer",
    answers: { 200: null },
    streams: "text/event-stream",
    async handle(call) {
      return call.site.stream(call, { feeds: [(outlet) => changeFeed(call, outlet)] });
    },
  }),
  route({
    method: "GET",
    path: "/threads/:t/history",
    name: "getHistory",
    summary: "Returns the points to which a fork can go back.",
    role: "viewer",
    answers: { 200: page(historyPoint) },
    async handle({ runner, params }) {
      return { status: 200, body: { items: await runner.history(params.t!) } };
    },
  }),
  route<undefined, { after: number }>({
    method: "GET",
    path: "/threads/:t/effects",
    name: "listEffects",
    summary: "Returns the effects after a seq: a fork at that seq does not undo them.",
    role: "viewer",
    query: { after: { ...count, required: true } },
    answers: { 200: page(effect) },
    async handle({ runner, params, query }) {
      return { status: 200, body: { items: await runner.effects(params.t!, { after: query.after }) } };
    },
  }),
  route<undefined, { to?: string }>({
    method: "GET",
    path: "/threads/:t/checkpoint",
    name: "getCheckpoint",
    summary: "Returns the position of a graph; null if there is none.",
    role: "viewer",
    query: { to: text },
    answers: { 200: { type: ["object", "null"] } },
    async handle({ runner, params, query }) {
      return { status: 200, body: (await runner.checkpoint(params.t!, query)) ?? null };
    },
  }),
  route({
    method: "GET",
    path: "/threads/:t/waiting",
    name: "listWaiting",
    summary: "Returns steers, inputs and late results that the thread has not read yet.",
    role: "viewer",
    answers: { 200: page(waiting) },
    async handle(call) {
      const { waiting: items } = (await sentThread(call, call.params.t!)) as Look;
      return { status: 200, body: { items } };
    },
  }),
  route({
    method: "GET",
    path: "/threads/:t/files/:message/:part",
    name: "getFile",
    summary: "Returns the bytes of a file in a message, or in the result at the fact `@seq`.",
    role: "viewer",
    answers: { 200: null },
    streams: "*/*",
    async handle(call) {
      const { params, site, login } = call;
      const index = /^\d{1,4}$/.test(params.part!) ? Number(params.part) : -1;
      await headOf(call, params.t!);
      for await (const each of factsWithFile(call, params.t!, params.message!)) {
        const part = partsOf(site.redact(each, login))?.[index];
        if (part?.type === "file" && "base64" in part.data) return fileResponse(part, part.data.base64);
      }
      throw new ServerError("FILE_UNKNOWN", `Message ${params.message} has no file at ${params.part}.`);
    },
  }),
  route<{ tool: string; args: never }>({
    method: "POST",
    path: "/threads/:t/permission",
    name: "askPermission",
    summary: "Returns the verdict of the rules about a call. Nothing runs.",
    role: "viewer",
    body: closed({ tool: text, args: anything }, ["tool", "args"]),
    answers: { 200: verdict },
    async handle({ runner, params, body }) {
      return { status: 200, body: await runner.permission(params.t!, body.tool, body.args) };
    },
  }),
  route({
    method: "GET",
    path: "/threads/:t/rules",
    name: "listThreadRules",
    summary: "Returns the rules that people's answers left in this thread.",
    role: "viewer",
    answers: { 200: page(rule) },
    async handle(call) {
      await headOf(call, call.params.t!);
      return { status: 200, body: { items: await call.runner.rules({ threadId: call.params.t! }) } };
    },
  }),
];

/** Yields the facts that may have the files of a message, or of the result at `@seq`. */
async function* factsWithFile(call: Call, threadId: string, place: string): AsyncGenerator<Fact> {
  if (/^@[1-9]\d{0,14}$/.test(place)) {
    const { items } = await call.runner.journal(threadId, { after: Number(place.slice(1)) - 1, limit: 1 });
    yield* items.filter(({ seq }) => `${AT_FACT}${seq}` === place);
  }
  for await (const each of factsAfter(call, threadId, 0)) {
    if (each.type === "message" && each.message.id === place) yield each;
  }
}

/** The parts of a message or of a result, as far as `redact` has left them. */
function partsOf(redacted: unknown): readonly Part[] | undefined {
  const { message, output = null } = (redacted ?? {}) as { readonly message?: Message; readonly output?: Json };
  return message?.parts ?? contentOf(output);
}

function readCursor(header: string | null): number | undefined {
  if (header === null || header === "") return undefined;
  if (/^\d{1,15}$/.test(header)) return Number(header);
  throw new ServerError("BODY_INVALID", `last-event-id is ${JSON.stringify(header)}; it is the id of a fact.`);
}

function exported(facts: AsyncGenerator<Fact>, sent: (each: Fact) => unknown): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await facts.next();
      if (done) return controller.close();
      const line = sent(value);
      if (line !== undefined) controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
    },
    async cancel() {
      await facts.return(undefined);
    },
  });
  return new Response(body, { headers: { "content-type": "application/x-ndjson", "cache-control": "no-store" } });
}

/** Shown in place only if it is a picture that cannot carry a program. */
const SAFE = /^(?:image\/(?:png|jpeg|gif|webp|avif)|text\/plain|audio\/[\w.-]+|video\/[\w.-]+)$/;

function fileResponse({ mediaType, name }: { mediaType: string; name?: string }, base64: string): Response {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const plain = mediaType.split(";")[0]!.trim().toLowerCase();
  const safe = SAFE.test(plain);
  const file = encodeURIComponent((name ?? "file").toWellFormed());
  return new Response(bytes, {
    headers: {
      "content-type": safe ? plain : "application/octet-stream",
      "content-disposition": `${safe ? "inline" : "attachment"}; filename*=UTF-8''${file}`,
      "content-security-policy": "default-src 'none'; sandbox",
      "cache-control": "private, max-age=31536000, immutable",
    },
  });
}
