import { events, fake, finishV3, request, signal, user } from "@belay/testkit/wire";
import { describe, expect, it } from "vitest";
import { fromAiSdk } from "./from-ai-sdk.ts";

describe("what is taken", () => {
  it("a model of v2, v3 or v4 is taken, with the id and provider it has", () => {
    for (const version of ["v2", "v3", "v4"] as const) {
      const model = fromAiSdk(fake(version, []));
      expect([model.id, model.provider, model.prefill]).toEqual(["acme.chat/m1", "acme.chat", false]);
    }
    const named = fromAiSdk(fake("v3", []), { id: "mine", prefill: true });
    expect([named.id, named.prefill]).toEqual(["mine", true]);
  });

  it("anything else is refused when it is given, and the error names the value", () => {
    const v1 = { ...fake("v3", []), specificationVersion: "v1" };
    const embedding = { specificationVersion: "v3", provider: "p", modelId: "m", doEmbed() {} };
    const refused = [undefined, null, "openai/gpt-5", 5, {}, v1, embedding].map((model) => {
      try {
        return fromAiSdk(model as never);
      } catch (error) {
        const { code, details } = error as { code: string; details: { value: string } };
        return `${code}: ${details.value}`;
      }
    });
    expect(refused).toEqual([
      "OPTION_INVALID: undefined",
      "OPTION_INVALID: null",
      'OPTION_INVALID: "openai/gpt-5"',
      "OPTION_INVALID: 5",
      "OPTION_INVALID: object with specificationVersion undefined",
      "OPTION_INVALID: object with specificationVersion v1",
      "OPTION_INVALID: object without doStream",
    ]);
  });
});

describe("the request to the model", () => {
  it("settings, tools and the output schema reach the model in its words", async () => {
    const model = fake("v3", [finishV3]);
    const tools = [{ name: "add", description: "adds", inputSchema: { type: "object" } }];
    const asked = request([user("hi")], {
      tools,
      toolChoice: { tool: "add" },
      maxOutputTokens: 10,
      temperature: 0.5,
      topP: 0.9,
      stopSequences: ["x"],
      seed: 7,
      providerOptions: { acme: { fast: true } },
      output: { name: "answer", schema: { type: "object" } },
    });
    await events(model, asked);
    expect(model.calls).toEqual([
      {
        prompt: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
        tools: [{ type: "function", name: "add", description: "adds", inputSchema: { type: "object" } }],
        toolChoice: { type: "tool", toolName: "add" },
        maxOutputTokens: 10,
        temperature: 0.5,
        topP: 0.9,
        stopSequences: ["x"],
        seed: 7,
        responseFormat: { type: "json", name: "answer", schema: { type: "object" } },
        providerOptions: { acme: { fast: true } },
        abortSignal: signal,
      },
    ]);
  });

  it("without tools neither tools nor a choice of tool are sent", async () => {
    const model = fake("v3", [finishV3]);
    await events(model, request([user("hi")], { toolChoice: "auto" }));
    expect([model.calls[0]!.tools, model.calls[0]!.toolChoice]).toEqual([undefined, undefined]);
  });
});
