import { eachStore, factsOf, faultyStore, gate, listen, openKit, said, toolOf, until } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  agent,
  createRunner,
  type InstructionsContext,
  type ModelRequest,
  messageText,
  sequential,
} from "../index.ts";
import { scriptedModel } from "../testing/index.ts";

/** The instructions of each request; undefined if it has none. */
function told(requests: readonly ModelRequest[]): (string | undefined)[] {
  return requests.map(({ messages: [first] }) => (first?.role === "system" ? messageText(first) : undefined));
}

describe.each(eachStore)("instructions as a function, on $name", ({ make }) => {
  test("I8: it is called once when the agent begins in a run, and its text stands before every request of that run", async () => {
    const seen: InstructionsContext[] = [];
    const instructions = (context: InstructionsContext) => {
      seen.push(context);
      return `Answer ${String(context.input)} for ${String(context.deps)}, number ${seen.length}.`;
    };
    const set = toolOf("set", (ctx) => ctx.setValue("n", 7));
    const store = await make();
    const kit = await openKit([[{ call: "set" }], "one", "two"], {
      store,
      tools: [set],
      agent: { instructions },
      deps: "Ann",
    });
    await kit.session.run("first").result;
    await kit.session.run("second").result;
    expect(told(kit.requests)).toEqual([
      "Answer first for Ann, number 1.",
      "Answer first for Ann, number 1.",
      "Answer second for Ann, number 2.",
    ]);
    const of = { deps: "Ann", threadId: "thread" };
    expect(seen).toEqual([
      { ...of, input: "first", values: {} },
      { ...of, input: "second", values: { n: 7 } },
    ]);
    expect(kit.session.messages.map(({ role }) => role)).not.toContain("system");
    expect(kit.problems()).toEqual([]);
    // It is no effect on the world.
    expect((await kit.runner.effects("thread", { after: 0 })).map(({ tool, key }) => tool ?? key)).toEqual(["set"]);
  });

  test("I8, R7: a resume in another process uses the recorded text, and another text is no drift", async () => {
    const store = await make();
    const first = await openKit([[{ text: "so" }, { stall: true }]], {
      store,
      agent: { instructions: () => "Be brief." },
    });
    const run = first.session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    await first.session.interrupt();
    await first.runner.close();
    let calls = 0;
    const instructions = () => {
      calls += 1;
      return "Be long.";
    };
    const second = await openKit(["done", "more"], { store, agent: { instructions } });
    expect(await second.session.resume({ drift: "refuse" }).result).toMatchObject({ status: "completed" });
    expect([told(second.requests), calls]).toEqual([["Be brief."], 0]);
    await second.session.run("again").result;
    expect([told(second.requests), calls]).toEqual([["Be brief.", "Be long."], 1]);
    expect((await factsOf(store)).map(({ type }) => type)).not.toContain("drift");
  });

  test("I8, C2: a process that dies before the text is on record leaves nothing of it, and one that dies after leaves the text", async () => {
    for (const [dies, expected] of [
      [false, "text 1"],
      [true, "text 2"],
    ] as const) {
      const store = await make();
      let calls = 0;
      const dying = faultyStore(store);
      const instructions = () => {
        calls += 1;
        if (dies && calls === 1) dying.kill();
        return `text ${calls}`;
      };
      const stalls = [[{ text: "so" }, { stall: true }]] as const;
      const first = await openKit(stalls, { store: dying, agent: { instructions }, leaseTtlMs: 40 });
      const heard = listen(first.session.run("go"));
      if (!dies) await heard.until(({ type }) => type === "text-delta");
      else await until(() => calls === 1);
      dying.kill();
      await until(async () => (await store.load({ tenant: "default", threadId: "thread" }))?.row.lease === undefined);
      const second = await openKit(["done"], { store, agent: { instructions } });
      expect(await second.session.resume().result).toMatchObject({ status: "completed" });
      expect(told(second.requests)).toEqual([expected]);
    }
  });

  test("I8, O7: the next agent of a sequence reads the value that the one before it left", async () => {
    const store = await make();
    const writer = agent({ name: "writer", model: scriptedModel(["a draft"]), outputKey: "draft" });
    const model = scriptedModel(["fine"]);
    const critic = agent({
      name: "critic",
      model,
      instructions: ({ values, input }) => `Judge "${String(values.draft)}", given "${String(input)}".`,
    });
    const root = sequential({ name: "paper", agents: [writer, critic] }) as Agent<unknown, unknown>;
    const run = await createRunner({ agent: root, store }).run("write");
    expect(await run.result).toMatchObject({ status: "completed", output: "fine" });
    expect(told(model.requests)).toEqual(['Judge "a draft", given "a draft".']);
  });

  test("I8: each agent of a family has its own text in the history that they share", async () => {
    const store = await make();
    const other = agent({
      name: "other",
      model: scriptedModel(["mine now"]),
      instructions: () => "You are the other one.",
    });
    const model = scriptedModel([[{ call: "transfer_to_agent", args: { agent_name: "other" } }]]);
    let calls = 0;
    const instructions = () => `You are the first one, ${++calls}.`;
    const first = agent({ name: "first", model, subAgents: [other], instructions });
    const run = await createRunner({ agent: first, store }).run("go");
    expect(await run.result).toMatchObject({ status: "completed", text: "mine now" });
    const texts = (await factsOf(store, run.threadId)).flatMap((fact) =>
      fact.type === "step" ? [[fact.agentName, fact.value]] : [],
    );
    expect(texts).toEqual([
      ["first", "You are the first one, 1."],
      ["other", "You are the other one."],
    ]);
  });

  test("S1: a stop does not wait for it, and a resume asks it again", async () => {
    const store = await make();
    const asked = gate();
    let calls = 0;
    const instructions = async () => {
      calls += 1;
      asked.open();
      if (calls === 1) await new Promise(() => {});
      return "Be brief.";
    };
    const kit = await openKit(["done"], { store, agent: { instructions } });
    const run = kit.session.run("go");
    const heard = listen(run);
    await asked.opened;
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true, partialText: "" });
    expect(await run.result).toMatchObject({ status: "interrupted" });
    expect(said(heard.events).filter((line) => line.startsWith("turn"))).toEqual([]);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect([told(kit.requests), calls]).toEqual([["Be brief."], 2]);
  });

  test("H2: words that a person says while it runs stand in the first request", async () => {
    const asked = gate();
    const go = gate();
    const instructions = async () => {
      asked.open();
      await go.opened;
      return "Be brief.";
    };
    const kit = await openKit(["done"], { store: await make(), agent: { instructions } });
    const run = kit.session.run("go");
    await asked.opened;
    await kit.session.steer("and quick");
    go.open();
    await run.result;
    expect(kit.requests.map(({ messages }) => messages.map(messageText))).toEqual([["Be brief.", "go", "and quick"]]);
  });
});

