import {
  eachStore,
  enter,
  factProblems,
  factsOf,
  faultyStore,
  gate,
  history,
  type KitOptions,
  listen,
  openKit,
  type Speech,
  settle,
  until,
} from "@belay/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonSchema, type Message, memoryStore, messageText, type Part, parallel, tool } from "../index.ts";
import { addAnswer, addInput, addSummary, endCall, isReplaceable, lateResult } from "../journal/history.ts";
import { newScope, type Scope } from "../journal/state.ts";
import { promptProblems, scriptedModel } from "../testing/index.ts";
import { agent } from "./agent.ts";
import { cutIndex } from "./compact.ts";

const key = { tenant: "default", threadId: "thread" };
const long = (words: string) => `${words} ${"x".repeat(400)}`;
const summariser = (turns: Parameters<typeof scriptedModel>[0]) => scriptedModel(turns, { id: "small" });

/** A thread of three long questions and answers, under a budget that takes about two. */
async function talk(context: object, options: KitOptions = {}, rounds = 3) {
  const answers = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"].map(long);
  const kit = await openKit(answers, { ...options, agent: { context } as never });
  for (let i = 1; i <= rounds; i++) await kit.session.run(long(`q${i}`)).result;
  return kit;
}

const summaries = async (store: KitOptions["store"]) =>
  (await factsOf(store!)).flatMap((fact) =>
    fact.type === "message" && fact.message.summary !== undefined ? [fact.message] : [],
  );

describe.each(eachStore)("H4: a budget on $name", ({ make }) => {
  it("records a summary, sends it instead of the covered messages, and keeps the originals, also when reopened", async () => {
    const store = await make();
    const model = summariser(["what was said"]);
    const context = { maxTokens: 500, keepTokens: 250, model };
    const kit = await talk(context, { store });
    expect(history(kit.session.messages)).toHaveLength(6);
    const [summary] = await summaries(store);
    expect(summary).toMatchObject({ role: "user", origin: "runtime", model: "small" });
    const covered = kit.session.messages.findIndex(({ id }) => id === summary!.summary!.coversTo);
    expect(covered).toBeGreaterThanOrEqual(1);
    const prompt = kit.requests[2]!.messages;
    expect(messageText(prompt[0]!)).toContain("what was said");
    expect(prompt).toHaveLength(6 - 1 - (covered + 1) + 1);
    await kit.runner.close();
    const other = await openKit(["fine"], { store, agent: { context } as never });
    expect(history(other.session.messages)).toHaveLength(6);
    await other.session.run("short").result;
    expect(other.requests[0]!.messages.some((message) => message.summary !== undefined)).toBe(true);
    expect([...kit.problems(), ...other.problems()]).toEqual([]);
  });

  it("sums up on a person's wish although the history fits, once, and keeps to its focus", async () => {
    const store = await make();
    const model = summariser(["what was said"]);
    const wishes: object[] = [];
    const context = { maxTokens: 100_000, model, wanted: () => wishes.pop() };
    const kit = await talk(context, { store }, 2);
    expect(await summaries(store)).toEqual([]);
    wishes.push({ focus: "the names of the ropes" });
    await kit.session.run("q3").result;
    await kit.session.run("q4").result;
    expect(await summaries(store)).toHaveLength(1);
    expect(JSON.stringify(model.requests[0])).toContain("keep above all: the names of the ropes");
    expect(messageText(kit.requests[2]!.messages[0]!)).toContain("what was said");
    expect(kit.problems()).toEqual([]);
  });

  it("a crash while the summary is made leaves the history as it was; the next process makes it", async () => {
    const store = await make();
    const side = faultyStore(store);
    const stalling = summariser([[{ text: "wh" }, { stall: true }]]);
    const kit = await talk({ maxTokens: 500, keepTokens: 250, model: stalling }, { store: side, leaseTtlMs: 30 }, 2);
    void kit.session.run(long("q3"));
    await until(() => stalling.requests.length === 1);
    side.kill();
    await until(async () => (await store.load(key))?.row.lease === undefined);
    const context = { maxTokens: 500, keepTokens: 250, model: summariser(["what was said"]) };
    const other = await openKit(["done"], { store, agent: { context } as never });
    expect(await other.session.resume().result).toMatchObject({ status: "completed", text: "done" });
    expect(await summaries(store)).toHaveLength(1);
    expect(other.problems()).toEqual([]);
  });
});

