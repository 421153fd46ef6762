import { history, type Kit, type KitOptions, listen, openKit, said, unpaired } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { jsonSchema, type Message, type Model, type ModelEvent, tool } from "../index.ts";
import { fakeClock, type ScriptedTurn } from "../testing/index.ts";

const fails = (fields: object, message = "failed") => [{ throw: Object.assign(new Error(message), fields) }];

/** Runs "a" to its end with time passing as it needs to; says how much did. */
async function timed(
  turns: readonly ScriptedTurn[] | Model,
  options: KitOptions = {},
  go?: (kit: Kit) => ReturnType<Kit["session"]["run"]>,
) {
  const clock = fakeClock();
  const kit = await openKit(turns, { clock, ...options });
  const begun = clock.now();
  const run = go ? go(kit) : kit.session.run("a");
  const heard = listen(run);
  let waited = 0;
  let over = false;
  void run.result.then(() => {
    over = true;
    waited = clock.now() - begun;
  });
  while (!over) await clock.advance(10);
  return { kit, clock, events: await heard.all, result: await run.result, waited };
}

describe("another try", () => {
  for (const [what, fields, message] of [
    ["429", { statusCode: 429 }],
    ["500", { status: 500 }],
    ["503", { statusCode: 503 }],
    ["529", { statusCode: 529 }],
    ["408", { statusCode: 408 }],
    ["a reset connection", { code: "ECONNRESET" }],
    ["a cause deep inside", { cause: Object.assign(new Error("x"), { cause: { code: "UND_ERR_SOCKET" } }) }],
    ["an error that says so itself", { isRetryable: true }],
    ["a socket that hung up", {}, "socket hang up"],
  ] as const) {
    it(`is made after ${what}, as attempt 2, and readers get superseded`, async () => {
      const { events, result, kit } = await timed([fails(fields, message), "ok"]);
      expect(result).toMatchObject({ status: "completed", text: "ok" });
      expect(said(events).slice(4)).toEqual([
        "turn-start 1",
        "waits for try 2 of 4",
        "superseded, attempt 2",
        "text ok",
        "message assistant: ok",
        "turn-end 1",
        "run-end completed",
        "state completed",
      ]);
      expect(events.find((event) => event.type === "message" && event.message.role === "assistant")).toMatchObject({
        attempt: 2,
      });
      expect(kit.requests[1]!.messages).toEqual(kit.requests[0]!.messages);
    });
  }

  for (const [what, fields] of [
    ["400", { statusCode: 400 }],
    ["401", { status: 401 }],
    ["404", { statusCode: 404 }],
    ["422", { statusCode: 422 }],
    ["an error that says so itself", { isRetryable: false }],
    ["an error of the program", {}],
  ] as const) {
    it(`is not made after ${what}`, async () => {
      const { result, kit, waited } = await timed([fails(fields, "no such thing"), "ok"]);
      expect(result).toMatchObject({
        status: "failed",
        error: { code: "MODEL_FAILED", message: expect.stringContaining("no such thing") },
      });
      expect(result.status === "failed" && result.error.message).toContain("1 try");
      expect(kit.requests).toHaveLength(1);
      expect(waited).toBe(0);
    });
  }

  it("names the innermost cause if the error itself does not", async () => {
    const cause = new Error("terminated", { cause: new Error("other side closed") });
    const { result } = await timed([fails({ isRetryable: false, cause }, "no answer")]);
    expect(result).toMatchObject({ error: { message: expect.stringMatching(/: no answer: other side closed$/) } });
  });

  const broken: ScriptedTurn = [{ reasoning: "Hm." }, { text: "Hel" }, ...fails({ code: "ECONNRESET" })];

  it("I6: is made after text was shown, which is void: superseded, attempt 2", async () => {
    const { result, kit, events } = await timed([broken, "Hello"]);
    expect(result).toMatchObject({ status: "completed", text: "Hello" });
    expect(said(events).slice(5, -3)).toEqual([
      "reasoning Hm.",
      "text Hel",
      "waits for try 2 of 4",
      "superseded, attempt 2",
      "text Hello",
      "message assistant: Hello",
    ]);
    expect(events.find(({ type }) => type === "model-wait")).toMatchObject({
      attempt: 2,
      reason: "turn",
      retry: { try: 2, tries: 4, problem: "failed" },
    });
    expect(history(kit.session.messages)).toEqual(["user: a", "assistant: Hello"]);
    expect(kit.requests[1]!.messages).toEqual(kit.requests[0]!.messages);
  });

  it("I6: continues the text if the model takes a prefix, and nothing is void", async () => {
    const cut: ScriptedTurn = [{ text: "Hel" }, ...fails({ code: "ECONNRESET" })];
    const { result, kit, events } = await timed([cut, cut, "lo"], { script: { prefill: true } });
    expect(result).toMatchObject({ status: "completed", text: "HelHello" });
    expect(said(events).slice(5, -3)).toEqual([
      "text Hel",
      "waits for try 2 of 4",
      "text Hel",
      "waits for try 3 of 4",
      "text lo",
      "message assistant: Hel + Hel + lo",
    ]);
    expect(events.flatMap((event) => (event.type === "text-delta" ? [[event.offset, event.attempt]] : []))).toEqual([
      [0, 1],
      [3, 2],
      [6, 3],
    ]);
    expect(kit.requests.map(({ messages }) => history(messages))).toEqual([
      ["user: a"],
      ["user: a", "assistant: Hel"],
      ["user: a", "assistant: HelHel"],
    ]);
  });

  it("I6: begins again if the text ends in a blank or has reasoning before it: no provider takes such a prefix", async () => {
    const blank: ScriptedTurn = [{ text: "Hel " }, ...fails({ code: "ECONNRESET" })];
    for (const first of [blank, broken]) {
      const { result, events } = await timed([first, "Hello"], { script: { prefill: true } });
      expect(result).toMatchObject({ status: "completed", text: "Hello" });
      expect(said(events)).toContain("superseded, attempt 2");
    }
  });

  it("I6: a stop while it waits keeps the text that was shown", async () => {
    const clock = fakeClock();
    const kit = await openKit([[{ text: "Hel" }, ...fails({ statusCode: 503 })], "never"], { clock });
    const run = kit.session.run("a");
    const heard = listen(run);
    await clock.advance(1);
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true, partialText: "Hel" });
    await run.result;
    expect(history(kit.session.messages)).toEqual(["user: a", "assistant~user: Hel"]);
    expect(said(await heard.all)).not.toContain("superseded, attempt 2");
    expect(kit.requests).toHaveLength(1);
  });

  it("I6: is not made after a call was received whole: S7 applies, and no call of it runs", async () => {
    const turn: ScriptedTurn = [{ text: "Hel" }, { call: "look", id: "c" }, ...fails({ code: "ECONNRESET" })];
    const { result, kit } = await timed([turn, "lo"]);
    expect(result).toMatchObject({ status: "failed", error: { code: "MODEL_FAILED" } });
    expect(history(kit.session.messages)).toEqual(["user: a", "assistant~error: Hel"]);
    expect(kit.requests).toHaveLength(1);
  });

  it("S7: after the last try its text is kept, tagged by error", async () => {
    const agent = { settings: { retry: { attempts: 2 } } };
    const cut = (text: string): ScriptedTurn => [{ text }, ...fails({ statusCode: 503 })];
    const { result, kit, events } = await timed([cut("one"), cut("Hel"), "lo"], { agent });
    expect(result).toMatchObject({ status: "failed", error: { code: "MODEL_FAILED" } });
    expect(history(kit.session.messages)).toEqual(["user: a", "assistant~error: Hel"]);
    expect(kit.session.messages[1]!.interrupted).toMatchObject({ by: "error", reason: "MODEL_FAILED" });
    expect(unpaired(events)).toEqual([]);
    expect(kit.requests).toHaveLength(2);
  });

  it("S7: an answer that its model says ended with an error has failed, with its text kept and no call of it made", async () => {
    const turn: ScriptedTurn = [{ text: "Hal" }, { call: "look", id: "c" }, { finish: "error" }];
    const { result, kit } = await timed([turn, "f done"]);
    expect(result).toMatchObject({ status: "failed", error: { code: "MODEL_FAILED" } });
    expect(history(kit.session.messages)).toEqual(["user: a", "assistant~error: Hal"]);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "Half done" });
  });

  it("waits longer each time, and gives up after the fourth", async () => {
    const busy = fails({ statusCode: 503 });
    const { result, kit, waited } = await timed([busy, busy, busy, busy, "never"]);
    expect(result).toMatchObject({ status: "failed", error: { message: expect.stringContaining("4 tries") } });
    expect(kit.requests).toHaveLength(4);
    expect(waited).toBeGreaterThanOrEqual(250 + 500 + 1000 - 10);
    expect(waited).toBeLessThanOrEqual(500 + 1000 + 2000 + 40);
  });

  it("comes when retry-after says, in seconds, in milliseconds, or as a date", async () => {
    const at = new Date(fakeClock().now() + 7000).toUTCString();
    for (const [headers, ms] of [
      [{ responseHeaders: { "retry-after": "3" } }, 3000],
      [{ headers: new Headers({ "retry-after": "3" }) }, 3000],
      [{ responseHeaders: { "retry-after-ms": "1500", "retry-after": "9" } }, 1500],
      [{ responseHeaders: { "retry-after": at } }, 7000],
      [{ responseHeaders: { "retry-after": "86400" } }, 60_000],
    ] as const) {
      const { waited, result } = await timed([fails({ statusCode: 429, ...headers }), "ok"]);
      expect(result.status).toBe("completed");
      expect(Math.abs(waited - ms)).toBeLessThanOrEqual(20);
    }
  });

  it("is as the agent's settings say", async () => {
    const busy = fails({ statusCode: 503 });
    const agent = { settings: { retry: { attempts: 2, delayMs: 4000 } } };
    const { kit, waited } = await timed([busy, busy, "never"], { agent });
    expect(kit.requests).toHaveLength(2);
    expect(waited).toBeGreaterThanOrEqual(1990);
    expect(kit.requests[0]).not.toHaveProperty("retry");
  });

  it("an undefined setting counts as absent", async () => {
    const busy = fails({ statusCode: 503 });
    const agent = { settings: { retry: { attempts: undefined, delayMs: undefined } as object } };
    const { kit } = await timed([busy, busy, busy, busy, "never"], { agent });
    expect(kit.requests).toHaveLength(4);
  });

  it("S7: a stop while it waits is a stop", async () => {
    const clock = fakeClock();
    const kit = await openKit([fails({ statusCode: 503 }), "ok"], { clock });
    const run = kit.session.run("a");
    await clock.advance(1);
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true });
    expect((await run.result).status).toBe("interrupted");
    expect(clock.pending).toBe(0);
    const heard = listen(kit.session.resume());
    await heard.all;
    expect(said(heard.events)).toContain("superseded, attempt 2");
  });
});

