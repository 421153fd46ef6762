import { describe, expect, it } from "vitest";
import type { CallPart, Message, Part, ResultPart, Role } from "../../message.ts";
import { promptProblems, toAnthropic, toGemini, toOpenAi } from "./render.ts";

let made = 0;
const message = (role: Role, ...parts: Part[]): Message => {
  made += 1;
  return { id: `m${made}`, role, parts, at: 0, origin: role === "user" ? "person" : "model" };
};
const text = (words: string): Part => ({ type: "text", text: words });
const call = (id: string, more: Partial<CallPart> = {}): Part => ({
  type: "call",
  id,
  tool: "read",
  args: {},
  ...more,
});
const result = (id: string, more: Partial<ResultPart> = {}): Part => ({
  type: "result",
  id,
  tool: "read",
  outcome: "ok",
  output: "done",
  ...more,
});
const hi = message("user", text("hi"));
const calls = (...ids: string[]) => message("assistant", ...ids.map((id) => call(id)));
const results = (...ids: string[]) => message("tool", ...ids.map((id) => result(id)));

const talk = [
  message("system", text("Be kind.")),
  message("user", text("Look."), { type: "file", mediaType: "image/png", data: { base64: "eA==" } }),
  message(
    "assistant",
    { type: "reasoning", text: "hm", provider: { name: "anthropic", data: { signature: "s" } } },
    text("Let me see."),
    call("a", { args: { path: "a" } }),
    call("b"),
  ),
  message("tool", result("b", { output: { size: 1 } }), result("a", { outcome: "error", output: "gone" })),
  message("assistant", text("One is gone.")),
  message("user", text("Go on.")),
];

describe("H1: each wire body has the contents of the messages", () => {
  it("chat completions: one tool message per result, arguments as JSON text", () => {
    expect(toOpenAi(talk)).toEqual({
      messages: [
        { role: "system", content: [{ type: "text", text: "Be kind." }] },
        {
          role: "user",
          content: [
            { type: "text", text: "Look." },
            { type: "image_url", image_url: { url: "data:image/png;base64,eA==" } },
          ],
        },
        {
          role: "assistant",
          content: [{ type: "text", text: "Let me see." }],
          tool_calls: [
            { id: "a", type: "function", function: { name: "read", arguments: '{"path":"a"}' } },
            { id: "b", type: "function", function: { name: "read", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "b", content: '{"size":1}' },
        { role: "tool", tool_call_id: "a", content: "gone" },
        { role: "assistant", content: [{ type: "text", text: "One is gone." }] },
        { role: "user", content: [{ type: "text", text: "Go on." }] },
      ],
    });
  });

  it("Messages API: instructions apart, results as blocks of a user message, signed thinking goes back", () => {
    expect(toAnthropic(talk)).toEqual({
      system: [{ type: "text", text: "Be kind." }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look." },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "eA==" } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: "s" },
            { type: "text", text: "Let me see." },
            { type: "tool_use", id: "a", name: "read", input: { path: "a" } },
            { type: "tool_use", id: "b", name: "read", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "b", content: '{"size":1}' },
            { type: "tool_result", tool_use_id: "a", content: "gone", is_error: true },
          ],
        },
        { role: "assistant", content: [{ type: "text", text: "One is gone." }] },
        { role: "user", content: [{ type: "text", text: "Go on." }] },
      ],
    });
  });

  it("generateContent: the thinking of another provider stays away, a run of tool messages is one turn", () => {
    const [system, user, asked, , ...rest] = talk as [Message, Message, Message, Message];
    const split = [system, user, asked, message("tool", result("b")), message("tool", result("a")), ...rest];
    expect(toGemini(split)).toEqual({
      systemInstruction: { parts: [{ text: "Be kind." }] },
      contents: [
        { role: "user", parts: [{ text: "Look." }, { inlineData: { mimeType: "image/png", data: "eA==" } }] },
        {
          role: "model",
          parts: [
            { text: "Let me see." },
            { functionCall: { id: "a", name: "read", args: { path: "a" } } },
            { functionCall: { id: "b", name: "read", args: {} } },
          ],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { id: "b", name: "read", response: { output: "done" } } },
            { functionResponse: { id: "a", name: "read", response: { output: "done" } } },
          ],
        },
        { role: "model", parts: [{ text: "One is gone." }] },
        { role: "user", parts: [{ text: "Go on." }] },
      ],
    });
  });

  it("opaque data goes back verbatim, to its provider only", () => {
    const part: Part = { type: "opaque", provider: { name: "anthropic", data: { type: "web_search_tool_result" } } };
    const messages = [hi, message("assistant", part, text("a")), hi];
    expect(toAnthropic(messages).messages[1]).toEqual({
      role: "assistant",
      content: [{ type: "web_search_tool_result" }, { type: "text", text: "a" }],
    });
    expect(toGemini(messages).contents[1]).toEqual({ role: "model", parts: [{ text: "a" }] });
    expect(promptProblems(messages)).toEqual([]);
  });
});