describe("H4: a budget", () => {
  it("compacts again and again, and covers the summary before", async () => {
    const model = summariser((request) => (messageText(request.messages[1]!).includes("s-") ? "s-more" : "s-first"));
    const kit = await talk({ maxTokens: 500, keepTokens: 250, model }, {}, 7);
    const made = await summaries(kit.store);
    expect(made.length).toBeGreaterThan(1);
    expect(messageText(made.at(-1)!)).toContain("s-more");
    for (const { messages } of kit.requests) expect(messages.filter((m) => m.summary).length).toBeLessThanOrEqual(1);
    expect(history(kit.session.messages)).toHaveLength(14);
    expect(kit.problems()).toEqual([]);
  });

  it("H1, H4: agents that sum up to the same words of a person have a summary each, with an id of its own", async () => {
    const speak: Speech = ({ messages }) => {
      if (messages[0]?.id === "summarise") return "what was said";
      return messages.some(({ summary }) => summary !== undefined) ? "done" : [{ text: "well" }, { stall: true }];
    };
    const context = { maxTokens: 300, keepTokens: 20 };
    const chats = ["a", "b"].map((name) => agent({ name, model: scriptedModel(speak), context }));
    const store = memoryStore();
    const session = await enter(parallel({ name: "both", agents: chats }), store);
    const heard = listen(session.run(long("q1")));
    await until(() => heard.events.filter(({ type }) => type === "text-delta").length === 2);
    await session.interrupt();
    const result = await session.resume({ input: [long("q2"), long("q3"), "short"] }).result;
    expect(result).toMatchObject({ status: "completed", output: ["done", "done"] });
    const made = await summaries(store);
    expect(new Set(made.map(({ summary }) => summary!.coversTo)).size).toBe(1);
    expect(new Set(made.map(({ id }) => id)).size).toBe(2);
    expect(factProblems(await factsOf(store))).toEqual([]);
  });

  it("a stop while the summary is made stops it, adds nothing, and the run continues from there", async () => {
    const model = summariser([[{ text: "wh" }, { stall: true }], "what was said"]);
    const kit = await talk({ maxTokens: 500, keepTokens: 250, model }, {}, 2);
    const run = kit.session.run(long("q3"));
    const heard = listen(run);
    await until(() => model.requests.length === 1);
    await settle();
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true, partialText: "" });
    expect(await run.result).toMatchObject({ status: "interrupted" });
    expect(await summaries(kit.store)).toEqual([]);
    await heard.all;
    expect(heard.events.filter((event) => event.type === "text-delta")).toEqual([]);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect(await summaries(kit.store)).toHaveLength(1);
  });

  it("S6: a stop after tools that comes while a summary is made of several pieces asks for no other piece", async () => {
    const stopping: Promise<unknown>[] = [];
    const model = summariser(() => {
      if (stopping.length === 0) stopping.push(kit.session.interrupt({ mode: "after-tools" }));
      return "a piece";
    });
    const kit = await talk({ maxTokens: 500, keepTokens: 250, model }, {}, 0);
    await kit.session.run("q1 ".repeat(3_000)).result;
    const run = kit.session.run(long("q2"));
    expect(await run.result).toMatchObject({ status: "interrupted" });
    expect(await stopping[0]).toMatchObject({ accepted: true });
    expect(model.requests).toHaveLength(1);
    expect(await summaries(kit.store)).toEqual([]);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect(model.requests.length).toBeGreaterThan(2);
    expect(await summaries(kit.store)).toHaveLength(1);
  });

  it("the tokens of summaries are counted", async () => {
    const usage = { inputTokens: 1000, outputTokens: 100 };
    const model = summariser([[{ text: "s" }, { finish: "stop", usage }]]);
    const kit = await talk({ maxTokens: 500, keepTokens: 250, model }, {}, 2);
    const result = await kit.session.run(long("q3")).result;
    expect(result.usage.inputTokens).toBeGreaterThan(1000);
    expect((await summaries(kit.store))[0]?.usage).toEqual(usage);
  });

  it("a summary that fails fails the run, which can be resumed", async () => {
    const model = summariser([[{ throw: new Error("no") }], "", "fine"]);
    const kit = await talk({ maxTokens: 500, keepTokens: 250, model }, {}, 2);
    expect(await kit.session.run(long("q3")).result).toMatchObject({ error: { code: "MODEL_FAILED" } });
    expect(await kit.session.resume().result).toMatchObject({ error: { code: "CONTEXT_OVERFLOW" } });
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
  });

  it("a provider that overflows although the estimate fits gets one shorter request; then it is an error", async () => {
    const overflow = Object.assign(new Error("prompt is too long"), { status: 400 });
    const model = summariser(() => "short");
    const turns = ["a1", "a2", [{ throw: overflow }], "a3", [{ throw: overflow }], [{ throw: overflow }]];
    const kit = await openKit(turns, { agent: { context: { maxTokens: 100_000, model } } });
    for (const q of ["q1", "q2", "q3"]) await kit.session.run(long(q)).result;
    expect(history(kit.session.messages).at(-1)).toBe("assistant: a3");
    expect(kit.requests[3]!.messages.length).toBeLessThan(kit.requests[2]!.messages.length);
    expect(await kit.session.run("q4").result).toMatchObject({ error: { code: "CONTEXT_OVERFLOW" } });
    expect(kit.requests).toHaveLength(6);
    expect(kit.problems()).toEqual([]);
  });

  it("one long input is made shorter for a provider that overflows, although one message takes its place", async () => {
    const overflow = Object.assign(new Error("prompt is too long"), { status: 400 });
    const turns = [[{ throw: overflow }], "fits"];
    const context = { maxTokens: 100_000, model: summariser(["short"]) };
    const kit = await openKit(turns, { agent: { context } });
    expect(await kit.session.run([long("q1"), "q2"]).result).toMatchObject({ status: "completed", text: "fits" });
    expect(kit.requests[1]!.messages.map(({ summary }) => summary !== undefined)).toEqual([true, false]);
  });

  it("a steer that comes while the summary is made is read by the call it was made for", async () => {
    const begun = gate();
    const summed = gate<string>();
    const model = summariser([
      () => {
        begun.open();
        return summed.opened;
      },
    ]);
    const kit = await talk({ maxTokens: 500, keepTokens: 250, model }, {}, 2);
    const run = kit.session.run(long("q3"));
    await begun.opened;
    await kit.session.steer("shorter");
    summed.open("what was said");
    expect(await run.result).toMatchObject({ status: "completed" });
    expect(kit.requests).toHaveLength(3);
    expect(history(kit.requests[2]!.messages).at(-1)).toBe("user: shorter");
    expect(kit.problems()).toEqual([]);
  });

  it("counts every script by its own measure: Chinese is not a quarter of its tokens, and its pieces fit", async () => {
    const chinese = (role: "user" | "assistant", id: string): Message => {
      return { id, role, parts: [{ type: "text", text: "汉".repeat(1000) }], at: 0, origin: "person" };
    };
    const prompt = [chinese("user", "a"), chinese("assistant", "b"), chinese("user", "c")];
    expect(cutIndex(prompt, { maxTokens: 2000, keepTokens: 1000 })).toBe(2);
    const model = summariser(() => "摘要");
    const kit = await openKit(["好", "好"], { agent: { context: { maxTokens: 1000, keepTokens: 100, model } } });
    await kit.session.run("汉".repeat(3000)).result;
    await kit.session.run("汉").result;
    const pieces = model.requests.map(({ messages }) => Buffer.byteLength(messageText(messages[1]!)));
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.filter((bytes) => bytes > 4000)).toEqual([]);
  });

  it("a summary that fills the budget is not asked for a few words at a time", async () => {
    let asked = 0;
    const wordy = scriptedModel(() => {
      asked += 1;
      return "s".repeat(3_500);
    });
    const context = { maxTokens: 1_000, model: wordy };
    const kit = await openKit(() => "fine", { agent: { context } as never });
    for (let i = 1; i <= 4; i++) await kit.session.run("q".repeat(16_000)).result;
    expect(asked).toBeGreaterThan(0);
    // 64,000 bytes, at least a quarter of the budget at once, and some are read twice.
    expect(asked).toBeLessThan(100);
  });

  it("a single message above the budget is sent as it is, for the provider to judge", async () => {
    const model = summariser([]);
    const kit = await openKit(["ok"], { agent: { context: { maxTokens: 50, model } } });
    expect(await kit.session.run("y".repeat(4000)).result).toMatchObject({ status: "completed" });
    expect(model.requests).toHaveLength(0);
  });

  it("S5: a late result whose call a summary covers comes as a note", () => {
    const scope = newScope("helper");
    addInput(scope, say("u1", "go"));
    addAnswer(scope, { ...say("a1", ""), role: "assistant", parts: [call("c1")] }, 1);
    endCall(scope, "c1", "interrupted", null);
    addInput(scope, say("u2", "on"));
    expect(isReplaceable(scope, "c1", 1)).toBe(true);
    addSummary(scope, { ...say("s", "so far"), origin: "runtime", summary: { coversTo: "a1.r" } }, "a1.r");
    expect(isReplaceable(scope, "c1", 1)).toBe(false);
    lateResult(scope, "c1", "note", "ok", "news", 1);
    expect(promptProblems(scope.prompt)).toEqual([]);
  });

  it("H1: at any cut of a history with calls, cut answers and waiting inputs, the prompt stays valid", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("input" as const), size: fc.nat(400) }),
      fc.record({ kind: fc.constant("answer" as const), size: fc.nat(400), cut: fc.boolean() }),
      fc.record({ kind: fc.constant("calls" as const), size: fc.nat(400), count: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constant("compact" as const), max: fc.integer({ min: 20, max: 300 }), force: fc.boolean() }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const scope = newScope("helper");
        addInput(scope, say("first", "go"));
        for (const [i, one] of steps.entries()) take(scope, one, `m${i}`);
        expect(promptProblems([...scope.prompt, say("next", "?")])).toEqual([]);
      }),
    );
  });
});

