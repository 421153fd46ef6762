import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message, Part, Role } from "./message.ts";
import { sanitizeMessages } from "./sanitize-messages.ts";
import { promptProblems } from "./testing/index.ts";

const message = (role: Role, ...parts: Part[]): Message => ({ id: "m", role, parts, at: 0, origin: "model" });
const text = (words: string): Part => ({ type: "text", text: words });
const call = (id: string): Part => ({ type: "call", id, tool: "read", args: {} });
const result = (id: string): Part => ({ type: "result", id, tool: "read", outcome: "ok", output: "done" });
const hi = message("user", text("hi"));
const bye = message("assistant", text("bye"));
const calls = (...ids: string[]) => message("assistant", ...ids.map(call));
const results = (...ids: string[]) => message("tool", ...ids.map(result));

describe("H3, Y7: sanitizeMessages", () => {
  it("Y7: an empty list stays empty", () => {
    expect(sanitizeMessages([])).toEqual({ messages: [], sanitized: false, removed: [] });
  });

  it.each<[string, Message[]]>([
    ["a conversation", [message("system", text("Be kind.")), hi, bye, hi]],
    ["a complete group", [hi, calls("a", "b"), results("b", "a"), bye]],
    ["a group whose results are in several tool messages", [hi, calls("a", "b"), results("a"), results("b"), bye]],
    ["text beside a call", [hi, message("assistant", text("Let me see."), call("a")), results("a")]],
    ["reasoning beside text", [hi, message("assistant", { type: "reasoning", text: "hm" }, text("a"))]],
    [
      "a file of the assistant",
      [hi, message("assistant", { type: "file", mediaType: "a/b", data: { url: "https://a" } })],
    ],
    ["an empty message of a person", [message("user", text(" ")), message("user")]],
  ])("Y7: a valid list is untouched: %s", (_, given) => {
    const { messages, sanitized, removed } = sanitizeMessages(given);
    expect({ sanitized, removed }).toEqual({ sanitized: false, removed: [] });
    expect(messages).toHaveLength(given.length);
    for (const [i, kept] of messages.entries()) expect(kept).toBe(given[i]);
  });

  it("Y7: an unanswered call drops its group, the complete groups before it are kept", () => {
    const given = [hi, calls("a"), results("a"), bye, hi, calls("b"), hi];
    expect(sanitizeMessages(given)).toEqual({
      messages: [hi, calls("a"), results("a"), bye, hi, hi],
      sanitized: true,
      removed: [{ index: 5, role: "assistant", reason: "unanswered-call" }],
    });
  });

  it("Y7: a partly answered group is dropped whole, its words included", () => {
    const asked = message("assistant", text("Let me see."), call("a"), call("b"));
    expect(sanitizeMessages([hi, asked, results("a"), bye])).toEqual({
      messages: [hi, bye],
      sanitized: true,
      removed: [
        { index: 1, role: "assistant", reason: "unanswered-call" },
        { index: 2, role: "tool", reason: "unanswered-call" },
      ],
    });
  });

  it("Y7: an orphan result is dropped", () => {
    expect(sanitizeMessages([results("x"), hi, results("y"), bye])).toEqual({
      messages: [hi, bye],
      sanitized: true,
      removed: [
        { index: 0, role: "tool", reason: "orphan-result" },
        { index: 2, role: "tool", reason: "orphan-result" },
      ],
    });
  });

  it("Y7: a result that does not directly follow its call is not a result: both go", () => {
    expect(sanitizeMessages([hi, calls("a"), hi, results("a"), bye])).toEqual({
      messages: [hi, hi, bye],
      sanitized: true,
      removed: [
        { index: 1, role: "assistant", reason: "unanswered-call" },
        { index: 3, role: "tool", reason: "orphan-result" },
      ],
    });
  });

  it("H3: a tool message that mixes orphan and good results keeps the good ones and reports the removed parts", () => {
    expect(sanitizeMessages([hi, calls("a", "b"), results("x", "a", "a", "b"), results("y")])).toEqual({
      messages: [hi, calls("a", "b"), results("a", "b")],
      sanitized: true,
      removed: [
        { index: 2, role: "tool", reason: "orphan-result", parts: [0, 2] },
        { index: 3, role: "tool", reason: "orphan-result" },
      ],
    });
  });

  it("H3: blank assistant messages go; a blank part goes from a message with other text", () => {
    const reasoning: Part = { type: "reasoning", text: "hm" };
    const given = [
      hi,
      message("assistant"),
      message("assistant", text(" \n"), text("")),
      message("assistant", reasoning),
      message("assistant", text(""), call("a")),
      results("a"),
    ];
    expect(sanitizeMessages(given)).toEqual({
      messages: [hi, calls("a"), results("a")],
      sanitized: true,
      removed: [
        { index: 1, role: "assistant", reason: "blank" },
        { index: 2, role: "assistant", reason: "blank" },
        { index: 3, role: "assistant", reason: "blank" },
        { index: 4, role: "assistant", reason: "blank", parts: [0] },
      ],
    });
  });

  it("H3: of two groups with one call id the first complete one stays", () => {
    const given = [
      hi,
      calls("a"),
      hi,
      calls("a"),
      results("a"),
      calls("b", "a"),
      results("a", "b"),
      calls("c", "c"),
      results("c"),
    ];
    expect(sanitizeMessages(given)).toEqual({
      messages: [hi, hi, calls("a"), results("a")],
      sanitized: true,
      removed: [
        { index: 1, role: "assistant", reason: "unanswered-call" },
        { index: 5, role: "assistant", reason: "duplicate-call-id" },
        { index: 6, role: "tool", reason: "duplicate-call-id" },
        { index: 7, role: "assistant", reason: "duplicate-call-id" },
        { index: 8, role: "tool", reason: "duplicate-call-id" },
      ],
    });
  });

  it("H3: calls and results in messages of the wrong role go", () => {
    const given = [
      message("user", call("a"), text("x")),
      message("user", result("a")),
      message("assistant", result("a"), text("y")),
      calls("b"),
      message("tool", result("b"), text("z")),
    ];
    expect(sanitizeMessages(given)).toEqual({
      messages: [message("user", text("x")), message("assistant", text("y")), calls("b"), results("b")],
      sanitized: true,
      removed: [
        { index: 0, role: "user", reason: "unanswered-call", parts: [0] },
        { index: 1, role: "user", reason: "orphan-result" },
        { index: 2, role: "assistant", reason: "orphan-result", parts: [0] },
        { index: 4, role: "tool", reason: "misplaced", parts: [1] },
      ],
    });
  });
});

