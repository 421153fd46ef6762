import { by, events, fake, finishV2, finishV3, message, request, sent, signal, text, user } from "@belay/testkit/wire";
import { describe, expect, it } from "vitest";
import { fromAiSdk, type Part } from "../../index.ts";
import type { AiSdkModel } from "./shape.ts";

describe("the answer of the model", () => {
  it("text, calls, usage and finish of v2 arrive as events", async () => {
    const parts = [
      { type: "stream-start", warnings: [] },
      { type: "response-metadata", id: "r" },
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "Hel" },
      { type: "text-delta", id: "1", delta: "" },
      { type: "text-delta", id: "1", delta: "lo" },
      { type: "text-end", id: "1" },
      { type: "tool-input-start", id: "c", toolName: "t" },
      { type: "tool-input-delta", id: "c", delta: '{"a":' },
      { type: "tool-input-end", id: "c" },
      { type: "tool-call", toolCallId: "c", toolName: "t", input: '{"a":1}' },
      { type: "tool-call", toolCallId: "d", toolName: "t", input: "" },
      { type: "source", sourceType: "url", id: "s", url: "https://x.test" },
      { type: "something-new" },
      finishV2,
    ];
    expect(await events(fake("v2", parts))).toEqual([
      { type: "text", text: "Hel", block: "1" },
      { type: "text", text: "lo", block: "1" },
      { type: "text-end", block: "1" },
      { type: "args", text: "", id: "c", tool: "t" },
      { type: "args", text: '{"a":', id: "c", tool: "t" },
      { type: "call", id: "c", tool: "t", args: '{"a":1}' },
      { type: "call", id: "d", tool: "t", args: "{}" },
      { type: "finish", finish: "stop", usage: { inputTokens: 3, outputTokens: 2 } },
    ]);
  });

  it("a signature said in pieces is whole when the reasoning ends, also of reasoning without a word", async () => {
    const parts = [
      { type: "reasoning-start", id: "0", providerMetadata: { acme: { itemId: "i", later: null, gone: undefined } } },
      { type: "reasoning-delta", id: "0", delta: "hm" },
      { type: "text-start", id: "0", providerMetadata: { acme: { of: "text" } } },
      { type: "reasoning-delta", id: "0", delta: "", providerMetadata: { acme: { signature: "s" } } },
      { type: "reasoning-end", id: "0", providerMetadata: { acme: { later: "e" } } },
      { type: "text-end", id: "0" },
      { type: "reasoning-start", id: "1", providerMetadata: { acme: { redacted: "r" } } },
      { type: "reasoning-end", id: "1" },
      { type: "reasoning-start", id: "2", providerMetadata: { acme: {} } },
      { type: "reasoning-end", id: "2" },
      { type: "tool-call", toolCallId: "c", toolName: "t", input: "{}", providerMetadata: { acme: { thought: "t" } } },
      finishV3,
    ];
    expect(await events(fake("v3", parts))).toEqual([
      { type: "reasoning", text: "hm", block: "0" },
      { type: "reasoning-end", block: "0", provider: { acme: { itemId: "i", later: "e", signature: "s" } } },
      { type: "text-end", block: "0", provider: { acme: { of: "text" } } },
      { type: "reasoning-end", block: "1", provider: { acme: { redacted: "r" } } },
      { type: "reasoning-end", block: "2" },
      { type: "call", id: "c", tool: "t", args: "{}", provider: { acme: { thought: "t" } } },
      {
        type: "finish",
        finish: "stop",
        usage: { inputTokens: 3, outputTokens: 2, cachedInputTokens: 2, reasoningTokens: 1 },
      },
    ]);
  });

  it("files arrive as base64 or address in every version", async () => {
    const file = (data: unknown) => ({ type: "file", mediaType: "image/png", data });
    const said = await events(
      fake("v4", [
        file("AAAA"),
        file(new Uint8Array([1, 2, 3])),
        file({ type: "data", data: "BBBB" }),
        file({ type: "url", url: new URL("https://x.test/a") }),
        finishV3,
      ]),
    );
    expect(said.slice(0, -1).map((event) => event.type === "file" && event.data)).toEqual([
      { base64: "AAAA" },
      { base64: "AQID" },
      { base64: "BBBB" },
      { url: "https://x.test/a" },
    ]);
  });

  it("calls that the provider ran itself go back to it unchanged, in pairs; alone in a cut answer one stays", async () => {
    const search = {
      type: "tool-call",
      toolCallId: "s1",
      toolName: "web_search",
      input: '{"q":"x"}',
      providerExecuted: true,
      providerMetadata: { acme: { kind: "server" } },
    };
    const found = { type: "tool-result", toolCallId: "s1", toolName: "web_search", result: [{ url: "u" }] };
    const failed = { ...found, toolCallId: "s2", result: { code: "gone" }, isError: true };
    const custom = { type: "custom", kind: "acme.compaction", providerMetadata: { acme: { c: 1 } } };
    const begun = { type: "custom", kind: "acme.message_start", providerMetadata: { acme: { id: 1 } } };
    const said = await events(
      fake("v4", [
        begun,
        search,
        { ...found, preliminary: true },
        found,
        { ...search, toolCallId: "s2" },
        failed,
        custom,
        finishV3,
      ]),
    );
    const parts = said.slice(0, -1).map((event): Part => {
      if (event.type !== "opaque") throw new Error(event.type);
      return { type: "opaque", provider: by("acme.chat", event.provider) };
    });
    const call = {
      ...search,
      input: { q: "x" },
      providerMetadata: undefined,
      providerOptions: { acme: { kind: "server" } },
    };
    const output = { type: "json", value: [{ url: "u" }] };
    const back = [
      call,
      { type: "tool-result", toolCallId: "s1", toolName: "web_search", output },
      { ...call, toolCallId: "s2" },
      {
        type: "tool-result",
        toolCallId: "s2",
        toolName: "web_search",
        output: { type: "error-json", value: { code: "gone" } },
      },
      { type: "custom", kind: "acme.compaction", providerOptions: { acme: { c: 1 } } },
    ];
    expect(await sent([message("assistant", parts)], "v4")).toEqual([{ role: "assistant", content: back }]);
    const cut = { interrupted: { by: "user", at: 1 } };
    const open = await sent([message("assistant", [text("so"), ...parts.slice(0, 3)], cut)], "v4");
    expect(open).toEqual([{ role: "assistant", content: [{ type: "text", text: "so" }, back[0], back[1]] }]);
    expect(await sent([message("assistant", parts)], "v4", "other")).toEqual([]);
  });

  it("every reason to finish has its word, and usage that was not counted is left out", async () => {
    const reasons = ["stop", "length", "content-filter", "tool-calls", "other", "unknown", undefined];
    const said = await Promise.all(
      reasons.map((unified) => events(fake("v4", [{ type: "finish", finishReason: { unified, raw: "" }, usage: {} }]))),
    );
    expect(said.flat()).toEqual(
      ["stop", "length", "content-filter", "tool-calls", "other", "other", "other"].map((finish) => ({
        type: "finish",
        finish,
      })),
    );
    // A v2 stream does not show whether the provider said nothing, or something that the package does not know.
    expect(await events(fake("v2", [{ ...finishV2, finishReason: "unknown" }]))).toMatchObject([{ finish: "other" }]);
  });

  it("S7: an answer without a finish has failed, however its stream ended", async () => {
    const text = { type: "text-delta", id: "1", delta: "half an" };
    const finish = (finishReason: unknown) => ({ type: "finish", finishReason, usage: {} });
    const ends = [
      ["v2", undefined],
      ["v3", undefined],
      ["v3", { unified: "other", raw: undefined }],
      ["v4", { unified: "interrupted", raw: undefined }],
      ["v2", "error"],
      ["v3", { unified: "error", raw: "MALFORMED_FUNCTION_CALL" }],
    ] as const;
    const failures = ends.map(([version, reason]) =>
      events(fake(version, reason === undefined ? [text] : [text, finish(reason)])).catch(
        ({ message, isRetryable }) => `${message}, ${isRetryable ? "worth another try" : "final"}`,
      ),
    );
    expect(await Promise.all(failures)).toEqual([
      "the stream ended before the answer was complete, worth another try",
      "the stream ended before the answer was complete, worth another try",
      "the stream ended before the answer was complete, worth another try",
      "the stream ended before the answer was complete, worth another try",
      "the provider ended the answer with an error, worth another try",
      "the provider ended the answer with an error: MALFORMED_FUNCTION_CALL, worth another try",
    ]);
  });
});

