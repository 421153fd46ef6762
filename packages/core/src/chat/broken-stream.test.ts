// I6 with the real AI SDK packages against a provider on localhost.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { history, openKit } from "@belay/testkit";
import { type WireReply, type WireServer, wireServer } from "@belay/testkit/wire";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fromAiSdk } from "../model/from-ai-sdk.ts";

let wire: WireServer;
beforeEach(async () => {
  wire = await wireServer();
});
afterEach(() => wire.close());

const apiKey = "test";
const providers = {
  "openai-compatible": () => createOpenAICompatible({ name: "local", baseURL: wire.url, apiKey })("m"),
  "openai chat": () => createOpenAI({ baseURL: wire.url, apiKey }).chat("gpt-4o"),
  "openai responses": () => createOpenAI({ baseURL: wire.url, apiKey }).responses("gpt-5"),
  anthropic: () => createAnthropic({ baseURL: wire.url, apiKey })("claude-sonnet-4-5"),
};

const html = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>";

describe.each(Object.entries(providers))("%s", (_, provider) => {
  async function run(...replies: WireReply[]) {
    wire.script(...replies);
    const agent = { settings: { retry: { delayMs: 1 } }, timeouts: { idleMs: 500 } };
    const kit = await openKit(fromAiSdk(provider()), { agent });
    return { kit, result: await kit.session.run("a").result };
  }

  it.each<[string, WireReply]>([
    ["breaks before its first word", [{ drop: true }]],
    ["breaks", ["Hel", { wait: 50 }, { drop: true }]],
    ["is malformed", ["Hel", { malformed: true }, "lo"]],
    ["ends without a finish", ["Hel", { leave: true }]],
    ["stalls", ["Hel", { stall: true }]],
    ["breaks while arguments are written", [{ call: "x", id: "c", args: '{"a":', unfinished: true }, { drop: true }]],
    ["is an HTML page with status 502", { html, status: 502 }],
  ])("I6: a stream that %s is tried again", async (_, reply) => {
    const { kit, result } = await run(reply, ["Hello"]);
    expect(result).toMatchObject({ status: "completed", text: "Hello" });
    expect(history(kit.session.messages)).toEqual(["user: a", "assistant: Hello"]);
    expect(wire.requests).toHaveLength(2);
  });

  it("I6: an HTML page from a proxy is reported as that", async () => {
    const page = await run({ html });
    expect(page.result).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("an HTML page came in place of the model's answer") },
    });
    expect(wire.requests).toHaveLength(1);
    const gateway = await run(...Array.from({ length: 4 }, () => ({ html, status: 502 })));
    expect(gateway.result).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining('status 502: an HTML page ("502 Bad Gateway") from a proxy') },
    });
  });
});
