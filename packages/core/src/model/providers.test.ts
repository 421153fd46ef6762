// The real AI SDK packages against a provider on localhost: each request is checked by the rules of its API.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  anthropicProblems,
  message,
  openAiProblems,
  openAiResponsesProblems,
  request,
  text,
  user,
  type WireServer,
  wireServer,
} from "@belay/testkit/wire";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  content,
  fromAiSdk,
  type Json,
  type Message,
  type Model,
  type ModelEvent,
  type ModelRequest,
  type Part,
} from "../index.ts";
import type { ToolSpec } from "./model.ts";

let wire: WireServer;
beforeEach(async () => {
  wire = await wireServer();
});
afterEach(() => wire.close());

const apiKey = "test";
const providers = {
  "openai-compatible": {
    model: () =>
      fromAiSdk(createOpenAICompatible({ name: "local", baseURL: wire.url, apiKey, includeUsage: true })("m")),
    problems: openAiProblems,
  },
  "openai chat": {
    model: () => fromAiSdk(createOpenAI({ baseURL: wire.url, apiKey }).chat("gpt-4o")),
    problems: openAiProblems,
  },
  "openai responses": {
    model: () => fromAiSdk(createOpenAI({ baseURL: wire.url, apiKey }).responses("gpt-5")),
    problems: openAiResponsesProblems,
  },
  anthropic: {
    model: () => fromAiSdk(createAnthropic({ baseURL: wire.url, apiKey })("claude-sonnet-4-5")),
    problems: (body: unknown) => anthropicProblems(body),
  },
} satisfies Record<string, { model: () => Model; problems: (body: unknown) => string[] }>;
type Name = keyof typeof providers;
const names = Object.keys(providers) as Name[];

const add: ToolSpec = {
  name: "add",
  description: "Adds two numbers.",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
    additionalProperties: false,
  },
};

/** Reads until `enough` is true for the events; then stops as the kernel does: abort, then return. */
async function read(model: Model, asked: ModelRequest, enough?: (events: ModelEvent[]) => boolean) {
  const control = new AbortController();
  const events: ModelEvent[] = [];
  const stream = model.stream(asked, { signal: control.signal })[Symbol.asyncIterator]();
  for (;;) {
    const step = await stream.next();
    if (step.done) return { events, stoppedAt: undefined };
    events.push(step.value);
    if (!enough?.(events)) continue;
    const waiting = stream.next().catch((error: unknown) => error);
    const stoppedAt = performance.now();
    control.abort(new Error("stop"));
    await stream.return?.();
    await waiting;
    return { events, stoppedAt };
  }
}

/** The message that these events make, as the kernel would record it. */
function answer(model: Model, events: readonly ModelEvent[], more: Partial<Message> = {}): Message {
  const parts: Part[] = [];
  let open: { type: "text" | "reasoning"; text: string } | undefined;
  const close = (data?: ModelEvent & { provider?: unknown }) => {
    const provider = data?.provider === undefined ? undefined : { name: model.provider!, data: data.provider };
    if (open) parts.push({ ...open, ...(provider && { provider }) } as Part);
    open = undefined;
  };
  for (const event of events) {
    if (event.type === "text" || event.type === "reasoning") {
      if (open?.type !== event.type) close();
      open ??= { type: event.type, text: "" };
      open.text += event.text;
    } else if (event.type === "text-end" || event.type === "reasoning-end") {
      close(event);
    } else if (event.type === "call") {
      const provider = event.provider === undefined ? undefined : { name: model.provider!, data: event.provider };
      parts.push({ type: "call", id: event.id, tool: event.tool, args: JSON.parse(event.args as string), provider });
    }
  }
  close();
  return message("assistant", parts, more);
}

const said = (events: readonly ModelEvent[]) =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

