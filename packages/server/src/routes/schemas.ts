// The shapes that go in and out, as JSON Schema. The bodies are closed: a field that is not listed is refused.

import type { Schema } from "../http/route.ts";

export const text: Schema = { type: "string" };
export const count: Schema = { type: "integer", minimum: 0 };
export const flag: Schema = { type: "boolean" };
export const anything: Schema = {};
/** An object with any fields. */
export const anyObject: Schema = { type: "object", additionalProperties: {} };
const time: Schema = { type: "integer", description: "Milliseconds since 1970." };

/** A name that a path can hold: no control characters, no half of a character, and neither `.` nor `..`, which browsers take out of addresses. */
export const id: Schema = {
  type: "string",
  minLength: 1,
  maxLength: 200,
  pattern: "^(?!\\.{1,2}$)[^\\p{Cc}\\p{Cs}]*$",
};

export function oneOf(...values: readonly string[]): Schema {
  return { type: "string", enum: values };
}

/** An object that takes these fields and no other. */
export function closed(properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema {
  return { type: "object", properties, required, additionalProperties: false };
}

/** An object that has at least these fields. */
function open(title: string, properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema {
  return { title, type: "object", properties, required };
}

export function list(items: Schema): Schema {
  return { type: "array", items };
}

export function page(items: Schema, more: Readonly<Record<string, Schema>> = {}): Schema {
  return {
    type: "object",
    properties: { items: list(items), next: text, ...more },
    required: ["items", ...Object.keys(more)],
  };
}

export const sessionState = oneOf("created", "initialized", "running", "paused", "completed", "terminated", "error");
export const pauseType = oneOf("user_interrupt", "tool_interrupt", "node_interrupt", "manual", "crash");
export const requestKind = oneOf("approval", "input", "custom", "unknown");

const inputPart: Schema = {
  anyOf: [
    closed({ type: { const: "text" }, text }, ["type", "text"]),
    closed(
      {
        type: { const: "file" },
        mediaType: text,
        name: text,
        data: { anyOf: [closed({ base64: text }, ["base64"]), closed({ url: text }, ["url"])] },
      },
      ["type", "mediaType", "data"],
    ),
  ],
};

/** Text, several texts, or messages of a person. */
export const input: Schema = {
  title: "Input",
  anyOf: [text, list(text), list(closed({ id, role: { const: "user" }, parts: list(inputPart) }, ["parts"]))],
};

const remember: Schema = {
  anyOf: [oneOf("thread", "always"), closed({ scope: oneOf("thread", "always"), args: anyObject }, ["scope"])],
};

const approving = { type: { const: "approve" }, args: anything, note: text, remember, digest: text };
const rejecting = { type: { const: "reject" }, reason: text, digest: text };
const responding = { type: { const: "respond" }, value: anything, digest: text };

/** An answer, with more fields beside it. */
function answerWith(more: Readonly<Record<string, Schema>>): Schema {
  const needed = Object.keys(more);
  return {
    anyOf: [
      closed({ ...more, ...approving }, [...needed, "type"]),
      closed({ ...more, ...rejecting }, [...needed, "type", "reason"]),
      closed({ ...more, ...responding }, [...needed, "type", "value"]),
    ],
  };
}

export const answer: Schema = { title: "Answer", ...answerWith({}) };
export const answers: Schema = closed(
  { answers: { type: "array", items: answerWith({ id }), minItems: 1, maxItems: 100 } },
  ["answers"],
);

export const guard = { runId: text, segment: count };

export const problem = open(
  "Problem",
  { type: text, title: text, status: count, detail: text, code: text, hint: text, details: anything, requestId: text },
  ["type", "title", "status", "detail", "code", "hint", "details", "requestId"],
);

export const usage = open("Usage", { inputTokens: count, outputTokens: count }, ["inputTokens", "outputTokens"]);
export const fact = open("Fact", { seq: count, at: time, type: text, threadId: text, runId: text }, ["seq", "type"]);
export const message = open("Message", { id: text, role: text, parts: list(anyObject), at: time }, [
  "id",
  "role",
  "parts",
]);
export const interrupt = open("Interrupt", { id: text, kind: text, address: text, raisedAt: time, by: text }, [
  "id",
  "kind",
]);
export const waiting = open("Waiting", { id: text, kind: text, at: time }, ["id", "kind", "at"]);
const owner = open("Owner", { name: text, until: time }, ["name", "until"]);
const parent = open("Parent", { threadId: text, seq: count }, ["threadId", "seq"]);
const labels: Schema = { type: "object", additionalProperties: text };

export const threadRow = open(
  "ThreadRow",
  {
    threadId: text,
    agent: text,
    state: sessionState,
    pauseType,
    runId: text,
    title: text,
    labels,
    head: count,
    open: count,
    createdAt: time,
    updatedAt: time,
    parent,
    damaged: { const: true },
  },
  ["threadId", "agent", "state", "labels", "head", "open", "createdAt", "updatedAt"],
);

const driftReport = open(
  "DriftReport",
  {
    model: open("ModelDrift", { was: text, is: text }, []),
    instructions: { const: true },
    tools: open("ToolsDrift", { added: list(text), removed: list(text), changed: list(text) }, [
      "added",
      "removed",
      "changed",
    ]),
    shape: { const: true },
  },
  [],
);
export const look = open(
  "Thread",
  {
    threadId: text,
    state: sessionState,
    pauseType,
    runId: text,
    segment: count,
    agent: text,
    title: text,
    labels,
    head: count,
    interrupts: list(interrupt),
    interrupt,
    values: anyObject,
    waiting: list(waiting),
    usage,
    parent,
    lastDrift: open("LastDrift", { seq: count, at: time, report: driftReport }, ["seq", "at", "report"]),
    owner,
    createdAt: time,
    updatedAt: time,
  },
  ["threadId", "state", "agent", "labels", "head", "interrupts", "waiting", "usage", "createdAt", "updatedAt"],
);

export const inboxItem = open(
  "InboxItem",
  { id: text, kind: requestKind, threadId: text, runId: text, address: text, tool: text, args: anything, reason: text },
  ["id", "kind", "threadId", "runId"],
);
export const damagedRequest = open("DamagedRequest", { id: text, threadId: text }, ["id"]);
export const started = open("Started", { runId: text, segment: count, seq: count }, ["runId", "segment", "seq"]);
export const receipt = open(
  "Receipt",
  {
    accepted: flag,
    runId: text,
    segment: count,
    partialText: text,
    stopped: list(text),
    finished: list(text),
    notStarted: list(text),
    late: list(text),
  },
  ["accepted", "partialText", "stopped", "finished", "notStarted", "late"],
);
export const result = open("RunResult", { status: oneOf("completed", "interrupted", "failed", "terminated") }, [
  "status",
  "runId",
  "segment",
  "usage",
]);
export const effect = open(
  "Effect",
  {
    seq: count,
    at: time,
    address: text,
    callId: text,
    tool: text,
    args: anything,
    key: text,
    outcome: oneOf("ok", "error", "interrupted", "unknown"),
  },
  ["seq", "at", "address", "outcome"],
);
const pointKind = oneOf("input", "answer", "result", "step", "request", "decision", "stop", "end", "fork");
export const historyPoint = open(
  "HistoryPoint",
  { seq: count, at: time, kind: pointKind, text, id: text, path: text, runId: text },
  ["seq", "at", "kind", "text", "runId"],
);
const ruleSource = oneOf("thread", "always", "agent", "runner", "tool", "default", "unattended");
export const verdict = open(
  "Verdict",
  { effect: oneOf("allow", "ask", "deny"), rule: text, source: ruleSource, words: text },
  ["effect", "source", "words"],
);
export const rule = open("Rule", { id: text, tool: text, effect: oneOf("allow", "ask", "deny"), by: text, at: time }, [
  "id",
  "by",
  "at",
]);
export const agentDescription = open("Agent", { name: text, kind: text, model: text, children: list(anyObject) }, [
  "name",
  "kind",
]);
const failure = open("Failure", { code: text, message: text, hint: text }, ["code", "message"]);
export const lost = open("Lost", { from: count, facts: count, error: failure }, ["from", "error"]);
export const sent = open("Sent", { id: text }, ["id"]);