describe("time limits", () => {
  const silent = [{ stall: true }] as const;

  it("firstTokenMs: a model that says nothing is MODEL_TIMEOUT, after as many tries as settings allow", async () => {
    const agent = { timeouts: { firstTokenMs: 1000 }, settings: { retry: { attempts: 2, delayMs: 0 } } };
    const { result, waited, kit } = await timed([silent, silent], { agent });
    expect(result).toMatchObject({
      status: "failed",
      error: { code: "MODEL_TIMEOUT", message: expect.stringContaining("firstTokenMs (1000 ms)") },
    });
    expect(kit.requests).toHaveLength(2);
    expect(waited).toBe(2000);
  });

  it("I6: a model that falls silent for 90 s is asked again", async () => {
    const { result, waited } = await timed([[{ text: "Hel" }, { stall: true }], "Hello"]);
    expect(result).toMatchObject({ status: "completed", text: "Hello" });
    expect(waited).toBeGreaterThanOrEqual(90_000);
    expect(waited).toBeLessThan(91_000);
  });

  it("idleMs: after the last try the model's silence is MODEL_TIMEOUT, and its text is kept; resume continues it", async () => {
    const agent = { timeouts: { firstTokenMs: 5000, idleMs: 1000 }, settings: { retry: { attempts: 1 } } };
    const { result, waited, kit } = await timed([[{ text: "Hel" }, { stall: true }], "lo"], { agent });
    expect(result).toMatchObject({ status: "failed", error: { code: "MODEL_TIMEOUT" } });
    expect(waited).toBeGreaterThanOrEqual(1000);
    expect(waited).toBeLessThan(2500);
    expect(await kit.session.resume().result).toMatchObject({ text: "Hello" });
  });

  it("idleMs: is counted from the last event, not from the first", async () => {
    const clock = fakeClock();
    const slow: Model = {
      id: "slow",
      async *stream() {
        for (const text of ["a", "b", "c", "d"]) {
          await new Promise<void>((resolve) => clock.setTimeout(resolve, 800));
          yield { type: "text", text } satisfies ModelEvent;
        }
      },
    };
    const kit = await openKit(slow, { clock, agent: { timeouts: { idleMs: 1000 } } });
    const { result } = kit.session.run("a");
    await clock.advance(4000);
    expect(await result).toMatchObject({ status: "completed", text: "abcd" });
  });

  it("totalMs: an answer that never ends is MODEL_TIMEOUT", async () => {
    const clock = fakeClock();
    const endless: Model = {
      id: "endless",
      async *stream() {
        for (;;) {
          await new Promise<void>((resolve) => clock.setTimeout(resolve, 100));
          yield { type: "text", text: "on and " } satisfies ModelEvent;
        }
      },
    };
    const kit = await openKit(endless, { clock, agent: { timeouts: { totalMs: 1000, idleMs: 500 } } });
    const { result } = kit.session.run("a");
    await clock.advance(1100);
    expect(await result).toMatchObject({
      status: "failed",
      error: { code: "MODEL_TIMEOUT", message: expect.stringContaining("totalMs") },
    });
    expect(clock.pending).toBeLessThanOrEqual(1);
  });
});

