import { by, fake, finishV3, message, request, sent, signal, text, user } from "@belay/testkit/wire";
import { describe, expect, it } from "vitest";
import { content, fromAiSdk, type Json, type Message, type Part } from "../../index.ts";

describe("the prompt of the AI SDK", () => {
  it("every role and part is written; each outcome but ok is an error; other values than objects are wrapped", async () => {
    const call = (id: string, args: Json): Part => ({ type: "call", id, tool: "t", args });
    const result = (id: string, outcome: "ok" | "error" | "interrupted", output: Json): Part => {
      return { type: "result", id, tool: "t", outcome, output };
    };
    const prompt = await sent([
      message("system", [text("be brief")]),
      user("go"),
      message("assistant", [text("calling"), call("1", { a: 1 }), call("2", "{a:"), call("3", [1])]),
      message("tool", [result("1", "ok", "fine"), result("2", "error", "bad"), result("3", "interrupted", { at: 1 })]),
      message("assistant", [call("4", {})]),
      message("tool", [result("4", "ok", [1, null])]),
    ]);
    expect(prompt).toEqual([
      { role: "system", content: "be brief" },
      { role: "user", content: [{ type: "text", text: "go" }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "calling" },
          { type: "tool-call", toolCallId: "1", toolName: "t", input: { a: 1 } },
          { type: "tool-call", toolCallId: "2", toolName: "t", input: { invalid_arguments: "{a:" } },
          { type: "tool-call", toolCallId: "3", toolName: "t", input: { invalid_arguments: [1] } },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "1", toolName: "t", output: { type: "text", value: "fine" } },
          { type: "tool-result", toolCallId: "2", toolName: "t", output: { type: "error-text", value: "bad" } },
          { type: "tool-result", toolCallId: "3", toolName: "t", output: { type: "error-json", value: { at: 1 } } },
        ],
      },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "4", toolName: "t", input: {} }] },
      {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: "4", toolName: "t", output: { type: "json", value: [1, null] } }],
      },
    ]);
  });

  it("provider data goes back verbatim to its provider; unsigned and foreign reasoning, blanks and empty messages stay", async () => {
    const signed = { acme: { signature: "s1" } };
    const prompt = await sent([
      user("go"),
      message("assistant", [
        { type: "reasoning", text: "mine", provider: by("acme.chat", signed) },
        { type: "reasoning", text: "unsigned" },
        { type: "reasoning", text: "foreign", provider: by("other", { other: { signature: "s2" } }) },
        { type: "text", text: "said", provider: by("other", { other: { id: 1 } }) },
        text(" \n"),
      ]),
      message("assistant", [{ type: "reasoning", text: "only this" }]),
      user("and?"),
    ]);
    expect(prompt).toEqual([
      { role: "user", content: [{ type: "text", text: "go" }] },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "mine", providerOptions: signed },
          { type: "text", text: "said" },
        ],
      },
      { role: "user", content: [{ type: "text", text: "and?" }] },
    ]);
  });

  it("of a cut answer nothing refers to items that a Responses API did not keep; elsewhere signatures still go back", async () => {
    const parts = (provider: string, data: Json): Part[] => [
      { type: "reasoning", text: "hm", provider: by(provider, data) },
      { type: "text", text: "part", provider: by(provider, data) },
    ];
    const cut = { interrupted: { by: "user", at: 1 } };
    const prompts = await Promise.all([
      sent(
        [message("assistant", parts("openai.responses", { openai: { itemId: "i" } }), cut)],
        "v3",
        "openai.responses",
      ),
      sent([message("assistant", parts("gateway", { openai: { itemId: "i" } }), cut)], "v3", "gateway"),
      sent([message("assistant", parts("gateway", { openai: { itemId: "i" } }))], "v3", "gateway"),
      sent([message("assistant", parts("acme.chat", { acme: { signature: "s" } }), cut)]),
    ]);
    const bare = [{ role: "assistant", content: [{ type: "text", text: "part" }] }];
    const whole = (providerOptions: Json) => [
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm", providerOptions },
          { type: "text", text: "part", providerOptions },
        ],
      },
    ];
    expect(prompts).toEqual([bare, bare, whole({ openai: { itemId: "i" } }), whole({ acme: { signature: "s" } })]);
  });

  it("files go as base64 or address, as each version writes them; a data url is unpacked", async () => {
    const file = (data: { base64: string } | { url: string }): Part => {
      return { type: "file", mediaType: "image/png", data, name: "a.png" };
    };
    const asked = [
      message("user", [
        file({ base64: "AAAA" }),
        file({ url: "https://x.test/a.png" }),
        file({ url: "data:image/png;base64,BBBB" }),
      ]),
    ];
    const written = (data: unknown) => ({ type: "file", mediaType: "image/png", filename: "a.png", data });
    const url = new URL("https://x.test/a.png");
    const plain = [{ role: "user", content: [written("AAAA"), written(url), written("BBBB")] }];
    expect(await sent(asked, "v2")).toEqual(plain);
    expect(await sent(asked, "v3")).toEqual(plain);
    const data = (bytes: string) => written({ type: "data", data: bytes });
    expect(await sent(asked, "v4")).toEqual([
      { role: "user", content: [data("AAAA"), written({ type: "url", url }), data("BBBB")] },
    ]);
  });

  it("I3: text and files of a result reach models that take them, as each version writes them", async () => {
    const parts = content([
      "A map:",
      { type: "file", mediaType: "image/png", data: { base64: "AAAA" }, name: "map.png" },
      { type: "file", mediaType: "application/pdf", data: { url: "https://x.test/a.pdf" } },
      { type: "file", mediaType: "text/csv", data: { base64: "BBBB" }, name: "a.csv" },
    ]);
    const output = parts as unknown as Json;
    const asked = (outcome: "ok" | "error") => [
      user("hi"),
      message("assistant", [{ type: "call", id: "c", tool: "draw", args: {} }]),
      message("tool", [{ type: "result", id: "c", tool: "draw", outcome, output }]),
    ];
    const got = async (version: "v2" | "v3" | "v4", outcome: "ok" | "error" = "ok") => {
      const prompt = await sent(asked(outcome), version, "acme.messages");
      return (prompt as { content: { output: unknown }[] }[])[2]!.content[0]!.output;
    };
    const said = { type: "text", text: "A map:" };
    expect(await got("v2")).toEqual({
      type: "content",
      value: [
        said,
        { type: "media", mediaType: "image/png", data: "AAAA" },
        { type: "text", text: "[file application/pdf]" },
        { type: "media", mediaType: "text/csv", data: "BBBB" },
      ],
    });
    expect(await got("v3")).toEqual({
      type: "content",
      value: [
        said,
        { type: "image-data", mediaType: "image/png", data: "AAAA" },
        { type: "file-url", mediaType: "application/pdf", url: "https://x.test/a.pdf" },
        { type: "file-data", mediaType: "text/csv", data: "BBBB", filename: "a.csv" },
      ],
    });
    const tagged = (data: string) => ({ type: "data", data });
    expect(await got("v4")).toEqual({
      type: "content",
      value: [
        said,
        { type: "file", mediaType: "image/png", data: tagged("AAAA"), filename: "map.png" },
        { type: "file", mediaType: "application/pdf", data: { type: "url", url: new URL("https://x.test/a.pdf") } },
        { type: "file", mediaType: "text/csv", data: tagged("BBBB"), filename: "a.csv" },
      ],
    });
    expect(await got("v3", "error")).toMatchObject({ type: "error-text", value: expect.stringMatching("A map:") });
  });

  it("a data url that spells its text out is unpacked too, and gives the type if the file does not", async () => {
    const asked = ["data:,a%20%FF", "data:text/csv;charset=utf-8,é,1"].map((url) =>
      message("user", [{ type: "file", mediaType: "", data: { url } }]),
    );
    const file = (mediaType: string, bytes: Buffer) => ({ type: "file", mediaType, data: bytes.toString("base64") });
    expect(await sent(asked)).toMatchObject([
      { content: [file("text/plain", Buffer.from([0x61, 0x20, 0xff]))] },
      { content: [file("text/csv", Buffer.from("é,1"))] },
    ]);
  });

  it("a stored blob and a broken address are refused, naming the file, each time they are asked for", async () => {
    const blob = message("user", [{ type: "file", mediaType: "image/png", data: { blob: "b1" }, name: "a.png" }]);
    const model = fromAiSdk(fake("v3", [finishV3]));
    for (let i = 0; i < 2; i++) {
      const next = model
        .stream(request([blob]), { signal })
        [Symbol.asyncIterator]()
        .next();
      await expect(next).rejects.toMatchObject({ code: "INPUT_INVALID", message: expect.stringContaining("a.png") });
    }
    const broken = message("user", [{ type: "file", mediaType: "image/png", data: { url: "nowhere" } }]);
    await expect(sent([broken])).rejects.toMatchObject({ code: "INPUT_INVALID" });
  });
});