const id = fc.constantFrom("a", "b", "c", "d");
const words = fc.constantFrom("", " ", "hello", "go on");
const anyPart: fc.Arbitrary<Part> = fc.oneof(words.map(text), id.map(call), id.map(result));
const anyMessage = fc.oneof(
  { weight: 3, arbitrary: fc.array(id, { minLength: 1, maxLength: 3 }).map((ids) => calls(...ids)) },
  { weight: 4, arbitrary: fc.array(id, { maxLength: 3 }).map((ids) => results(...ids)) },
  { weight: 1, arbitrary: fc.constant(hi) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom<Role>("user", "assistant", "tool"), fc.array(anyPart, { maxLength: 3 }))
      .map(([role, parts]) => message(role, ...parts)),
  },
);
/** A valid prompt: questions, each with an answer and any number of complete groups before it. */
const validPrompt = fc
  .array(fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }), { maxLength: 4 })
  .map((turns) => {
    let n = 0;
    const groups = (sizes: number[]) =>
      sizes.flatMap((size) => {
        const ids = Array.from({ length: size }, () => `call_${++n}`);
        return [calls(...ids), results(...ids.toReversed())];
      });
    return [...turns.flatMap((sizes) => [hi, ...groups(sizes), bye]), hi];
  });

/** Problems that are not about pairing: the beginning and the end of a prompt, messages of a person, and the order of parts. */
const otherProblems =
  /is blank|only whitespace|is empty|not the user's|no parts|ends? with the (assistant|model)|comes after a tool_use|function call turn must/;

describe("H3: sanitizeMessages on arbitrary messages", () => {
  it("Y8: the result has no pairing problem with any provider, and is stable", () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 14 }), (given) => {
        const before = JSON.stringify(given);
        const once = sanitizeMessages(given);
        expect(promptProblems(once.messages).filter((problem) => !otherProblems.test(problem))).toEqual([]);
        expect(JSON.stringify(given)).toBe(before);

        const twice = sanitizeMessages(once.messages);
        expect(twice).toEqual({ messages: once.messages, sanitized: false, removed: [] });

        const indexes = once.removed.map((removal) => removal.index);
        expect(indexes).toEqual([...new Set(indexes)].sort((a, b) => a - b));
        for (const { index, role } of once.removed) expect(given[index]?.role).toBe(role);
        const whole = once.removed.filter((removal) => removal.parts === undefined);
        expect(once.messages).toHaveLength(given.length - whole.length);
        expect(once.sanitized).toBe(once.removed.length > 0);
      }),
      { numRuns: 2_000 },
    );
  });

  it("INPUT_INVALID: a value that is not a list of messages with parts is refused by its index", () => {
    const refused = (words: string) =>
      expect.objectContaining({ code: "INPUT_INVALID", message: expect.stringContaining(words) });
    expect(() => sanitizeMessages(undefined as never)).toThrow(refused("no list"));
    expect(() => sanitizeMessages([{ role: "user", content: "hi" }] as never)).toThrow(refused("item 0"));
  });

  it("Y7: a valid prompt is returned as it was", () => {
    fc.assert(
      fc.property(validPrompt, (given) => {
        expect(promptProblems(given)).toEqual([]);
        expect(sanitizeMessages(given)).toEqual({ messages: given, sanitized: false, removed: [] });
      }),
      { numRuns: 300 },
    );
  });
});
