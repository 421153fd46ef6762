import { describe, expect, it } from "vitest";
import { anthropicProblems } from "./anthropic.ts";

const text = (words: string) => ({ type: "text", text: words });
const use = (id: string, more: object = {}) => ({ type: "tool_use", id, name: "read", input: {}, ...more });
const result = (id: string, more: object = {}) => ({ type: "tool_result", tool_use_id: id, content: "done", ...more });
const user = (...content: unknown[]) => ({ role: "user", content });
const assistant = (...content: unknown[]) => ({ role: "assistant", content });
const hi = user(text("hi"));
const thinking = { type: "thinking", thinking: "hm", signature: "s" };

describe("H1: a Messages body that Anthropic takes has no problems", () => {
  it.each<[string, unknown[]]>([
    ["a question as plain text", [{ role: "user", content: "hi" }]],
    [
      "text, then parallel calls, answered in another order",
      [hi, assistant(text("a"), use("a"), use("b")), user(result("b"), result("a"))],
    ],
    ["text after the results", [hi, assistant(use("a")), user(result("a"), text("and?"))]],
    [
      "results in two user messages: the API joins them",
      [hi, assistant(use("a"), use("b")), user(result("a")), user(result("b"))],
    ],
    ["several questions in a row", [hi, hi, assistant(text("a")), hi]],
    ["thinking with its signature, before a call", [hi, assistant(thinking, use("a")), user(result("a"))]],
    ["thinking whose words are withheld", [hi, assistant({ ...thinking, thinking: "" }, text("a")), hi]],
    ["an image", [user({ type: "image", source: { type: "url", url: "https://a.b/c.png" } })]],
    ["a result without content", [hi, assistant(use("a")), user(result("a", { content: undefined }))]],
    [
      "a call the server ran",
      [
        hi,
        assistant(
          { type: "server_tool_use", id: "s", name: "web", input: {} },
          { type: "web_search_tool_result", tool_use_id: "s", content: [] },
          text("a"),
        ),
        hi,
      ],
    ],
  ])("%s", (_, messages) => {
    expect(anthropicProblems({ model: "m", max_tokens: 1, messages })).toEqual([]);
  });

  it("a final assistant message, if the model takes a prefill", () => {
    expect(anthropicProblems({ messages: [hi, assistant(text("It is"))] }, { prefill: true })).toEqual([]);
  });
});

