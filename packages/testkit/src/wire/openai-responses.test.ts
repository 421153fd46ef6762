import { describe, expect, it } from "vitest";
import { openAiResponsesProblems } from "./openai-responses.ts";

const user = { role: "user", content: "hi" };
const call = (id: string, more: object = {}) => ({
  type: "function_call",
  call_id: id,
  name: "read",
  arguments: "{}",
  ...more,
});
const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "done" });
const reasoning = { type: "reasoning", id: "rs_1", summary: [] };

describe("H1: a responses body that OpenAI takes has no problems", () => {
  it.each<[string, object]>([
    ["plain text", { input: "hi" }],
    ["two calls, then their outputs", { input: [user, call("a"), call("b"), output("b"), output("a")] }],
    ["reasoning before its call", { input: [user, reasoning, call("a"), output("a")] }],
    ["an output of a call the server has", { input: [output("a")], previous_response_id: "resp_1" }],
  ])("%s", (_, body) => {
    expect(openAiResponsesProblems(body)).toEqual([]);
  });
});

describe("H1: a responses body that OpenAI refuses has its problem named", () => {
  it.each<[string, unknown, string]>([
    ["no body", 1, "the body is not an object"],
    ["no input", {}, "input is neither text nor an array"],
    ["empty text", { input: "" }, "input is empty"],
    ["zero items", { input: [] }, "input is empty"],
    ["an item that is no object", { input: [1] }, "input[0]: not an object"],
    ["an unknown item", { input: [{ type: "tool" }] }, 'input[0]: item type "tool" is unknown'],
    ["an unknown role", { input: [{ role: "tool", content: "x" }] }, 'input[0]: role "tool" is unknown'],
    ["an empty message", { input: [{ role: "user", content: "" }] }, "input[0]: user content is empty"],
    ["no parts", { input: [{ role: "user", content: [] }] }, "input[0]: user content is empty"],
    [
      "a part of the other side",
      { input: [{ role: "user", content: [{ type: "output_text", text: "x" }] }] },
      'part "output_text" is not allowed for user',
    ],
    ["an empty part", { input: [{ role: "user", content: [{ type: "input_text", text: "" }] }] }, "text is empty"],
    ["a call without output", { input: [user, call("a")] }, 'input[1]: call "a" has no output'],
    ["an output without call", { input: [user, output("a")] }, 'input[1]: no call "a" before its output'],
    ["an output before its call", { input: [output("a"), call("a")] }, 'input[0]: no call "a" before its output'],
    ["two outputs of one call", { input: [call("a"), output("a"), output("a")] }, 'call "a" is answered twice'],
    ["a call id twice", { input: [call("a"), output("a"), call("a")] }, 'input[2]: call_id "a" is used twice'],
    ["a call without id", { input: [call("")] }, "input[0]: call_id is missing"],
    ["an output without id", { input: [{ type: "function_call_output", output: "" }] }, "call_id is missing"],
    ["an output without output", { input: [call("a"), { ...output("a"), output: 1 }] }, "output is missing"],
    ["a long call id", { input: [call("a".repeat(65))] }, "call_id is longer than 64"],
    ["an item id of another kind", { input: [call("a", { id: "call_a" })] }, 'id "call_a" does not begin with fc'],
    [
      "an item id twice",
      { input: [call("a", { id: "fc_1" }), output("a"), call("b", { id: "fc_1" }), output("b")] },
      'input[2]: item id "fc_1" is used twice',
    ],
    ["a bad tool name", { input: [call("a", { name: "a b" })] }, 'name "a b" does not match'],
    ["arguments as an object", { input: [call("a", { arguments: {} })] }, "arguments is not a string"],
    ["broken arguments", { input: [call("a", { arguments: "{" })] }, "is not JSON"],
    ["reasoning that led to nothing", { input: [reasoning, user] }, "not followed by the answer or call it led to"],
    ["reasoning without id", { input: [{ type: "reasoning", summary: [] }] }, "reasoning has no id"],
    ["reasoning without summary", { input: [{ type: "reasoning", id: "rs" }] }, "reasoning has no summary"],
    ["a reference to nothing", { input: [{ type: "item_reference" }] }, "item_reference without id"],
  ])("%s", (_, body, problem) => {
    expect(openAiResponsesProblems(body).join("\n")).toContain(problem);
  });
});