describe("a long conversation", () => {
  it("a message is converted once, wherever others come, go or change", async () => {
    const model = fake("v3", [finishV3]);
    const belay = fromAiSdk(model);
    const ask = async (messages: readonly Message[]) => {
      await belay.stream(request(messages), { signal })[Symbol.asyncIterator]().next();
      return model.calls.at(-1)!.prompt as object[];
    };
    const [a, b, c, d] = [user("a"), message("assistant", [text("b")]), user("c"), user("d")];
    const skipped = message("assistant", [{ type: "reasoning", text: "unsigned" }]);
    const first = await ask([message("system", [text("s")]), a!, b!]);
    const second = await ask([message("system", [text("s")]), a!, b!, skipped, c!]);
    expect([second[1] === first[1], second[2] === first[2], second.length]).toEqual([true, true, 4]);
    const third = await ask([message("system", [text("s2")]), a!, b!, skipped, d!]);
    expect(third.map((m) => JSON.stringify(m))).toEqual([
      '{"role":"system","content":"s2"}',
      '{"role":"user","content":[{"type":"text","text":"a"}]}',
      '{"role":"assistant","content":[{"type":"text","text":"b"}]}',
      '{"role":"user","content":[{"type":"text","text":"d"}]}',
    ]);
    third.length = 0;
    (await ask([a!, b!])).length = 0;
    const before = await ask([a!, skipped, b!, c!]);
    const after = await ask([a!, user("new"), b!, c!]);
    expect([before.length, after.length, after[3] === before[2]]).toEqual([3, 4, true]);
    expect((await ask([a!, skipped, skipped, c!, skipped])).length).toBe(2);
    expect((await ask([a!, skipped])).length).toBe(1);
    expect((await ask([a!, b!])).length).toBe(2);
    expect((await ask([a!, b!, c!, d!])).length).toBe(4);
  });

  it("a list that is changed in place is read as it is now", async () => {
    const model = fake("v3", [finishV3]);
    const belay = fromAiSdk(model);
    const list = [user("a"), user("b")];
    const ask = async () => {
      await belay.stream(request(list), { signal })[Symbol.asyncIterator]().next();
      return JSON.stringify(model.calls.at(-1)!.prompt);
    };
    await ask();
    list[1] = user("c");
    expect(await ask()).toContain('"c"');
  });
});