describe("X1: promptProblems", () => {
  it.each<[string, Message[]]>([
    ["a whole conversation", talk],
    ["two questions in a row", [hi, hi]],
    ["an interrupted answer and the next question", [hi, message("assistant", text("It is [interrupted]")), hi]],
    [
      "a group that was never executed",
      [hi, calls("a"), message("tool", result("a", { outcome: "not-executed" })), hi],
    ],
  ])("finds nothing in %s", (_, messages) => {
    expect(promptProblems(messages)).toEqual([]);
  });

  it("lets a prompt end with the assistant only if the model takes a prefill", () => {
    const cut = [hi, message("assistant", text("It is"))];
    expect(promptProblems(cut, { prefill: true })).toEqual([]);
    expect(promptProblems(cut)).toEqual([
      "anthropic: messages[1]: the conversation ends with the assistant, not with the user",
      "gemini: contents[1]: the contents end with the model, not with the user",
    ]);
  });

  it("names the provider that refuses an unanswered call, and the place", () => {
    expect(promptProblems([hi, calls("a"), hi])).toEqual([
      'belay: message 1 (assistant): call "a" has no result directly after its message',
      'openai: messages[1]: call "a" is not followed directly by a tool message that answers it',
      'anthropic: messages[1].content[0]: tool_use "a" has no tool_result in the next message',
      "gemini: contents[1]: 1 function calls, 0 responses in the next turn",
    ]);
  });

  it.each<[string, Message[], string]>([
    ["no messages", [], "openai: messages is empty"],
    ["an orphan result", [hi, results("x"), hi], 'belay: message 1 (tool): result "x" does not directly follow'],
    ["a result that comes late", [hi, calls("a"), hi, results("a")], 'belay: message 3 (tool): result "a" does not'],
    ["a second result", [hi, calls("a"), results("a", "a")], 'belay: message 2 (tool): call "a" has a second result'],
    [
      "a call id of an earlier turn",
      [hi, calls("a"), results("a"), calls("a"), results("a")],
      'belay: message 3 (assistant): call id "a" is used twice',
    ],
    ["a call without id", [hi, calls(""), results("")], 'belay: message 1 (assistant): a call of "read" has no id'],
    [
      "a result of another tool",
      [hi, calls("a"), message("tool", result("a", { tool: "write" }))],
      'belay: message 2 (tool): result "a" is of "write", its call of "read"',
    ],
    [
      "a blank assistant message",
      [hi, message("assistant", text(" ")), hi],
      "belay: message 1 (assistant): the message is blank",
    ],
    [
      "an empty assistant message",
      [hi, message("assistant"), hi],
      "belay: message 1 (assistant): the message has no parts",
    ],
    [
      "a blank part beside a call",
      [hi, message("assistant", text(""), call("a")), results("a")],
      "belay: message 1 (assistant): text part 0 is blank",
    ],
    [
      "reasoning and nothing else",
      [hi, message("assistant", { type: "reasoning", text: "x", provider: { name: "p", data: 1 } }), hi],
      "belay: message 1 (assistant): the message is blank",
    ],
    [
      "unsigned reasoning",
      [hi, message("assistant", { type: "reasoning", text: "x" }, text("a")), hi],
      "belay: message 1 (assistant): reasoning part 0 is not signed",
    ],
    [
      "unsigned reasoning, for Anthropic",
      [hi, message("assistant", { type: "reasoning", text: "x" }, text("a")), hi],
      "anthropic: messages[1].content[0]: thinking without its signature",
    ],
    [
      "a result among the words of a person",
      [hi, calls("a"), message("user", result("a"))],
      "belay: message 2 (user): part 0 is a result",
    ],
    [
      "words in a tool message",
      [hi, calls("a"), message("tool", result("a"), text("x"))],
      "belay: message 2 (tool): part 1 is a text",
    ],
    [
      "instructions in the middle",
      [hi, message("system", text("x")), hi],
      "belay: message 1 (system): instructions are not the first message",
    ],
    ["an unknown role", [{ ...hi, role: "model" as Role }], "belay: message 0 (model): the role is unknown"],
    [
      "arguments that are no object",
      [hi, message("assistant", call("a", { args: "{pa" })), results("a")],
      'anthropic: messages[1].content[0]: input "{pa" is not an object',
    ],
    [
      "words after a call",
      [hi, message("assistant", call("a"), text("x")), results("a")],
      "anthropic: messages[1].content[1]: text comes after a tool_use",
    ],
    [
      "a call after another message of the assistant",
      [hi, message("assistant", text("x")), calls("a"), results("a")],
      "gemini: contents[2]: a function call turn must come directly after",
    ],
    ["a call id that is too long", [hi, calls("a".repeat(41)), results("a".repeat(41))], "is longer than 40"],
    [
      "a failed result without words",
      [hi, calls("a"), message("tool", result("a", { outcome: "error", output: "" }))],
      "anthropic: messages[2].content[0]: content is empty although is_error is true",
    ],
    [
      "text cut in the middle of an emoji",
      [hi, message("assistant", text("so \ud83d")), hi],
      "anthropic: messages[1].content[0]: text has half",
    ],
    [
      "a blob that was not fetched",
      [message("user", { type: "file", mediaType: "image/png", data: { blob: "b1" } })],
      'openai: messages[0].content[0]: no image address: "blob:b1"',
    ],
  ])("names %s", (_, messages, problem) => {
    expect(promptProblems(messages).join("\n")).toContain(problem);
  });

  it("takes a long thread in its stride", () => {
    const long = Array.from({ length: 5_000 }, (_, i) => [hi, calls(`c${i}`), results(`c${i}`)]).flat();
    const start = process.cpuUsage();
    expect(promptProblems(long)).toEqual([]);
    expect(process.cpuUsage(start).user / 1_000).toBeLessThan(5_000);
  });
});
