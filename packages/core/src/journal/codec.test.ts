import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EventBase } from "../event.ts";
import type { BelayError, Fact, Message } from "../index.ts";
import { decode, encode, JOURNAL_VERSION, KEYS, type Line } from "./codec.ts";
import { fold } from "./fold.ts";
import { newThread } from "./state.ts";

const at = 1_700_000_000_000;
const threadId = "thread";

// Twice, because JSON knows no -0.
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)));
const text = fc.string({ unit: "grapheme" });
const provider = fc.record({ name: text, data: json });
const tokens = fc.nat();
const finish = fc.constantFrom("stop", "tool-calls", "length", "content-filter", "error", "other");
const usage = fc.oneof(
  fc.constant({ inputTokens: 10, outputTokens: 5 }),
  fc.record(
    {
      inputTokens: tokens,
      outputTokens: tokens,
      cachedInputTokens: tokens,
      reasoningTokens: tokens,
      totalTokens: tokens,
    },
    { requiredKeys: ["inputTokens", "outputTokens"] },
  ),
);
const outcome = fc.constantFrom("ok", "error", "rejected", "not-executed", "interrupted", "unknown");

const part = fc.oneof(
  fc.record({ type: fc.constant("text"), text, provider }, { requiredKeys: ["type", "text"] }),
  fc.record({ type: fc.constant("reasoning"), text, provider }, { requiredKeys: ["type", "text"] }),
  fc.record({ type: fc.constant("result"), id: text, tool: text, outcome, output: json }),
  fc.record({ type: fc.constant("opaque"), provider }),
);

const message = fc.record(
  {
    id: fc.constantFrom("run.i1.0", "run.i2.0", "run.i1.1", "run.1", "run.2", "run.agent/tool.1", "another"),
    role: fc.constantFrom("system", "user", "assistant", "tool"),
    parts: fc.array(part, { maxLength: 3 }),
    at: fc.constantFrom(at, at - 1),
    origin: fc.constantFrom("person", "model", "runtime", "hook"),
    interrupted: fc.record({ by: text, at: fc.nat(), reason: text }, { requiredKeys: ["by", "at"] }),
    continues: text,
    model: text,
    usage,
    finish,
  },
  { requiredKeys: ["id", "role", "parts", "at", "origin"] },
);

const interrupt = fc.record({
  id: text,
  kind: fc.constantFrom("user", "manual", "node"),
  address: text,
  raisedAt: fc.nat(),
  by: text,
});

const print = fc.record({ model: text, instructions: text, tools: fc.dictionary(text, text) }, { requiredKeys: [] });
const recorded = fc.record({ code: text, message: text, hint: text }, { requiredKeys: ["code", "message"] });
const answer = fc.oneof(
  fc.record({ type: fc.constant("approve"), args: json, note: text, by: text }, { requiredKeys: ["type"] }),
  fc.record({ type: fc.constant("reject"), reason: text }),
  fc.record({ type: fc.constant("respond"), value: json }),
  fc.record({ type: fc.constantFrom("expire", "withdraw") }),
);

const breakpoint = fc.record(
  { node: text, graph: text, at: fc.constantFrom("before", "after"), stop: fc.boolean(), when: json },
  { requiredKeys: ["node", "at", "stop"] },
);