describe("H4: a context function", () => {
  it("chooses the messages to send; the history stays", async () => {
    const kit = await openKit(["a", "b"], { agent: { context: (all) => all.slice(-1) } });
    await kit.session.run("one").result;
    await kit.session.run("two").result;
    expect(history(kit.requests[1]!.messages)).toEqual(["user: two"]);
    expect(history(kit.session.messages)).toHaveLength(4);
  });

  it("an invalid choice is refused with CONTEXT_INVALID, naming the fault, before any request", async () => {
    const look = tool({
      name: "look",
      description: "",
      input: jsonSchema<object>({ type: "object" }),
      execute: () => "x",
    });
    const problem = async (context: (all: readonly Message[]) => readonly Message[]) => {
      const kit = await openKit([[{ call: "look" }], "done"], { tools: [look], agent: { context } });
      const result = await kit.session.run("go").result;
      return result.status === "failed" ? `${result.error.code}: ${result.error.message}` : result.status;
    };
    expect(await problem(() => [])).toContain(
      "CONTEXT_INVALID: The context of agent helper is not valid: nothing is left",
    );
    expect(await problem((all) => all.filter(({ role }) => role !== "tool"))).toContain("has no result");
    expect(await problem((all) => all.filter(({ role }) => role !== "assistant"))).toContain("CONTEXT_INVALID");
    const thrown = await problem(() => {
      throw new Error("oh no");
    });
    expect(thrown).toContain("it threw: oh no");
    for (const [gives, words] of [
      [[{ role: "user", content: "hi" }], 'message 0 is {"role":"user","content":"hi"}, which has no parts'],
      [["hi"], 'message 0 is "hi", which has no parts'],
      [[null], "message 0 is null, which has no parts"],
      [[{ role: "user", parts: [{ type: "text" }] }], 'message 0: part 0 is {"type":"text"}'],
      [undefined, "it gave undefined, not a list of messages"],
      [Promise.resolve([]), "it gave a promise, not a list of messages"],
    ] as const) {
      expect(await problem(() => gives as never)).toBe(
        `CONTEXT_INVALID: The context of agent helper is not valid: ${words}.`,
      );
    }
  });

  it("R2: one that drops the cut answer still makes a valid request to continue", async () => {
    const context = (all: readonly Message[]) => all.filter(({ role }) => role === "user");
    const kit = await openKit([[{ text: "ha" }, { stall: true }], "lf"], { agent: { context } });
    const run = kit.session.run("go");
    await listen(run).until((event) => event.type === "text-delta");
    await kit.session.interrupt();
    await kit.session.resume().result;
    expect(kit.requests[1]!.messages.map(({ role }) => role)).toEqual(["user", "user"]);
    expect(kit.problems()).toEqual([]);
  });
});

