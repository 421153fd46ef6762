// The validators must take what real clients send: here the AI SDK's adapters, up to the wire.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModelV3Prompt } from "@ai-sdk/provider";
import { openAiResponsesProblems } from "@belay/testkit/wire";
import { expect, it } from "vitest";
import { anthropicProblems } from "./anthropic.ts";
import { openAiProblems } from "./openai.ts";

const sdkPrompt: LanguageModelV3Prompt = [
  { role: "system", content: "Be brief." },
  { role: "user", content: [{ type: "text", text: "What is in a and b?" }] },
  {
    role: "assistant",
    content: [
      { type: "text", text: "Let me look." },
      { type: "tool-call", toolCallId: "call_a", toolName: "read", input: { path: "a" } },
      { type: "tool-call", toolCallId: "call_b", toolName: "read", input: { path: "b" } },
    ],
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: "call_a", toolName: "read", output: { type: "text", value: "one" } },
      { type: "tool-result", toolCallId: "call_b", toolName: "read", output: { type: "error-text", value: "gone" } },
    ],
  },
  { role: "user", content: [{ type: "text", text: "And?" }] },
];

/** The body that `call` would have sent. */
async function captureBody(call: (fetch: typeof globalThis.fetch) => PromiseLike<unknown>): Promise<unknown> {
  let body: unknown;
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    body = JSON.parse(String(init?.body));
    return new Response("{}", { status: 400 });
  };
  await Promise.resolve(call(fetch)).catch(() => undefined);
  return body;
}

it("H1: requests of the AI SDK to chat completions have no problems", async () => {
  const body = await captureBody((fetch) =>
    createOpenAI({ apiKey: "none", fetch }).chat("gpt-4o").doGenerate({ prompt: sdkPrompt }),
  );
  expect(body).toMatchObject({ messages: { length: 6 } });
  expect(openAiProblems(body)).toEqual([]);
});

it("H1: requests of the AI SDK to the responses API have no problems", async () => {
  const body = await captureBody((fetch) =>
    createOpenAI({ apiKey: "none", fetch }).responses("gpt-5").doGenerate({ prompt: sdkPrompt }),
  );
  expect(body).toMatchObject({ input: { length: 8 } });
  expect(openAiResponsesProblems(body)).toEqual([]);
});

it("H1: requests of the AI SDK to the Messages API have no problems", async () => {
  const body = await captureBody((fetch) =>
    createAnthropic({ apiKey: "none", fetch })("claude-sonnet-4-5").doGenerate({ prompt: sdkPrompt }),
  );
  expect(body).toMatchObject({ messages: { length: 3 } });
  expect(anthropicProblems(body)).toEqual([]);
});
