import fc from "fast-check";
import { expect, it } from "vitest";
import type { ToolStartEvent } from "../event.ts";
import { historyProblems } from "../history-problems.ts";
import { addAnswer, addInput, closeCalls, endCall, holdCall, startCall } from "../journal/history.ts";
import { newScope, type Scope } from "../journal/state.ts";
import { isBlank, type Message, messageText, type Part } from "../message.ts";
import { promptProblems, scriptedModel } from "../testing/index.ts";
import { promptFor } from "./request.ts";

const startOf = (callId: string) => ({ callId, segment: 1 }) as ToolStartEvent;

const model = scriptedModel([]);
const cut = { by: "user", at: 1 };
const text = (value: string): Part => ({ type: "text", text: value });

const input = (value: string): Message => ({
  id: `i-${value}`,
  role: "user",
  parts: [text(value)],
  at: 0,
  origin: "person",
});
const answer = (parts: readonly Part[], more: Partial<Message> = {}): Message => ({
  id: "a",
  role: "assistant",
  parts,
  at: 0,
  origin: "model",
  ...more,
});

/** One step in the life of a scope, as the kernel may take it; each looks at the state it meets. */
type Step = (scope: Scope, n: number) => void;

const words = fc.constantFrom("a", "b c", " x ", "\ud800", "é", "line\n");
const blanks = fc.constantFrom("", " ", "\n\t");
const signed = { name: "scripted", data: { signature: "s" } };
const part = fc.oneof(
  words.map(text),
  blanks.map(text),
  words.map((value): Part => ({ type: "reasoning", text: value })),
  words.map((value): Part => ({ type: "reasoning", text: value, provider: signed })),
  fc.constantFrom<Part>(
    { type: "file", mediaType: "image/png", data: { base64: "aGk=" } },
    { type: "call", id: "", tool: "t", args: { a: 1 } },
    { type: "call", id: "", tool: "t", args: "no object" },
  ),
);

const say = fc.tuple(fc.array(part, { minLength: 1, maxLength: 5 }), fc.boolean()).map(
  ([given, stopped]): Step =>
    (scope, n) => {
      if (scope.last === "calls" || scope.last === "answer") return;
      const parts = given.map((one, i) => (one.type === "call" ? { ...one, id: `c${n}_${i}` } : one));
      const counts = parts.some((one) => one.type === "call" || (one.type === "text" && !isBlank(one.text)));
      const continues = scope.last === "cut" ? { continues: scope.messages.at(-1)!.id } : {};
      const interrupted = stopped && counts ? { interrupted: cut } : {};
      addAnswer(scope, answer(parts, { id: `a${n}`, ...continues, ...interrupted }), scope.turn + 1);
    },
);

const hear = words.map(
  (value): Step =>
    (scope, n) =>
      addInput(scope, { ...input(value), id: `i${n}` }),
);
const close = fc.constantFrom("synthetic" as const, "drop" as const).map(
  (repair): Step =>
    (scope) =>
      closeCalls(scope, repair),
);
const act = fc.tuple(fc.nat(4), fc.constantFrom("start", "hold", "ok", "error", "interrupted", "unknown")).map(
  ([index, what]): Step =>
    (scope) => {
      const open = scope.calls[index];
      if (open === undefined || open.status === "ended") return;
      if (what === "start") startCall(scope, startOf(open.part.id));
      else if (what === "hold") holdCall(scope, open.part.id, "not-executed");
      else endCall(scope, open.part.id, what as "ok", what === "interrupted" ? ["half"] : "out \udc00");
    },
);

it("H1, X1: after any interleaving the prompt is valid for every provider, complete, and never rewritten", () => {
  const steps = fc.array(fc.oneof(say, hear, act, act, close), { maxLength: 25 });
  fc.assert(
    fc.property(steps, (plan) => {
      const scope = newScope("helper");
      addInput(scope, input("hello"));
      let before: readonly Message[] = [];
      for (const [n, step] of plan.entries()) {
        step(scope, n);
        expect(historyProblems(scope.prompt)).toEqual([]);
        const kept = scope.last === "cut" ? before.slice(0, -1) : before;
        const same = kept.filter((message, i) => scope.prompt[i] === message).length;
        expect(same).toBeGreaterThanOrEqual(kept.length - 1);
        before = scope.prompt.slice();
        if (scope.last === "calls" || scope.last === "answer") continue;
        expect(
          promptProblems(
            promptFor(scope, {
              name: "helper",
              model,
              instructions: undefined,
              instruct: undefined,
              context: undefined,
            }),
          ),
        ).toEqual([]);
        const said = (messages: readonly Message[]) => messages.filter((m) => m.role === "user").map((m) => m.id);
        expect(said(scope.prompt)).toEqual(said(scope.messages));
      }
      closeCalls(scope, "synthetic");
      addInput(scope, input("end"));
      expect(
        promptProblems(
          promptFor(scope, { name: "helper", model, instructions: undefined, instruct: undefined, context: undefined }),
        ),
      ).toEqual([]);
      const visible = scope.messages.filter((m) => m.role === "assistant" && !isBlank(messageText(m)));
      const shown = scope.prompt.filter((m) => m.role === "assistant");
      for (const message of visible) expect(shown.some((m) => m.id === message.id)).toBe(true);
    }),
    { numRuns: 1000 },
  );
});