type Step =
  | { kind: "input"; size: number }
  | { kind: "answer"; size: number; cut: boolean }
  | { kind: "calls"; size: number; count: number }
  | { kind: "compact"; max: number; force: boolean };

function take(scope: Scope, step: Step, id: string): void {
  // No model answers twice in a row.
  const answered = scope.last === "answer" || scope.last === "cut";
  if (answered && (step.kind === "answer" || step.kind === "calls")) addInput(scope, say(`${id}.q`, "and?"));
  switch (step.kind) {
    case "input":
      return addInput(scope, say(id, "i".repeat(step.size + 1)));
    case "answer": {
      const interrupted = step.cut ? { interrupted: { by: "user", at: 1 } } : {};
      return addAnswer(scope, { ...say(id, "a".repeat(step.size + 1)), role: "assistant", ...interrupted }, 1);
    }
    case "calls": {
      const parts = Array.from({ length: step.count }, (_, i) => call(`${id}_${i}`));
      addAnswer(scope, { ...say(id, ""), role: "assistant", parts }, 1);
      addInput(scope, say(`${id}.w`, "waits"));
      for (const part of parts) endCall(scope, (part as { id: string }).id, "ok", "r".repeat(step.size));
      return;
    }
    case "compact": {
      const cut = cutIndex(scope.prompt, { maxTokens: step.max }, step.force);
      if (cut === undefined) return;
      const coversTo = scope.prompt[cut - 1]!.id;
      return addSummary(scope, { ...say(id, "summary"), origin: "runtime", summary: { coversTo } }, coversTo);
    }
    default:
      step satisfies never;
  }
}

function say(id: string, text: string): Message {
  return { id, role: "user", parts: [{ type: "text", text }], at: 1, origin: "person" };
}

function call(id: string): Part {
  return { type: "call", id, tool: "look", args: {} };
}
