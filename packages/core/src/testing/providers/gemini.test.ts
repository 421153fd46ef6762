import { describe, expect, it } from "vitest";
import { geminiProblems } from "./gemini.ts";

const user = (...parts: unknown[]) => ({ role: "user", parts });
const model = (...parts: unknown[]) => ({ role: "model", parts });
const hi = user({ text: "hi" });
const call = (name: string, more: object = {}) => ({ functionCall: { name, args: {}, ...more } });
const response = (name: string, more: object = {}) => ({
  functionResponse: { name, response: { output: 1 }, ...more },
});

describe("H1: a generateContent body that Gemini takes has no problems", () => {
  it.each<[string, unknown[]]>([
    ["a question", [hi]],
    [
      "parallel calls, answered in another order",
      [hi, model(call("a"), call("b")), user(response("b"), response("a"))],
    ],
    [
      "calls of one function, told apart by ids",
      [
        hi,
        model(call("a", { id: "1" }), call("a", { id: "2" })),
        user(response("a", { id: "2" }), response("a", { id: "1" })),
      ],
    ],
    [
      "a call directly after results",
      [hi, model(call("a")), user(response("a")), model(call("b")), user(response("b"))],
    ],
    ["text beside a call", [hi, model({ text: "Let me look." }, call("a")), user(response("a")), hi]],
    ["a signed call", [hi, model({ ...call("a"), thoughtSignature: "s" }), user(response("a"))]],
    ["several questions in a row", [hi, hi, model({ text: "a" }), hi]],
    ["an image", [user({ inlineData: { mimeType: "image/png", data: "eA==" } })]],
  ])("%s", (_, contents) => {
    expect(geminiProblems({ contents, systemInstruction: { parts: [{ text: "Be kind." }] } })).toEqual([]);
  });

  it("a final model turn, if the model takes a prefill", () => {
    expect(geminiProblems({ contents: [hi, model({ text: "It is" })] }, { prefill: true })).toEqual([]);
  });
});

describe("H1: a generateContent body that Gemini refuses has its problem named", () => {
  const contents = (...list: unknown[]) => ({ contents: list });
  const called = (more: object) => contents(hi, model(call("a", more)), user(response("a")));
  const answered = (more: object) => contents(hi, model(call("a")), user(response("a", more)));
  it.each<[string, unknown, string]>([
    ["no body", [], "the body is not an object"],
    ["no contents", {}, "contents is not an array"],
    ["zero contents", contents(), "contents is empty; at least one is needed"],
    ["a content that is no object", contents(1), "contents[0]: not an object"],
    [
      "an unknown role",
      contents({ role: "assistant", parts: [{ text: "a" }] }),
      'contents[0]: role "assistant" is unknown',
    ],
    ["the old role of functions", contents({ role: "function", parts: [{ text: "a" }] }), 'role "function" is unknown'],
    ["no role", contents({ parts: [{ text: "a" }] }), "contents[0]: role undefined is unknown"],
    ["an unknown field", contents({ ...hi, id: "m1" }), 'contents[0]: unknown field "id"'],
    ["zero parts", contents(user()), "contents[0]: parts is empty"],
    ["a part that is no object", contents(user("hi")), "contents[0].parts[0]: not an object"],
    ["a part of nothing", contents(user({})), "parts[0]: part holds 0 kinds of data, not one"],
    ["a part of two things", contents(user({ text: "a", ...call("a") })), "part holds 2 kinds of data"],
    ["an unknown field of a part", contents(user({ text: "a", type: "text" })), 'parts[0]: unknown field "type"'],
    ["empty text", contents(user({ text: "" })), "parts[0]: text is empty"],
    ["data without type", contents(user({ inlineData: { data: "eA==" } })), "inlineData without type or data"],
    ["an unreadable address", contents(user({ fileData: { fileUri: "blob:x" } })), 'no address: "blob:x"'],
    [
      "a call at the start",
      contents(model(call("a")), user(response("a"))),
      "contents[0]: a function call turn must come directly after a user",
    ],
    [
      "a call after a model turn",
      contents(hi, model({ text: "a" }), model(call("a")), user(response("a"))),
      "contents[2]: a function call turn must come directly",
    ],
    [
      "a call without response",
      contents(hi, model(call("a")), hi),
      "contents[1]: 1 function calls, 0 responses in the next turn",
    ],
    ["a call at the very end", contents(hi, model(call("a"))), "contents[1]: 1 function calls, 0 responses"],
    [
      "one response for two calls",
      contents(hi, model(call("a"), call("b")), user(response("a"))),
      "contents[1]: 2 function calls, 1 responses",
    ],
    [
      "responses over two turns",
      contents(hi, model(call("a"), call("b")), user(response("a")), user(response("b"))),
      "contents[1]: 2 function calls, 1 responses",
    ],
    [
      "a response without call",
      contents(hi, user(response("a"))),
      'contents[1]: function response "a" has no call in the turn before',
    ],
    [
      "a response of another function",
      contents(hi, model(call("a")), user(response("b"))),
      'contents[2]: responses of ["b"], calls of ["a"]',
    ],
    [
      "a response of another call",
      contents(hi, model(call("a", { id: "1" })), user(response("a", { id: "2" }))),
      'responses with ids ["2"], calls ["1"]',
    ],
    ["a call of the user", contents(user(call("a"))), 'functionCall of "user"'],
    ["a response of the model", contents(hi, model(response("a"))), 'functionResponse of "model"'],
    ["args as text", called({ args: "{}" }), "contents[1].parts[0]: args is not an object"],
    ["a name that starts with a digit", called({ name: "7zip" }), 'name "7zip" does not match'],
    ["a response without a name", answered({ name: undefined }), "contents[2].parts[0]: name undefined does not match"],
    ["a response that is no object", answered({ response: "done" }), "contents[2].parts[0]: response is not an object"],
    ["a last turn of the model", contents(hi, model({ text: "a" })), "contents[1]: the contents end with the model"],
    [
      "empty instructions",
      { ...contents(hi), systemInstruction: { parts: [{ text: "" }] } },
      "systemInstruction.parts[0]: text is empty",
    ],
    [
      "a call in the instructions",
      { ...contents(hi), systemInstruction: { parts: [call("a")] } },
      "functionCall in the system instruction",
    ],
  ])("%s", (_, body, problem) => {
    expect(geminiProblems(body).join("\n")).toContain(problem);
  });
});