describe("H1: a Messages body that Anthropic refuses has its problem named", () => {
  const messages = (...list: unknown[]) => ({ messages: list });
  const called = (more: object) => messages(hi, assistant(use("a", more)), user(result("a")));
  const answered = (more: object) => messages(hi, assistant(use("a")), user(result("a", more)));
  it.each<[string, unknown, string]>([
    ["no body", undefined, "the body is not an object"],
    ["no messages", {}, "messages is not an array"],
    ["zero messages", messages(), "messages is empty; at least one is needed"],
    ["a message that is no object", messages("hi"), "messages[0]: not an object"],
    ["an unknown role", messages(hi, { role: "tool", content: "x" }), 'messages[1]: role "tool" is unknown'],
    ["a system message among the others", messages(hi, { role: "system", content: "x" }), 'role "system" is unknown'],
    ["an unknown field", messages({ ...hi, id: "m1" }), 'messages[0]: unknown field "id"'],
    ["no content", messages({ role: "user" }), "messages[0]: content is undefined, not text or blocks"],
    ["zero blocks", messages(user()), "messages[0]: user content is empty"],
    ["an assistant with zero blocks", messages(hi, assistant(), hi), "messages[1]: assistant content is empty"],
    ["a block that is no object", messages(user("x")), "messages[0].content[0]: not an object"],
    [
      "an unknown block",
      messages(user({ type: "file" })),
      'messages[0].content[0]: block "file" is not allowed for user',
    ],
    ["a call of the user", messages(user(use("a"))), 'block "tool_use" is not allowed for user'],
    ["a result of the assistant", messages(hi, assistant(result("a"))), 'block "tool_result"'],
    ["an image of the assistant", messages(hi, assistant({ type: "image" }), hi), 'block "image" is not allowed'],
    ["an unknown field of a block", messages(user({ ...text("x"), id: 1 })), 'content[0]: unknown field "id"'],
    ["empty text", messages({ role: "user", content: "" }), "messages[0].content: text is empty"],
    ["an empty block", messages(hi, assistant(text(""), text("a")), hi), "messages[1].content[0]: text is empty"],
    ["a blank block", messages(hi, assistant(text(" \n")), hi), "messages[1].content[0]: text is only whitespace"],
    ["text of a wrong type", messages(user({ type: "text", text: null })), "text is not a string"],
    ["half an emoji", messages(user(text("\ud83d"))), "text has half of a surrogate pair"],
    [
      "a first message of the assistant",
      messages(assistant(text("a")), hi),
      "messages[0]: the first message is not the user's",
    ],
    [
      "a last message of the assistant",
      messages(hi, assistant(text("a"))),
      "messages[1]: the conversation ends with the assistant",
    ],
    [
      "a call without result",
      messages(hi, assistant(use("a")), hi),
      'messages[1].content[0]: tool_use "a" has no tool_result in the next message',
    ],
    ["a call at the very end", messages(hi, assistant(use("a"))), 'tool_use "a" has no tool_result'],
    ["a call of two answered", messages(hi, assistant(use("a"), use("b")), user(result("b"))), 'tool_use "a" has no'],
    [
      "a result behind another turn",
      messages(hi, assistant(use("a")), hi, assistant(text("x")), user(result("a"))),
      'tool_result "a" has no tool_use in the message before',
    ],
    ["a result without call", messages(user(result("x"))), 'messages[0].content[0]: tool_result "x" has no tool_use'],
    [
      "two results of one call",
      messages(hi, assistant(use("a")), user(result("a"), result("a"))),
      'tool_use "a" has more than one tool_result',
    ],
    [
      "text before a result",
      messages(hi, assistant(use("a")), user(text("x"), result("a"))),
      'tool_result "a" comes after other content',
    ],
    [
      "text before a result, after joining",
      messages(hi, assistant(use("a")), hi, user(result("a"))),
      'messages[3].content[0]: tool_result "a" comes after other content',
    ],
    [
      "text after a call",
      messages(hi, assistant(use("a"), text("x")), user(result("a"))),
      "messages[1].content[1]: text comes after a tool_use in the same turn",
    ],
    [
      "text after a call, after joining",
      messages(hi, assistant(use("a")), assistant(text("x")), user(result("a"))),
      "messages[2].content[0]: text comes after a tool_use",
    ],
    [
      "an id used twice",
      messages(hi, assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))),
      'tool_use id "a" is used twice',
    ],
    ["an id with a dot", called({ id: "a.b" }), 'tool_use id "a.b" does not match'],
    ["a bad tool name", called({ name: "" }), 'name "" does not match'],
    ["input as text", called({ input: "{}" }), 'input "{}" is not an object'],
    ["input as a list", called({ input: [] }), "input [] is not an object"],
    ["half an emoji in input", called({ input: { a: "\\\ude00" } }), "input has half of a surrogate pair"],
    ["a result without id", answered({ tool_use_id: "" }), "tool_use_id is missing"],
    ["a result with an object", answered({ content: {} }), "content is {}, not text or blocks"],
    [
      "a result with a foreign block",
      answered({ content: [{ type: "tool_use" }] }),
      'block "tool_use" is not allowed in a tool_result',
    ],
    [
      "a result with an empty block",
      answered({ content: [text("")] }),
      "messages[2].content[0].content[0]: text is empty",
    ],
    ["half an emoji in a result", answered({ content: "\ude00" }), "content has half of a surrogate pair"],
    ["an empty error", answered({ content: "", is_error: true }), "content is empty although is_error is true"],
    ["an error flag of a wrong type", answered({ is_error: "yes" }), "is_error is not a boolean"],
    [
      "thinking without signature",
      messages(hi, assistant({ type: "thinking", thinking: "x" }, text("a")), hi),
      "thinking without its signature",
    ],
    [
      "redacted thinking without data",
      messages(hi, assistant({ type: "redacted_thinking" }, text("a")), hi),
      "redacted_thinking without data",
    ],
    [
      "an answer that ends with thinking",
      messages(hi, assistant(text("a"), thinking), hi),
      "the assistant turn ends with thinking",
    ],
    ["an image without source", messages(user({ type: "image" })), "source is missing"],
    [
      "a source of no kind",
      messages(user({ type: "image", source: { type: "blob" } })),
      'source type "blob" is unknown',
    ],
    [
      "an unreadable address",
      messages(user({ type: "image", source: { type: "url", url: "blob:x" } })),
      'no address: "blob:x"',
    ],
    [
      "data without a type",
      messages(user({ type: "document", source: { type: "base64", data: "eA==" } })),
      "base64 source without data or type",
    ],
    ["blank instructions", { ...messages(hi), system: " " }, "system: text is only whitespace"],
    [
      "instructions in a foreign block",
      { ...messages(hi), system: [{ type: "image" }] },
      "system[0]: not a text block",
    ],
    ["a bad name of a tool", { ...messages(hi), tools: [{ name: "a b" }] }, 'tools[0]: name "a b" does not match'],
    ["a tool twice", { ...messages(hi), tools: [{ name: "a" }, { name: "a" }] }, 'tools[1]: name "a" is used twice'],
  ])("%s", (_, body, problem) => {
    expect(anthropicProblems(body).join("\n")).toContain(problem);
  });

  it("a prefill that ends in whitespace", () => {
    expect(anthropicProblems(messages(hi, assistant(text("It is "))), { prefill: true })).toEqual([
      "messages[1].content[0]: final text ends in whitespace",
    ]);
  });
});
