// For tests only: AI SDK models made by hand, and messages to ask them with.

import { fromAiSdk, type Json, type Message, type ModelEvent, type ModelRequest, type Part } from "@belay/core";

type AiSdkModel = Parameters<typeof fromAiSdk>[0];
type AiSdkVersion = AiSdkModel["specificationVersion"];

export const finishV2 = {
  type: "finish",
  finishReason: "stop",
  usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
};
export const finishV3 = {
  type: "finish",
  finishReason: { unified: "stop", raw: "end_turn" },
  usage: {
    inputTokens: { total: 3, noCache: 1, cacheRead: 2, cacheWrite: undefined },
    outputTokens: { total: 2, text: 1, reasoning: 1 },
  },
};

export interface Fake extends AiSdkModel {
  /** The arguments of doStream. */
  readonly calls: Record<string, unknown>[];
  cancelled: boolean;
}

/** An AI SDK model that streams these parts, then ends or, if `open`, stalls without end. */
export function fake(
  version: AiSdkVersion,
  parts: readonly object[],
  options: { open?: boolean; provider?: string } = {},
): Fake {
  const model: Fake = {
    specificationVersion: version,
    provider: options.provider ?? "acme.chat",
    modelId: "m1",
    calls: [],
    cancelled: false,
    async doStream(call: Record<string, unknown>) {
      model.calls.push(call);
      return {
        stream: new ReadableStream<object>({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            if (!options.open) controller.close();
          },
          cancel() {
            model.cancelled = true;
            return new Promise(() => {});
          },
        }),
      };
    },
  };
  return model;
}

export const signal = new AbortController().signal;
export const request = (messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  messages,
  tools: [],
  ...more,
});

export async function events(model: AiSdkModel, asked = request([user("hi")])): Promise<ModelEvent[]> {
  const all: ModelEvent[] = [];
  for await (const event of fromAiSdk(model).stream(asked, { signal })) all.push(event);
  return all;
}

export async function sent(
  messages: readonly Message[],
  version: AiSdkVersion = "v3",
  provider?: string,
): Promise<unknown> {
  const model = fake(version, [finishV3], { provider });
  await events(model, request(messages));
  return model.calls[0]!.prompt;
}

let ids = 0;
export function message(role: Message["role"], parts: readonly Part[], more: Partial<Message> = {}): Message {
  return { id: `m${++ids}`, role, parts, at: 0, origin: role === "assistant" ? "model" : "person", ...more };
}
export const text = (said: string): Part => ({ type: "text", text: said });
export const user = (said: string) => message("user", [text(said)]);
export const by = (name: string, data: Json) => ({ name, data });
