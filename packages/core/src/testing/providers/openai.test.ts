import { describe, expect, it } from "vitest";
import { openAiProblems } from "./openai.ts";

const call = (id: string, more: object = {}) => ({
  id,
  type: "function",
  function: { name: "read", arguments: "{}", ...more },
});
const user = { role: "user", content: "hi" };
const tool = (id: string) => ({ role: "tool", tool_call_id: id, content: "done" });
const calls = (...ids: string[]) => ({ role: "assistant", content: null, tool_calls: ids.map((id) => call(id)) });

describe("H1: a chat completions body that OpenAI takes has no problems", () => {
  it.each<[string, unknown[]]>([
    ["a question", [user]],
    ["only instructions", [{ role: "system", content: "Be kind." }]],
    ["parallel calls answered in another order", [user, calls("a", "b"), tool("b"), tool("a"), user]],
    ["text and a call in one message", [user, { ...calls("a"), content: "Let me look." }, tool("a")]],
    ["two groups in a row", [user, calls("a"), tool("a"), calls("b"), tool("b")]],
    ["an empty tool result", [user, calls("a"), { ...tool("a"), content: "" }]],
    ["an image", [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://a.b/c.png" } }] }]],
    ["a final assistant message", [user, { role: "assistant", content: [{ type: "text", text: "yes" }] }]],
  ])("%s", (_, messages) => {
    expect(openAiProblems({ model: "m", messages })).toEqual([]);
  });
});

describe("H1: a chat completions body that OpenAI refuses has its problem named", () => {
  const part = (value: unknown) => [{ role: "user", content: [value] }];
  const withCall = (more: object, id = "a") => [
    user,
    { role: "assistant", content: null, tool_calls: [{ ...call(id), ...more }] },
    tool(id),
  ];
  it.each<[string, unknown, string]>([
    ["no body", null, "the body is not an object"],
    ["no messages", {}, "messages is not an array"],
    ["zero messages", { messages: [] }, "messages is empty; at least one is needed"],
    ["a message that is no object", { messages: ["hi"] }, "messages[0]: not an object"],
    ["an unknown role", { messages: [{ role: "model", content: "x" }] }, 'messages[0]: role "model" is unknown'],
    ["an unknown field", { messages: [{ ...user, at: 1 }] }, 'messages[0]: unknown field "at"'],
    ["empty user text", { messages: [{ ...user, content: "" }] }, "messages[0]: user content is empty"],
    ["no user parts", { messages: [{ ...user, content: [] }] }, "messages[0]: user content is empty"],
    ["only empty parts", { messages: part({ type: "text", text: "" }) }, "messages[0]: user content is empty"],
    ["null user text", { messages: [{ ...user, content: null }] }, "user content is null, not text or parts"],
    ["an unknown part", { messages: part({ type: "call" }) }, 'messages[0].content[0]: part "call" is not allowed'],
    ["text of a wrong type", { messages: part({ type: "text", text: 1 }) }, "content[0]: text is not a string"],
    [
      "an unreadable image",
      { messages: part({ type: "image_url", image_url: { url: "blob:x" } }) },
      'no image address: "blob:x"',
    ],
    ["a file without data", { messages: part({ type: "file", file: {} }) }, "file has neither data nor id"],
    [
      "an image of the assistant",
      { messages: [user, { role: "assistant", content: [{ type: "image_url", image_url: { url: "data:x" } }] }] },
      'part "image_url" is not allowed for assistant',
    ],
    [
      "an assistant that says nothing",
      { messages: [user, { role: "assistant", content: null }] },
      "neither content nor",
    ],
    ["an assistant with empty text", { messages: [user, { role: "assistant", content: "" }] }, "neither content nor"],
    ["zero calls", { messages: [user, calls()] }, "messages[1]: tool_calls is empty; leave it out"],
    [
      "a call that is never answered",
      { messages: [user, calls("a")] },
      'messages[1]: call "a" is not followed directly',
    ],
    ["a call of two answered", { messages: [user, calls("a", "b"), tool("b"), user] }, 'messages[1]: call "a" is not'],
    [
      "a result behind another message",
      { messages: [user, calls("a"), user, tool("a")] },
      'messages[3]: tool message answers "a", which the assistant message before it did not call',
    ],
    ["a result without a call", { messages: [user, tool("x")] }, 'messages[1]: tool message answers "x"'],
    ["two results of one call", { messages: [user, calls("a"), tool("a"), tool("a")] }, 'call "a" is answered twice'],
    ["a result without an id", { messages: [user, { role: "tool", content: "x" }] }, "tool_call_id is missing"],
    [
      "an id used in two groups",
      { messages: [user, calls("a"), tool("a"), calls("a"), tool("a")] },
      '"a" is used twice',
    ],
    ["an id used twice in a group", { messages: [user, calls("a", "a"), tool("a")] }, 'id "a" is used twice'],
    ["an id that is too long", { messages: withCall({}, "a".repeat(41)) }, "is longer than 40"],
    ["an empty id", { messages: withCall({ id: "" }) }, "tool_calls[0]: id is missing"],
    ["a call of another type", { messages: withCall({ type: "tool" }) }, "not a call of type function"],
    [
      "a bad tool name",
      { messages: withCall({ function: { name: "a b", arguments: "{}" } }) },
      'name "a b" does not match',
    ],
    [
      "arguments as an object",
      { messages: withCall({ function: { name: "a", arguments: {} } }) },
      "arguments is not a string",
    ],
    [
      "broken arguments",
      { messages: withCall({ function: { name: "a", arguments: "{" } }) },
      'arguments "{" is not JSON',
    ],
    ["zero tools", { messages: [user], tools: [] }, "tools is empty; leave it out"],
    [
      "a tool twice",
      { messages: [user], tools: [{ function: { name: "a" } }, { function: { name: "a" } }] },
      'tools[1]: name "a" is used twice',
    ],
  ])("%s", (_, body, problem) => {
    expect(openAiProblems(body).join("\n")).toContain(problem);
  });
});