const own = fc.oneof(
  fc.record({ type: fc.constant("run-start"), fingerprint: print }, { requiredKeys: ["type"] }),
  fc.record(
    { type: fc.constant("step"), callId: text, address: text, key: text, value: json },
    { requiredKeys: ["type", "address", "key", "value"] },
  ),
  fc.record({ type: fc.constant("step"), address: text, key: text, error: recorded }),
  fc.record(
    {
      type: fc.constant("request-answered"),
      id: text,
      by: text,
      answer,
      digest: text,
      open: fc.constant(true),
      refused: recorded,
      rule: fc.record({ id: text, tool: text, effect: fc.constant("allow"), by: text, at: fc.nat() }),
      remember: fc.constantFrom("thread", "always"),
      key: text,
      ref: text,
    },
    { requiredKeys: ["type", "id", "by", "answer"] },
  ),
  fc.record({ type: fc.constant("drift"), report: fc.record({ instructions: fc.constant(true) }), fingerprint: print }),
  fc.record({ type: fc.constant("rule-removed"), id: text, by: text }),
  fc.record({ type: fc.constant("breakpoint"), breakpoint }),
  fc.record(
    {
      type: fc.constant("label"),
      title: fc.option(text),
      labels: fc.dictionary(text, fc.option(text)),
      by: text,
    },
    { requiredKeys: ["type", "by"] },
  ),
  fc.record({
    type: fc.constant("tool-start"),
    callId: text,
    tool: text,
    address: text,
    args: fc.constant(null),
    ranArgs: json,
    rule: text,
  }),
  fc.record({ type: fc.constant("message"), turn: fc.nat({ max: 2 }), message }),
  fc.record({ type: fc.constant("tool-start"), callId: text, tool: text, address: text, args: fc.constant(null) }),
  fc.record(
    {
      type: fc.constant("tool-end"),
      callId: text,
      tool: text,
      address: text,
      outcome,
      output: json,
      held: fc.constant(true),
    },
    { requiredKeys: ["type", "callId", "tool", "address", "outcome", "output"] },
  ),
  fc.record({ type: fc.constant("action"), action: fc.record({ interrupted: interrupt }) }),
  fc.record(
    {
      type: fc.constant("state"),
      state: fc.constantFrom("initialized", "running", "paused", "completed", "error", "terminated"),
      pauseType: fc.constantFrom("user_interrupt", "manual"),
      interrupts: fc.array(interrupt, { maxLength: 2 }),
      tokenHash: text,
      tokenUntil: fc.nat(),
      stops: fc.array(text, { minLength: 1, maxLength: 2 }),
      missed: fc.array(fc.record({ id: text, runId: text, segment: fc.nat() }), { minLength: 1, maxLength: 2 }),
      id: text,
      edits: fc.record({ graph: fc.record({ key: json }) }),
      forked: fc.record({ threadId: text, seq: fc.nat() }),
      mode: fc.constantFrom("continue", "rethink"),
      repair: fc.constantFrom("synthetic", "drop"),
    },
    { requiredKeys: ["type", "state"] },
  ),
  fc.record(
    {
      type: fc.constant("run-end"),
      status: fc.constantFrom("completed", "failed", "terminated"),
      finish,
      usage,
      error: fc.record({ code: text, message: text }),
      patch: fc.record({ key: json }),
    },
    { requiredKeys: ["type", "status", "usage"] },
  ),
);

const place = fc.constantFrom(
  { agentName: "agent", runPath: "agent" },
  { agentName: "tool", runPath: "agent/tool" },
  { agentName: "agent", runPath: "agent/agent" },
);

const line = fc
  .record({
    segment: fc.integer({ min: 1, max: 2 }),
    facts: fc.array(fc.tuple(own, place, fc.integer({ min: 1, max: 2 })), { minLength: 1, maxLength: 5 }),
  })
  .map(({ segment, facts }) =>
    facts.map(([fact, { agentName, runPath }, attempt], i): Fact => {
      const base: EventBase = { seq: 7 + i, at, threadId, runId: "run", segment, attempt, agentName, runPath };
      return { ...base, ...fact } as unknown as Fact;
    }),
  );

function lineOf(body: string, count: number): Line {
  return { seq: 7, count, at, body };
}

const base: EventBase = {
  seq: 7,
  at,
  threadId,
  runId: "run",
  segment: 1,
  attempt: 1,
  agentName: "agent",
  runPath: "agent",
};

