import { listen, openKit } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { jsonSchema, type Message, type Model, type ModelRequest, messageText, tool } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
import { agent } from "./agent.ts";

const words = (bytes: number) => "word ".repeat(Math.ceil(bytes / 5)).slice(0, bytes);
const shape = { type: "object", properties: { where: { type: "string", description: words(300) } } } as const;
const look = (description: string) =>
  tool({ name: "look", description, input: jsonSchema<object>(shape), execute: () => words(200) });

/** Counted anew, without the code under test: every text of the request, four bytes to a token. */
function tokens({ messages, tools, output }: ModelRequest): number {
  const said = messages.flatMap(({ parts }: Message) =>
    parts.map((part) => {
      if (part.type === "text") return part.text;
      if (part.type === "result") return String(part.output);
      return part.type === "call" ? part.tool + JSON.stringify(part.args) : "";
    }),
  );
  const specs = tools.map(({ name, description, inputSchema }) => name + description + JSON.stringify(inputSchema));
  const all = [...said, ...specs, output === undefined ? "" : JSON.stringify(output.schema)];
  return Math.ceil(Buffer.byteLength(all.join("")) / 4);
}

describe("H4: a budget is of all that is sent", () => {
  it("instructions, tools and the schema of the output are within it, in every request of a long thread", async () => {
    const maxTokens = 1_500;
    const rounds = 40;
    const turns = Array.from({ length: rounds }, (_, i) => [
      [{ call: "look", args: { where: words(60) } }],
      JSON.stringify({ answer: `${i} ${words(200)}` }),
    ]).flat();
    const small = scriptedModel(() => words(300), { id: "small" });
    const kit = await openKit(turns, {
      tools: [look(words(800))],
      agent: {
        instructions: words(2_000),
        output: jsonSchema<object>({ type: "object", description: words(300) }) as never,
        context: { maxTokens, model: small },
        maxTurns: 1_000,
      },
    });
    for (let i = 0; i < rounds; i++) await kit.session.run(`${i} ${words(150)}`).result;
    expect(kit.requests).toHaveLength(2 * rounds);
    expect(kit.requests.map(tokens).filter((count) => count > maxTokens)).toEqual([]);
    expect(small.requests.map(tokens).filter((count) => count > maxTokens)).toEqual([]);
    // Not by a summary for each request.
    expect(small.requests.length).toBeLessThan(rounds);
    expect(kit.problems()).toEqual([]);
  });

  it("the newest messages keep the same share of the rest of the budget", async () => {
    const small = scriptedModel(() => "so far", { id: "small" });
    const context = { maxTokens: 1_000, keepTokens: 800, model: small };
    const kit = await openKit(
      ["a", "b", "c", "d"].map((a) => a + words(400)),
      {
        agent: { instructions: words(2_000), context },
      },
    );
    for (let i = 0; i < 4; i++) await kit.session.run(`${i} ${words(400)}`).result;
    expect(kit.requests.map(tokens).filter((count) => count > 1_000)).toEqual([]);
    expect(small.requests.length).toBeGreaterThan(0);
  });

  it("R2: so is the note that asks for the rest of a cut answer", async () => {
    const small = scriptedModel(() => "so far", { id: "small" });
    const context = { maxTokens: 500, keepTokens: 200, model: small };
    const kit = await openKit(["a", [{ text: words(500) }, { stall: true }], "the rest"], { agent: { context } });
    await kit.session.run(words(700)).result;
    const run = kit.session.run(words(700));
    await listen(run).until((event) => event.type === "text-delta");
    await kit.session.interrupt();
    await kit.session.resume().result;
    expect(messageText(kit.requests.at(-1)!.messages.at(-1)!)).toContain("Go on exactly where it stopped");
    expect(tokens(kit.requests.at(-1)!)).toBeLessThanOrEqual(500);
  });

  it("so is the request for a summary, with its own instructions and the summary before it", async () => {
    const maxTokens = 800;
    const small = scriptedModel(() => words(600), { id: "small" });
    const context = { maxTokens, model: small, instructions: words(1_400) };
    const kit = await openKit(["a", "b"], { agent: { context } });
    await kit.session.run(words(9_000)).result;
    await kit.session.run("and?").result;
    expect(small.requests.length).toBeGreaterThan(3);
    expect(small.requests.map(tokens).filter((count) => count > maxTokens)).toEqual([]);
    // Every piece of it was read.
    const read = small.requests.map(({ messages }) => messageText(messages[1]!)).join("");
    expect(read.split("word").length).toBeGreaterThan(9_000 / 5);
  });

  it("E2: instructions that leave nothing of it fail the run with CONTEXT_OVERFLOW, before any request", async () => {
    const small = scriptedModel(() => "so far", { id: "small" });
    const kit = await openKit(["never"], {
      agent: { instructions: words(8_000), context: { maxTokens: 1_000, model: small } },
    });
    for (const go of [() => kit.session.run("hi"), () => kit.session.resume(), () => kit.session.run("again")]) {
      const result = await go().result;
      expect(result).toMatchObject({ status: "failed", error: { code: "CONTEXT_OVERFLOW" } });
      expect(result.status === "failed" && result.error.message).toContain("2004 of the 1000 tokens");
    }
    expect([kit.requests, small.requests]).toEqual([[], []]);
    await kit.runner.close();
    const other = await openKit(["fine"], { store: kit.store, agent: { context: { maxTokens: 1_000 } } });
    expect(await other.session.resume().result).toMatchObject({ status: "completed", text: "fine" });
  });

  it("a budget of which little is left costs one summary before a request, and no more", async () => {
    const small = scriptedModel(() => words(400), { id: "small" });
    const kit = await openKit(() => words(400), {
      agent: { instructions: words(3_900), context: { maxTokens: 1_000, model: small } },
    });
    for (let i = 0; i < 6; i++) await kit.session.run(words(400)).result;
    const summaries = new Set(small.requests.map(({ messages }) => messageText(messages[1]!).slice(-500)));
    expect(kit.requests).toHaveLength(6);
    expect(summaries.size).toBeLessThanOrEqual(6);
    expect(small.requests.length).toBeLessThanOrEqual(12);
  });

  it("each agent of a family has its own, for its own instructions and tools", async () => {
    const maxTokens = 1_000;
    const context = { maxTokens, model: scriptedModel(() => "so far") };
    const turns = scriptedModel(({ tools }) =>
      tools.some(({ name }) => name === "look")
        ? words(400)
        : [{ call: "transfer_to_agent", args: { agent_name: "wordy" } }],
    );
    const requests: ModelRequest[] = [];
    const model: Model = {
      ...turns,
      stream(request, options) {
        requests.push(request);
        return turns.stream(request, options);
      },
    };
    const wordy = agent({ name: "wordy", model, instructions: words(1_600), tools: [look(words(400))], context });
    const kit = await openKit(model, { agent: { subAgents: [wordy], context } });
    for (let i = 0; i < 15; i++) await kit.session.run(words(400)).result;
    expect(requests.filter(({ tools }) => tools.some(({ name }) => name === "look")).length).toBeGreaterThan(5);
    expect(requests.map(tokens).filter((count) => count > maxTokens)).toEqual([]);
  });
});
