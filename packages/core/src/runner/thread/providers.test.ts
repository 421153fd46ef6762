// Stop and resume with the real AI SDK packages against a provider on localhost: the events on the socket, and the body of the
// next request.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { gate, listen } from "@belay/testkit";
import {
  anthropicProblems,
  openAiProblems,
  openAiResponsesProblems,
  type WireServer,
  type WireStep,
  wireServer,
} from "@belay/testkit/wire";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  agent,
  createRunner,
  fromAiSdk,
  jsonSchema,
  type Model,
  messageText,
  type Session,
  type Tool,
  tool,
} from "../../index.ts";

let wire: WireServer;
beforeEach(async () => {
  wire = await wireServer();
});
afterEach(() => wire.close());

const apiKey = "test";
const providers = {
  "openai-compatible": {
    model: () => fromAiSdk(createOpenAICompatible({ name: "local", baseURL: wire.url, apiKey })("m")),
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

const MARK = "[interrupted by the user]";
/** Far more than it takes; a machine under load must not fail the test. */
const SOON_MS = 5_000;

const input = jsonSchema<{ n?: number }>({ type: "object", properties: { n: { type: "number" } } });
const add: Tool<unknown> = tool({
  name: "add",
  description: "Adds one.",
  input,
  execute: ({ n = 0 }) => ({ sum: n + 1 }),
});

describe.each(Object.entries(providers))("%s", (name, provider) => {
  async function open(tools: readonly Tool<unknown>[] = [], attempts = 3): Promise<Session> {
    const settings = { retry: { attempts, delayMs: 1 } };
    const helper = agent({ name: "helper", model: provider.model(), instructions: "Be brief.", tools, settings });
    return createRunner<string, unknown>({ agent: helper }).open();
  }

  /** Every request was valid; the last one holds `parts`, in this order. */
  function sent(...parts: string[]): void {
    expect(wire.requests.map((each) => provider.problems(each.body))).toEqual(wire.requests.map(() => []));
    const body = JSON.stringify(wire.requests.at(-1)!.body);
    const places = parts.map((part) => body.indexOf(JSON.stringify(part).slice(1, -1)));
    expect(
      parts.filter((_, i) => places[i]! < 0),
      body,
    ).toEqual([]);
    expect([...places].sort((a, b) => a - b)).toEqual(places);
  }

  const lastBody = () => JSON.stringify(wire.requests.at(-1)!.body);

  /** Runs until `text` is shown, stops, and returns the time until the socket closed. */
  async function stopAfter(session: Session, question: string, text: string): Promise<number> {
    const heard = listen(session.run(question));
    let shown = "";
    await heard.until((event) => {
      if (event.type === "text-delta") shown += event.text;
      return shown === text;
    });
    const at = performance.now();
    const receipt = await session.interrupt();
    expect(receipt).toMatchObject({ accepted: true, partialText: text });
    const request = wire.requests.at(-1)!;
    expect(await request.ended).toBe("closed");
    return request.closedAt! - at;
  }

  it.each<[string, WireStep[]]>([
    ["in mid-text", ["The answer ", "is", { wait: 30_000 }, " five."]],
    ["at a stalled stream", ["The answer ", "is", { stall: true }]],
  ])(
    "a stop %s closes the socket; the next request holds question, cut answer with its mark, and new input",
    async (where, steps) => {
      wire.script(steps, ["Four."]);
      const session = await open();
      const took = await stopAfter(session, "2 + 3?", "The answer is");
      console.log(`${name}: stopped ${where}, socket closed after ${took.toFixed(1)} ms`);
      expect(took).toBeLessThan(SOON_MS);
      const { result } = session.resume({ input: ["No: 2 + 2!", "Please."] });
      expect(await result).toMatchObject({ status: "completed", text: "Four." });
      sent("2 + 3?", "The answer is", MARK, "No: 2 + 2!", "Please.");
    },
  );

  it("a stop before the first byte closes the socket; nothing but question and new input is sent", async () => {
    wire.script({ stall: true }, ["Four."]);
    const session = await open();
    session.run("2 + 3?");
    const request = await wire.arrived(1);
    const at = performance.now();
    expect(await session.interrupt()).toMatchObject({ accepted: true, partialText: "" });
    expect(await request.ended).toBe("closed");
    const took = request.closedAt! - at;
    console.log(`${name}: stopped before the first byte, socket closed after ${took.toFixed(1)} ms`);
    expect(took).toBeLessThan(SOON_MS);
    await session.resume({ input: "2 + 2!" }).result;
    sent("2 + 3?", "2 + 2!");
    expect([lastBody().includes(MARK), lastBody().includes('"assistant"')]).toEqual([false, false]);
  });

  it("to continue in mid-text, the cut answer is sent without a mark, and the note after it is never recorded", async () => {
    wire.script(["The answer ", { stall: true }], ["is five."]);
    const session = await open();
    await stopAfter(session, "2 + 3?", "The answer ");
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "The answer is five." });
    sent("2 + 3?", "The answer ", "Your last answer was cut off");
    expect(lastBody().includes(MARK)).toBe(false);
    expect(session.messages.map(messageText)).toEqual(["2 + 3?", "The answer is five."]);
  });

  it("a thread that was cut, continued, and was cut again stays valid", async () => {
    wire.script(["One, ", { stall: true }], ["two, ", { stall: true }], ["three."], ["Bye."]);
    const session = await open();
    await stopAfter(session, "Count.", "One, ");
    const again = listen(session.resume());
    await again.until((event) => event.type === "text-delta");
    await session.interrupt();
    await session.resume().result;
    await session.run("Thanks.").result;
    sent("Count.", "One, two, three.", "Thanks.");
    expect(lastBody().includes(MARK)).toBe(false);
  });

  it("a call makes the round trip", async () => {
    wire.script(
      ["Let me see. ", { call: "add", id: "call_1", args: { n: 1 } }, { call: "add", id: "call_2", args: {} }],
      ["2 and 1."],
    );
    const session = await open([add]);
    expect(await session.run("Add.").result).toMatchObject({ status: "completed", text: "2 and 1." });
    sent("Add.", "Let me see. ", "call_1", "call_2", '{"sum":2}', '{"sum":1}');
  });

  it("a call that was stopped while it ran reads as interrupted", async () => {
    const started = gate();
    const wait = tool({
      name: "wait",
      description: "Waits.",
      input,
      async *execute(_, ctx) {
        yield "half of it";
        started.open();
        await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
      },
    });
    wire.script([{ call: "wait", id: "call_1", args: {} }], ["As you like."]);
    const session = await open([wait]);
    session.run("Wait.");
    await started.opened;
    expect(await session.interrupt()).toMatchObject({ accepted: true, stopped: ["call_1"], late: [] });
    await session.resume({ input: "Never mind." }).result;
    sent("Wait.", "call_1", "Interrupted before it finished", "half of it", "Never mind.");
  });

  describe("with calls held by a stop", () => {
    async function hold(): Promise<{ session: Session; ran: number[] }> {
      const ran: number[] = [];
      const started = gate();
      const work = tool({
        name: "work",
        description: "Works.",
        input,
        serial: true,
        execute: async ({ n = 0 }, ctx) => {
          ran.push(n);
          if (n > 1) return `worked ${n}`;
          started.open();
          return new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
        },
      });
      const calls = [1, 2, 3].map((n) => ({ call: "work", id: `call_${n}`, args: { n } }));
      wire.script(calls, ["Done."]);
      const session = await open([work]);
      session.run("Work.");
      await started.opened;
      const receipt = await session.interrupt();
      expect(receipt).toMatchObject({ stopped: ["call_1"], notStarted: ["call_2", "call_3"] });
      return { session, ran };
    }

    it("they run on continue, each once", async () => {
      const { session, ran } = await hold();
      await session.resume().result;
      sent("Work.", "call_1", "call_2", "call_3", "Interrupted before it finished", "worked 2", "worked 3");
      expect(ran).toEqual([1, 2, 3]);
    });

    it("they read as not executed when the person changes direction", async () => {
      const { session, ran } = await hold();
      await session.resume({ input: "Stop it." }).result;
      sent("Work.", "call_1", "Interrupted before it finished", "Not executed", "Stop it.");
      expect(ran).toEqual([1]);
    });
  });

  it("a call that was not received to its end is no call", async () => {
    wire.script(["So ", { call: "add", id: "call_1", args: { n: 1 }, unfinished: true }, { stall: true }], ["Right."]);
    const session = await open([add]);
    await stopAfter(session, "Add.", "So ");
    await session.resume({ input: "Leave it." }).result;
    sent("Add.", "So ", MARK, "Leave it.");
    expect(lastBody().includes("call_1")).toBe(false);
  });

  it("a refusal for now is tried again, and the run continues as if nothing had happened", async () => {
    wire.script({ status: 429, headers: { "retry-after": "0" } }, { status: 500 }, ["Hello."]);
    const session = await open();
    expect(await session.run("Hi.").result).toMatchObject({ status: "completed", text: "Hello." });
    expect(wire.requests.length).toBe(3);
    sent("Hi.");
  });

  it("a stop while the next try is waited for makes no more requests", async () => {
    wire.script({ status: 429, headers: { "retry-after": "30" } }, ["Hello."]);
    const session = await open();
    session.run("Hi.");
    await (await wire.arrived(1)).ended;
    expect(await session.interrupt()).toMatchObject({ accepted: true });
    expect(wire.requests.length).toBe(1);
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "Hello." });
  });

  it("S7: after the last attempt, a connection that broke in mid-text is an error that keeps the text; resume() continues it", async () => {
    wire.script(["Half ", { drop: true }], ["and half."]);
    const session = await open([], 1);
    expect(await session.run("Go.").result).toMatchObject({ status: "failed", error: { code: "MODEL_FAILED" } });
    expect(session.messages.at(-1)?.interrupted?.by).toBe("error");
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "Half and half." });
    sent("Go.", "Half ", "Your last answer was cut off");
  });

  it("S7: after the last attempt, a stream that ends in mid-answer as if it were whole is an error; half a call is no call", async () => {
    wire.script(
      ["Half ", { leave: true }],
      ["and ", { call: "add", id: "call_1", args: { n: 1 }, unfinished: true }, { leave: true }],
      ["half."],
    );
    const session = await open([add], 1);
    expect(await session.run("Go.").result).toMatchObject({ status: "failed", error: { code: "MODEL_FAILED" } });
    expect(await session.resume().result).toMatchObject({ status: "failed", error: { code: "MODEL_FAILED" } });
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "Half and half." });
    sent("Go.", "Half and ", "Your last answer was cut off");
    expect(lastBody().includes("call_1")).toBe(false);
  });

  it("H1: a call of a name without a tool, under a name that no provider takes back, leaves the thread valid", async () => {
    wire.script([{ call: "functions.add", id: "call_1", args: { n: 1 } }], ["Sorry."], ["Hi."]);
    const session = await open([add]);
    await session.run("Add.").result;
    expect(await session.run("Hello?").result).toMatchObject({ status: "completed", text: "Hi." });
    sent("Add.", "call_1", 'There is no tool "functions.add"', "Sorry.", "Hello?");
  });

  it("signed reasoning that was cut with its answer does not make the next request invalid", async () => {
    wire.script([{ reasoning: "hm", signature: "c2ln" }, "Well, ", { stall: true }], ["Fine."]);
    const session = await open();
    await stopAfter(session, "Go.", "Well, ");
    await session.resume({ input: "Shorter." }).result;
    sent("Go.", "Well, ", MARK, "Shorter.");
  });
});