describe("a line of the journal", () => {
  test("gives back the facts it was made of", () => {
    fc.assert(
      fc.property(line, (facts) => {
        expect(decode(threadId, lineOf(encode(facts), facts.length))).toEqual(facts);
      }),
      { numRuns: 500 },
    );
  });

  test("gives a started call the arguments of its message, which are written once", () => {
    const call = { type: "call" as const, id: "c", tool: "add", args: { a: 1 } };
    const message: Message = { id: "run.1", role: "assistant", parts: [call], at, origin: "model" };
    const facts: Fact[] = [
      { ...base, type: "message", turn: 1, message },
      { ...base, seq: 8, type: "tool-start", callId: "c", tool: "add", address: "agent/t1/c0", args: { a: 1 } },
    ];
    const body = encode(facts);
    expect(body.split('{"a":1}')).toHaveLength(2);
    expect(decode(threadId, lineOf(body, 2))).toEqual(facts);
    expect(decode(threadId, lineOf(encode(facts.slice(1)), 1), () => ({ a: 1 }))).toEqual([{ ...facts[1], seq: 7 }]);
  });

  test("F5: facts of another thread, run or segment than the first are refused, with both places, not written as if they were of that one", () => {
    const started: Fact = { ...base, type: "run-start" };
    for (const other of [{ threadId: "other" }, { runId: "other" }, { segment: 2 }]) {
      const ends: Fact = { ...base, seq: 8, type: "state", state: "completed", ...other };
      const { threadId: thread, runId, segment } = ends;
      expect(() => encode([started, ends])).toThrow(
        `run-start of thread thread, run run, segment 1, and state of thread ${thread}, run ${runId}, segment ${segment}`,
      );
    }
  });

  test("C4: is refused when it is newer, or has anything unknown in it", () => {
    const body = (e: string, v = 1) => lineOf(`{"v":${v},"r":"run","n":"agent","e":[${e}]}`, 1);
    const code = (expected: string) => expect.objectContaining({ code: expected });
    expect(() => decode(threadId, body(`{"run":"start"}`, JOURNAL_VERSION + 1))).toThrow(code("JOURNAL_VERSION"));
    expect(() => decode(threadId, body('{"leap":"start"}'))).toThrow(code("JOURNAL_CORRUPT"));
    expect(() => decode(threadId, body('{"run":"start","how":"fast"}'))).toThrow(code("JOURNAL_CORRUPT"));
    expect(() => decode(threadId, body('"asleep"'))).toThrow(code("JOURNAL_CORRUPT"));
    expect(() => decode(threadId, body('{"state":"asleep","mode":"continue"}'))).toThrow(code("JOURNAL_CORRUPT"));
    expect(() => decode(threadId, body("null"))).toThrow(code("JOURNAL_CORRUPT"));
    expect(() => decode(threadId, body('{"x":2}'))).toThrow(code("JOURNAL_CORRUPT"));
    expect(() => decode(threadId, body('{"run":"start"},{"run":"start"}'))).toThrow(code("JOURNAL_CORRUPT"));
    expect(() => decode(threadId, lineOf("not JSON", 1))).toThrow(code("JOURNAL_CORRUPT"));
  });

  test("C4: is refused with an invalid place: a run, an agent, its path, a segment, an attempt", () => {
    const line = (head: object, fact: object = {}) =>
      lineOf(JSON.stringify({ v: 1, r: "run", n: "agent", ...head, e: [{ run: "start", ...fact }] }), 1);
    expect(decode(threadId, line({}))).toHaveLength(1);
    const heads = [
      { r: undefined },
      { r: 1 },
      { n: undefined },
      { n: null },
      { p: 3 },
      { p: null },
      { s: "2" },
      { s: 0 },
    ];
    const facts = [{ n: 1 }, { n: null }, { p: {} }, { x: "2" }, { x: 1.5 }];
    for (const damaged of [...heads.map((head) => line(head)), ...facts.map((fact) => line({}, fact))]) {
      const refused = expect.objectContaining({
        code: "JOURNAL_CORRUPT",
        details: expect.objectContaining({ threadId, seq: 7 }),
      });
      expect(() => decode(threadId, damaged), damaged.body).toThrow(refused);
    }
  });

  test("C4: that proves to be as it was written, and makes no sense, is JOURNAL_CORRUPT or JOURNAL_VERSION, naming thread and position, and nothing else", () => {
    fc.assert(
      fc.property(line, fc.infiniteStream(fc.nat()), json, (facts, chance, value) => {
        const body = JSON.stringify(damaged(JSON.parse(encode(facts)), chance, value));
        const state = newThread(threadId);
        state.head = 6;
        for (const read of [
          () => decode(threadId, lineOf(body, facts.length)),
          () => fold(state, [lineOf(body, facts.length)]),
        ]) {
          try {
            read();
          } catch (error) {
            const { code, details } = error as BelayError;
            expect([code, details?.threadId]).toEqual([expect.stringMatching(/^JOURNAL_(CORRUPT|VERSION)$/), threadId]);
            expect(details.seq).toBeGreaterThanOrEqual(7);
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

/** The same with one value in it, anywhere, gone or become `value`. */
function damaged(whole: unknown, chance: Iterator<number>, value: unknown): unknown {
  const next = () => chance.next().value as number;
  if (typeof whole !== "object" || whole === null || Object.keys(whole).length === 0 || next() % 8 === 0) return value;
  const keys = Object.keys(whole);
  const key = keys[next() % keys.length]!;
  const copy = (Array.isArray(whole) ? [...whole] : { ...whole }) as Record<string, unknown>;
  if (next() % 8 === 0) delete copy[key];
  else copy[key] = damaged(copy[key], chance, value);
  return copy;
}

// The golden files have lines as their version writes them, each followed by the facts that it was made of. They are never
// written again: they must always stay readable. A new kind of fact, or a new key, is added at the end of the newest file.
describe("golden lines", () => {
  const texts = ["v2", "v3", "v4"].flatMap((version) =>
    readFileSync(new URL(`golden/${version}.txt`, import.meta.url), "utf8")
      .trimEnd()
      .split("\n"),
  );
  const pairs = texts.flatMap((body, i) =>
    i % 2 === 0 ? [{ body, facts: JSON.parse(texts[i + 1]!) as readonly Fact[] }] : [],
  );
  /** The arguments of calls whose message is in another line. */
  const argsOf = (callId: string) => (callId === "c2" ? "not JSON" : null);

  test("C4: read as they did when they were written", () => {
    for (const { body, facts } of pairs) {
      const { seq, at } = facts[0]!;
      expect(decode(threadId, { seq, at, count: facts.length, body }, argsOf)).toEqual(facts);
    }
  });

  test("C4: are written as they were: programs of that version still read them", () => {
    for (const { body, facts } of pairs) expect(encode(facts)).toBe(body);
  });

  test("have every kind of fact in them, and every key that one can have", () => {
    const kinds: Record<Fact["type"], true> = {
      "run-start": true,
      message: true,
      "tool-start": true,
      "tool-end": true,
      "tool-late": true,
      "input-queued": true,
      "input-consumed": true,
      action: true,
      step: true,
      "request-answered": true,
      command: true,
      drift: true,
      "rule-removed": true,
      breakpoint: true,
      label: true,
      state: true,
      "run-end": true,
    };
    const facts = pairs.flatMap((pair) => pair.facts);
    expect([...new Set(facts.map(({ type }) => type))].sort()).toEqual(Object.keys(kinds).sort());
    const written = pairs.flatMap(({ body }) => (JSON.parse(body) as { e: (object | string)[] }).e);
    const keys = written.flatMap((fact) => (typeof fact === "string" ? [] : Object.keys(fact)));
    expect([...KEYS].filter((key) => !keys.includes(key))).toEqual([]);
  });
});