it("E2: a history that does not fit is CONTEXT_OVERFLOW, by each provider's words, and is not tried again", async () => {
  for (const error of [
    fails({ statusCode: 400, code: "context_length_exceeded" }),
    fails({ statusCode: 400 }, "prompt is too long: 208310 tokens > 200000 maximum"),
    fails({ statusCode: 400 }, "This model's maximum context length is 128000 tokens."),
    fails({ status: 400 }, "The input token count (1200000) exceeds the maximum number of tokens allowed"),
    fails({ status: 400, data: { error: { code: "context_length_exceeded" } } }, "Please shorten it."),
    fails({ status: 400 }, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
    fails({ status: 400 }, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    fails({ status: 400 }, "the request exceeds the available context size, try increasing it"),
    fails({ status: 400 }, "Input is too long for requested model."),
    fails({ status: 400 }, "Please reduce the length of the messages or completion."),
  ]) {
    const { result, kit } = await timed([error]);
    expect(result).toMatchObject({ status: "failed", error: { code: "CONTEXT_OVERFLOW" } });
    expect(kit.requests).toHaveLength(1);
    expect(kit.session.state).toBe("error");
  }
});

it("settings, tools, tool choice and instructions reach the request; nothing else does", async () => {
  const look = tool({ name: "look", description: "Looks.", input: jsonSchema({ type: "object" }), execute: () => 1 });
  const settings = {
    toolChoice: { tool: "look" },
    maxOutputTokens: 9,
    temperature: 0.5,
    topP: 0.9,
    stopSequences: ["x"],
    seed: 3,
    providerOptions: { p: { q: 1 } },
  };
  const { kit } = await timed(["ok"], { tools: [look], agent: { settings, instructions: "Be brief." } });
  const { messages, ...rest } = kit.requests[0]!;
  expect(rest).toEqual({
    ...settings,
    tools: [{ name: "look", description: "Looks.", inputSchema: { type: "object" } }],
  });
  expect(messages.map(({ role, parts }: Message) => ({ role, parts }))).toEqual([
    { role: "system", parts: [{ type: "text", text: "Be brief." }] },
    { role: "user", parts: [{ type: "text", text: "a" }] },
  ]);
  expect(history(kit.session.messages)).toEqual(["user: a", "assistant: ok"]);
});

it("E2: usage is summed over all model calls of the run, pauses included", async () => {
  const look = tool({ name: "look", description: "", input: jsonSchema({ type: "object" }), execute: () => 1 });
  const spend = (inputTokens: number, outputTokens: number, more = {}) => ({
    finish: "stop" as const,
    usage: { inputTokens, outputTokens, ...more },
  });
  const turns = [
    [{ call: "look" }, { ...spend(10, 1, { cachedInputTokens: 4 }), finish: "tool-calls" as const }],
    [{ text: "x" }, ...fails({})],
    [{ text: "y" }, spend(30, 3, { reasoningTokens: 2 })],
    [{ text: "z" }, spend(5, 5)],
  ];
  const { kit, result } = await timed(turns, { tools: [look] });
  expect(result.usage).toEqual({ inputTokens: 10, outputTokens: 1, cachedInputTokens: 4 });
  const next = await kit.session.resume().result;
  expect(next).toMatchObject({
    text: "xy",
    usage: { inputTokens: 40, outputTokens: 4, cachedInputTokens: 4, reasoningTokens: 2 },
  });
  expect((await kit.session.run("b").result).usage).toEqual({ inputTokens: 5, outputTokens: 5 });
});