describe.each(names)("%s", (name) => {
  const provider = providers[name];
  const bodyOf = (n: number) => wire.requests[n - 1]!.body;
  const valid = () =>
    expect(wire.requests.map((each) => provider.problems(each.body))).toEqual(wire.requests.map(() => []));

  it("text streams through, with its usage and why it ended", async () => {
    wire.script(["Hel", { wait: 5 }, "lo"]);
    const { events } = await read(provider.model(), request([message("system", [text("Be brief.")]), user("Hi")]));
    expect(events.filter((event) => event.type === "text").map((event) => event.text)).toEqual(["Hel", "lo"]);
    expect(events.at(-1)).toEqual({ type: "finish", finish: "stop", usage: { inputTokens: 11, outputTokens: 7 } });
    valid();
    expect(await wire.requests[0]!.ended).toBe("answered");
  });

  it("I4: a schema that the provider cannot follow strictly is sent without strict, and options of the user stay", async () => {
    const model = provider.model();
    const schema = (required: string[]) => ({
      type: "object",
      properties: { a: { type: "string" } },
      required,
      additionalProperties: false,
    });
    const ask = (output: ModelRequest["output"], providerOptions?: Json) =>
      read(model, request([user("Hi")], { output, providerOptions }));
    wire.script(["{}"], ["{}"], ["{}"]);
    await ask({ name: "out", schema: schema(["a"]), strict: true });
    await ask({ name: "out", schema: schema([]), strict: false });
    const mine = { openai: { strictJsonSchema: true }, local: { strictJsonSchema: true } };
    await ask({ name: "out", schema: schema([]), strict: false }, mine);
    const sent = wire.requests.map(({ body }) => JSON.stringify(body));
    expect(sent.map((body) => /"strict":(true|false)/.exec(body)?.[1])).toEqual(
      name === "anthropic" || name === "openai-compatible"
        ? [undefined, undefined, undefined]
        : ["true", "false", "true"],
    );
  });

  it("I3: files of a result reach a provider that takes them there; another one gets the text", async () => {
    const png = "iVBORw0KGgo=";
    const drawn = content(["A map:", { type: "file", mediaType: "image/png", data: { base64: png }, name: "map.png" }]);
    const output = drawn as unknown as Json;
    wire.script(["nice"]);
    const asked = [
      user("Draw."),
      message("assistant", [{ type: "call", id: "call_1", tool: "add", args: { a: 1, b: 2 } }]),
      message("tool", [{ type: "result", id: "call_1", tool: "add", outcome: "ok", output }]),
    ];
    await read(provider.model(), request(asked, { tools: [add] }));
    valid();
    const sent = JSON.stringify(bodyOf(1));
    const takes = name === "anthropic" || name === "openai responses";
    expect([sent.includes(png), sent.includes("[file map.png]"), sent.includes("A map:")]).toEqual([
      takes,
      !takes,
      true,
    ]);
  });

  it("a call and its result make the round trip", async () => {
    const model = provider.model();
    wire.script(
      [
        "Let me see. ",
        { call: "add", id: "call_1", args: { a: 1, b: 2 } },
        { call: "add", id: "call_2", args: { a: 3, b: 4 } },
      ],
      ["10"],
    );
    const asked = [user("1+2 and 3+4?")];
    const { events } = await read(model, request(asked, { tools: [add] }));
    expect(events.filter((event) => event.type === "call")).toMatchObject([
      { id: "call_1", tool: "add", args: '{"a":1,"b":2}' },
      { id: "call_2", tool: "add", args: '{"a":3,"b":4}' },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "finish", finish: "tool-calls" });
    const results = message("tool", [
      { type: "result", id: "call_1", tool: "add", outcome: "ok", output: { sum: 3 } },
      { type: "result", id: "call_2", tool: "add", outcome: "error", output: "out of numbers" },
    ]);
    const second = await read(model, request([...asked, answer(model, events), results], { tools: [add] }));
    expect(said(second.events)).toBe("10");
    valid();
    const sent = JSON.stringify(bodyOf(2));
    expect(["call_1", "call_2", '{\\"sum\\":3}', "out of numbers"].filter((part) => !sent.includes(part))).toEqual([]);
  });

  it("an abort closes the provider's socket, in mid-text, at a stall, and before the first byte", async () => {
    wire.script(["one ", { wait: 30_000 }, "two"], ["one ", { stall: true }], { stall: true });
    const model = provider.model();
    const took: number[] = [];
    for (let n = 1; n <= 2; n++) {
      const { stoppedAt } = await read(model, request([user("go")]), (events) => said(events) === "one ");
      expect(await wire.requests[n - 1]!.ended).toBe("closed");
      took.push(wire.requests[n - 1]!.closedAt! - stoppedAt!);
    }
    const control = new AbortController();
    const stream = model.stream(request([user("go")]), { signal: control.signal })[Symbol.asyncIterator]();
    const waiting = stream.next().catch(() => undefined);
    const third = await wire.arrived(3);
    const stoppedAt = performance.now();
    control.abort();
    await stream.return?.();
    await waiting;
    expect(await third.ended).toBe("closed");
    took.push(third.closedAt! - stoppedAt);
    console.log(`${name}: socket closed after ${took.map((ms) => ms.toFixed(1)).join(", ")} ms`);
    expect(Math.max(...took)).toBeLessThan(5_000);
  });

  it("without an abort, return() alone closes the socket of a stream that has begun", async () => {
    wire.script(["one ", { stall: true }]);
    const stream = provider.model().stream(request([user("go")]), { signal: new AbortController().signal });
    for await (const event of stream) if (event.type === "text") break;
    expect(await wire.requests[0]!.ended).toBe("closed");
  });

  it("the partial answer and the new input arrive in order in the next request", async () => {
    const model = provider.model();
    wire.script([{ reasoning: "thinking", signature: "sig-1" }, "The answer ", "is", { stall: true }], ["4"]);
    const { events } = await read(model, request([user("2+3?")]), (all) => said(all) === "The answer is");
    const cut = answer(model, events, { interrupted: { by: "user", at: 1 } });
    await read(model, request([user("2+3?"), cut, user("No: 2+2!"), user("Please.")]));
    valid();
    const sent = JSON.stringify(bodyOf(2));
    const places = ["2+3?", "The answer is", "No: 2+2!", "Please."].map((part) => sent.indexOf(part));
    expect(places.every((place) => place > 0)).toBe(true);
    expect([...places].sort((a, b) => a - b)).toEqual(places);
  });

  it("a call that was not received to its end is no call", async () => {
    wire.script(["so ", { call: "add", id: "call_1", args: { a: 1, b: 2 }, unfinished: true }, { stall: true }]);
    const control = new AbortController();
    const stream = provider.model().stream(request([user("go")], { tools: [add] }), { signal: control.signal });
    const heard: string[] = [];
    try {
      for await (const event of stream) {
        heard.push(event.type);
        // By then the beginning of the call is there as well.
        if (event.type === "text") setTimeout(() => control.abort(), 100);
      }
    } catch {
      heard.push("aborted");
    }
    expect(heard.filter((type) => type !== "text-end" && type !== "args")).toEqual(["text", "aborted"]);
  });

  it("turns that end at the finish share one connection", async () => {
    const model = provider.model();
    for (let n = 1; n <= 3; n++) {
      wire.script({ steps: ["hi"], lingerMs: 5 });
      const stream = model.stream(request([user("go")]), { signal: new AbortController().signal });
      for await (const event of stream) if (event.type === "finish") break;
      expect(await (await wire.arrived(n)).ended).toBe("answered");
      // The client reads the end between these.
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(new Set(wire.requests.map((each) => each.port)).size).toBe(1);
  });

  it("a refusal arrives with its status and headers, a broken connection as an error", async () => {
    const model = provider.model();
    wire.script(
      { status: 429, headers: { "retry-after": "2" } },
      { status: 500, message: "broken" },
      { drop: true },
      ["one ", { drop: true }],
      ["one ", { fail: "Overloaded" }],
    );
    const errors: unknown[] = [];
    for (let i = 0; i < 5; i++) errors.push(await read(model, request([user("go")])).catch((error) => error));
    expect(errors[0]).toMatchObject({ statusCode: 429, isRetryable: true, responseHeaders: { "retry-after": "2" } });
    expect(errors[1]).toMatchObject({ statusCode: 500, isRetryable: true });
    expect(errors.map((error) => error instanceof Error)).toEqual([true, true, true, true, true]);
    expect((errors[4] as Error).message).toContain("Overloaded");
    expect(await Promise.all(wire.requests.slice(2, 4).map((each) => each.ended))).toEqual(["dropped", "dropped"]);
  });

  it("files of a person reach the provider", async () => {
    wire.script(["a cat"]);
    const png = "iVBORw0KGgo=";
    const parts: Part[] = [
      text("What is this?"),
      { type: "file", mediaType: "image/png", data: { base64: png }, name: "cat.png" },
      { type: "file", mediaType: "image/png", data: { url: "https://x.test/cat.png" } },
    ];
    await read(provider.model(), request([message("user", parts)]));
    valid();
    const sent = JSON.stringify(bodyOf(1));
    expect([sent.includes(png), sent.includes("https://x.test/cat.png")]).toEqual([true, true]);
  });
});

describe("reasoning", () => {
  it("a signature goes back verbatim to Anthropic, before the call it belongs to", async () => {
    const model = providers.anthropic.model();
    wire.script(
      [
        { reasoning: "I should " },
        { reasoning: "add.", signature: "c2ln+/=" },
        { call: "add", id: "call_1", args: { a: 1, b: 2 } },
      ],
      ["3"],
    );
    const { events } = await read(model, request([user("1+2?")], { tools: [add] }));
    const results = message("tool", [{ type: "result", id: "call_1", tool: "add", outcome: "ok", output: "3" }]);
    await read(model, request([user("1+2?"), answer(model, events), results], { tools: [add] }));
    expect(wire.requests[1]!.body.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "1+2?" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "I should add.", signature: "c2ln+/=" },
          { type: "tool_use", id: "call_1", name: "add", input: { a: 1, b: 2 } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: "3" }] },
    ]);
  });

  it("reasoning that was cut or that another provider signed is not sent", async () => {
    const model = providers.anthropic.model();
    wire.script([{ reasoning: "half a" }, { stall: true }], ["ok"]);
    const { events } = await read(model, request([user("go")]), (all) => all.some((e) => e.type === "reasoning"));
    const foreign: Part = {
      type: "reasoning",
      text: "hm",
      provider: { name: "openai.responses", data: { openai: { itemId: "rs_1" } } },
    };
    const cut = answer(model, events, { interrupted: { by: "user", at: 1 } });
    await read(model, request([user("go"), cut, message("assistant", [foreign, text("so")]), user("well?")]));
    expect(wire.requests[1]!.body.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "go" }] },
      { role: "assistant", content: [{ type: "text", text: "so" }] },
      { role: "user", content: [{ type: "text", text: "well?" }] },
    ]);
  });

  it("OpenAI is given references into whole answers, and the words of one that was cut", async () => {
    const model = providers["openai responses"].model();
    wire.script(
      [{ reasoning: "hm", signature: "enc" }, "Yes."],
      [{ reasoning: "hm", signature: "enc" }, "No, ", { stall: true }],
      ["ok"],
    );
    const first = answer(model, (await read(model, request([user("a")]))).events);
    const asked = [user("a"), first, user("b")];
    const { events } = await read(model, request(asked), (all) => said(all) !== "");
    const cut = answer(model, events, { interrupted: { by: "user", at: 1 } });
    await read(model, request([...asked, cut, user("c")]));
    expect(wire.requests[2]!.body.input).toEqual([
      { role: "user", content: [{ type: "input_text", text: "a" }] },
      { type: "item_reference", id: "rs_1_0" },
      { type: "item_reference", id: "msg_1_1" },
      { role: "user", content: [{ type: "input_text", text: "b" }] },
      { role: "assistant", content: [{ type: "output_text", text: "No, " }] },
      { role: "user", content: [{ type: "input_text", text: "c" }] },
    ]);
  });
});