test("I8: blank text is no instructions; a value that is no text, a throw and too large a text fail the run by name", async () => {
  const kit = await openKit(["done"], { agent: { instructions: () => "  " } });
  expect(await kit.session.run("go").result).toMatchObject({ status: "completed" });
  expect(told(kit.requests)).toEqual([undefined]);
  const failing = async (instructions: () => never | string) => {
    const { session } = await openKit(["never"], { agent: { instructions }, runner: { maxBytes: 2_000 } });
    const result = await session.run("go").result;
    return result.status === "failed" ? [result.error.code, result.error.message] : result.status;
  };
  expect(await failing(() => 7 as never)).toEqual([
    "AGENT_INVALID",
    expect.stringContaining("the function of its instructions gave 7, not text"),
  ]);
  expect(
    await failing(() => {
      throw new Error("no such tenant");
    }),
  ).toEqual(["AGENT_FAILED", expect.stringContaining("no such tenant")]);
  expect(await failing(() => "x".repeat(3_000))).toEqual([
    "TOO_LARGE",
    expect.stringContaining("The instructions of agent helper"),
  ]);
  expect(() => agent({ name: "a", model: scriptedModel([]), instructions: 7 as never })).toThrow(
    expect.objectContaining({ code: "AGENT_INVALID" }),
  );
});