describe("errors and stops", () => {
  it("an error is thrown as it is, from the call and from the stream", async () => {
    const error = Object.assign(new Error("busy"), { statusCode: 429, isRetryable: true });
    const failing = { ...fake("v3", []), doStream: () => Promise.reject(error) };
    await expect(events(failing)).rejects.toBe(error);
    const throwing = {
      ...fake("v3", []),
      doStream() {
        throw error;
      },
    };
    await expect(events(throwing)).rejects.toBe(error);
    const model = fake("v3", [{ type: "error", error }, finishV3]);
    await expect(events(model)).rejects.toBe(error);
  });

  it("an error said as text or as an object becomes one that can be read and classified", async () => {
    await expect(events(fake("v3", [{ type: "error", error: "no" }]))).rejects.toThrow("no");
    const said = { type: "overloaded_error", message: "Overloaded" };
    await expect(events(fake("v3", [{ type: "error", error: said }]))).rejects.toMatchObject({
      message: "Overloaded",
      isRetryable: true,
      cause: said,
    });
    const status = { message: "bad", statusCode: 400, isRetryable: false };
    await expect(events(fake("v3", [{ type: "error", error: status }]))).rejects.toMatchObject(status);
  });

  it("the signal is read once, when the first event is asked for", async () => {
    let reads = 0;
    const options = {
      get signal() {
        reads++;
        return signal;
      },
    };
    const stream = fromAiSdk(fake("v3", [finishV3])).stream(request([user("hi")]), options);
    expect(reads).toBe(0);
    for await (const _ of stream) expect(reads).toBe(1);
    expect(reads).toBe(1);
  });

  it("return() ends a read that a deaf provider never ends, and cancels the stream", async () => {
    const model = fake("v3", [{ type: "text-delta", id: "1", delta: "a" }], { open: true });
    const iterator = fromAiSdk(model)
      .stream(request([user("hi")]), { signal })
      [Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: { type: "text", text: "a", block: "1" } });
    const waiting = iterator.next();
    expect(await iterator.return!()).toEqual({ done: true, value: undefined });
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(await iterator.return!()).toEqual({ done: true, value: undefined });
    expect(model.cancelled).toBe(true);
  });

  it("after the finish the stream is read to its end; one that does not end is still cancelled for a waiting reader", async () => {
    const model = fake("v3", [finishV3, { type: "raw", rawValue: 1 }], { open: true });
    const iterator = fromAiSdk(model)
      .stream(request([user("hi")]), { signal })
      [Symbol.asyncIterator]();
    expect((await iterator.next()).value).toMatchObject({ type: "finish" });
    const waiting = iterator.next();
    await iterator.return!();
    expect([await waiting, model.cancelled]).toEqual([{ done: true, value: undefined }, true]);

    const ending = fake("v3", [finishV3, { type: "raw", rawValue: 1 }]);
    const second = fromAiSdk(ending)
      .stream(request([user("hi")]), { signal })
      [Symbol.asyncIterator]();
    await second.next();
    await second.return!();
    await new Promise((resolve) => setTimeout(resolve));
    expect(ending.cancelled).toBe(false);
  });

  it("return() before the provider has answered settles at once, and the late stream is cancelled", async () => {
    const model = fake("v3", [finishV3], { open: true });
    let answer: (() => void) | undefined;
    const late: AiSdkModel = {
      ...model,
      async doStream(call) {
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return model.doStream(call);
      },
    };
    const iterator = fromAiSdk(late)
      .stream(request([user("hi")]), { signal })
      [Symbol.asyncIterator]();
    const waiting = iterator.next();
    await iterator.return!();
    expect(await waiting).toEqual({ done: true, value: undefined });
    answer!();
    await new Promise((resolve) => setTimeout(resolve));
    expect(model.cancelled).toBe(true);
  });

  it("a stream without a reader makes no request, and return() costs none", async () => {
    const model = fake("v3", [finishV3]);
    const iterator = fromAiSdk(model)
      .stream(request([user("hi")]), { signal })
      [Symbol.asyncIterator]();
    await iterator.return!();
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(model.calls).toEqual([]);
  });

  it("ten thousand parts that say nothing are passed over without a deep chain", async () => {
    const parts = Array.from({ length: 10_000 }, () => ({ type: "raw", rawValue: "x" }));
    expect((await events(fake("v3", [...parts, finishV3]))).map((event) => event.type)).toEqual(["finish"]);
  });
});
