import { gate, history, listen, said, unpaired } from "@belay/testkit";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { createRunner, memoryStore, parallel, tool } from "../index.ts";
import { promptProblems, type ScriptedTurn, scriptedModel } from "../testing/index.ts";
import { agent } from "./agent.ts";

const city = z.object({ name: z.string(), size: z.coerce.number().int() });

async function open(turns: readonly ScriptedTurn[]) {
  const model = scriptedModel(turns);
  const runner = createRunner({ agent: agent({ name: "helper", model, output: city }) });
  const session = await runner.open("thread");
  const problems = () => model.requests.flatMap((request) => promptProblems(request.messages));
  return { model, session, problems };
}

const good = '{"name":"Rome","size":"3"}';

describe("an agent with an output schema", () => {
  it("E2: the result's output is the value the schema made of the answer; text is the answer", async () => {
    const { model, session } = await open([good]);
    const result = await session.run("a city").result;
    expect(result).toMatchObject({ status: "completed", text: good, output: { name: "Rome", size: 3 } });
    if (result.status === "completed") expectTypeOf(result.output).toEqualTypeOf<{ name: string; size: number }>();
    expect(model.requests[0]!.output).toMatchObject({
      name: "helper",
      schema: { type: "object", required: ["name", "size"] },
    });
  });

  for (const text of [`\`\`\`json\n${good}\n\`\`\``, `\`\`\`\n${good}\`\`\``, `  \n${good}\n `]) {
    it(`takes ${JSON.stringify(text)}`, async () => {
      const { session } = await open([text]);
      expect(await session.run("a city").result).toMatchObject({ output: { name: "Rome", size: 3 } });
    });
  }

  it("sends an answer that does not fit back to the model, with the schema's words", async () => {
    const { model, session, problems } = await open(['{"name":"Rome"}', good]);
    const heard = listen(session.run("a city"));
    const events = await heard.all;
    expect(said(events).slice(4)).toEqual([
      "turn-start 1",
      'text {"name":"Rome"}',
      'message assistant: {"name":"Rome"}',
      expect.stringMatching(/^message user: Your answer does not fit the required JSON Schema: size: /),
      "turn-end 1",
      "turn-start 2",
      `text ${good}`,
      `message assistant: ${good}`,
      "turn-end 2",
      "run-end completed",
      "state completed",
    ]);
    expect(unpaired(events)).toEqual([]);
    expect(model.requests[1]!.messages.at(-1)).toMatchObject({ role: "user", origin: "runtime" });
    expect(problems()).toEqual([]);
  });

  it("names the fault of an answer that is not JSON", async () => {
    const { session } = await open(["Rome, of course.", good]);
    expect((await session.run("a city").result).status).toBe("completed");
    expect(history(session.messages)[2]).toContain("it is not JSON");
  });

  it("OUTPUT_INVALID: gives up when corrections do not help; the thread is in error, and resume() asks once more", async () => {
    const { model, session, problems } = await open(["no", "no", "no", "still no", good]);
    const failed = await session.run("a city").result;
    expect(failed).toMatchObject({ status: "failed", error: { code: "OUTPUT_INVALID" } });
    expect(model.requests).toHaveLength(3);
    expect(session.state).toBe("error");
    expect(await session.resume().result).toMatchObject({ status: "failed", error: { code: "OUTPUT_INVALID" } });
    expect(model.requests).toHaveLength(4);
    expect(await session.resume().result).toMatchObject({ status: "completed", output: { name: "Rome", size: 3 } });
    expect(problems()).toEqual([]);
  });

  it("OUTPUT_INVALID: the next question has its own corrections", async () => {
    const { session } = await open(["no", "no", "no", "no", good]);
    await session.run("a city").result;
    expect(await session.run("another").result).toMatchObject({ status: "completed" });
  });

  it("an answer without text does not fit, and is asked for again", async () => {
    const { session, problems } = await open(["", good]);
    expect(await session.run("a city").result).toMatchObject({
      status: "completed",
      output: { name: "Rome", size: 3 },
    });
    expect(problems()).toEqual([]);
  });

  it("R2: an answer cut in the middle and continued is read as one", async () => {
    const { session } = await open([[{ text: '{"name":"Ro' }, { stall: true }], 'me","size":3}']);
    const run = session.run("a city");
    await listen(run).until((event) => event.type === "text-delta");
    await session.interrupt();
    expect(await session.resume().result).toMatchObject({ output: { name: "Rome", size: 3 } });
  });

  it("a schema that throws, or takes its time, is an answer too", async () => {
    const strange = z.object({ name: z.string() }).refine(({ name }) => {
      if (name === "boom") throw new Error("the schema broke");
      return Promise.resolve(name === "ok");
    });
    const model = scriptedModel(['{"name":"boom"}', '{"name":"no"}', '{"name":"ok"}']);
    const runner = createRunner({ agent: agent({ name: "helper", model, output: strange }) });
    const run = await runner.run("go");
    expect(await run.result).toMatchObject({ status: "completed", output: { name: "ok" } });
    expect(JSON.stringify(model.requests[1]!.messages)).toContain("the schema broke");
  });
});

it("P12, F4: an output that the schema makes larger than maxBytes fails the run, on record; the answer is kept, and resume() with a larger bound continues from it", async () => {
  const store = memoryStore();
  const model = scriptedModel(['{"times":2000}', "never"]);
  const output = z.object({ times: z.number() }).transform(({ times }) => "x".repeat(times));
  const definition = agent({ name: "helper", model, output });
  const open = (maxBytes: number) => createRunner({ agent: definition, store, maxBytes }).open("thread");
  const session = await open(1000);
  const run = session.run("go", { id: "asked" });
  const heard = listen(run);
  const error = { code: "TOO_LARGE", message: "The output of agent helper takes 2002 bytes; at most 1000 are taken." };
  expect(await run.result).toMatchObject({ status: "failed", error });
  expect(said(await heard.all).slice(4)).toEqual([
    "turn-start 1",
    'text {"times":2000}',
    'message assistant: {"times":2000}',
    "turn-end 1",
    "run-end failed TOO_LARGE",
    "state error",
  ]);
  expect(await session.run("go", { id: "asked" }).result).toMatchObject({ status: "failed", error });
  expect(await session.resume().result).toMatchObject({ status: "failed", error });
  await session.close();
  const other = await open(10_000);
  expect(await other.resume().result).toMatchObject({ status: "completed", output: "x".repeat(2000) });
  expect(history(other.messages)).toEqual(["user: go", 'assistant: {"times":2000}']);
  expect(model.requests).toHaveLength(1);
});

it("S6: a stop while the answer is being checked keeps it; resume() checks it again, and every turn has its start and end", async () => {
  const checking = gate();
  let checks = 0;
  const slow = z.object({ name: z.string() }).refine(async ({ name }) => {
    checks += 1;
    if (checks === 2) {
      checking.open();
      await new Promise(() => {});
    }
    return name === "ok";
  });
  const model = scriptedModel(['{"name":"no"}', '{"name":"ok"}']);
  const session = await createRunner({ agent: agent({ name: "helper", model, output: slow }) }).open("thread");
  const heard = listen(session.events());
  const run = session.run("go");
  await checking.opened;
  expect(await session.interrupt()).toMatchObject({ accepted: true });
  expect((await run.result).status).toBe("interrupted");
  expect(await session.resume().result).toMatchObject({ status: "completed", output: { name: "ok" } });
  await heard.until((event) => event.type === "state" && event.state === "completed");
  expect(unpaired(heard.events)).toEqual([]);
  expect(model.requests).toHaveLength(2);
});

it("I4: the schema is sent closed, with whether a provider can follow it strictly", async () => {
  const sent = async (output: z.ZodType) => {
    const model = scriptedModel(["{}", "{}", "{}"]);
    await (await createRunner({ agent: agent({ name: "helper", model, output }) }).run("go")).result;
    return model.requests[0]!.output;
  };
  expect(await sent(z.object({ name: z.string(), size: z.number() }))).toMatchObject({
    schema: { additionalProperties: false },
    strict: true,
  });
  expect(await sent(z.object({ name: z.string().optional() }))).toMatchObject({
    schema: { additionalProperties: false },
    strict: false,
  });
});

describe("I4: the output has its type however the run ends", () => {
  const family = (answers: readonly ScriptedTurn[], own?: z.ZodType) => {
    const model = scriptedModel(answers);
    const sub = agent({ name: "sub", model, ...(own && { output: own }) });
    const over = scriptedModel([[{ call: "transfer_to_agent", args: { agent_name: "sub" } }]]);
    return { model, root: agent({ name: "root", model: over, output: city, subAgents: [sub] }), sub };
  };

  it("I4: after a hand-over the other agent is asked for the same output, and corrected by the same schema", async () => {
    for (const own of [undefined, z.object({ other: z.string() })]) {
      const { model, root } = family(["Rome", good], own);
      const result = await (await createRunner({ agent: root }).run("a city")).result;
      expect(result).toMatchObject({ status: "completed", output: { name: "Rome", size: 3 } });
      expect(model.requests.map(({ output }) => output?.name)).toEqual(["root", "root"]);
    }
  });

  it("I4: an agent that is run alone has its own output, also if another may hand over to it", async () => {
    const { sub } = family(['{"other":"x"}'], z.object({ other: z.string() }));
    expect(await (await createRunner({ agent: sub }).run("go")).result).toMatchObject({ output: { other: "x" } });
  });

  it("I4: the output of exit() is its value as the schema reads it, or the run fails with OUTPUT_INVALID", async () => {
    const leaving = (output: unknown, more: object) => {
      const execute = (_: unknown, ctx: { exit(output: unknown): void }) => ctx.exit(output);
      const leave = tool({ name: "leave", description: "", input: z.object({}), execute });
      const model = scriptedModel([[{ call: "leave" }], "never"]);
      return createRunner({ agent: agent({ name: "root", model, tools: [leave], ...more }) });
    };
    const end = async (output: unknown, more: object) => (await leaving(output, more).run("go")).result;
    const fits = { name: "Rome", size: "3" };
    expect(await end(fits, { output: city })).toMatchObject({ status: "completed", output: { name: "Rome", size: 3 } });
    expect(await end("left", { output: city })).toMatchObject({
      status: "failed",
      error: { code: "OUTPUT_INVALID", hint: expect.stringContaining("exit()") },
    });
    // Without a schema the output is text.
    expect(await end({ sum: 3 }, {})).toMatchObject({ status: "completed", output: '{"sum":3}', text: '{"sum":3}' });
    // Asked again under its id, the run gives the same.
    const runner = leaving(fits, { output: city });
    const first = await (await runner.run("go", { id: "r" })).result;
    expect(await (await runner.run("go", { id: "r" })).result).toEqual(first);
  });

  it("I4: a schema whose result JSON cannot hold fails the run with the path, now and when it is asked again", async () => {
    const output = z.object({ when: z.string() }).transform(({ when }) => ({ at: { day: new Date(when) } }));
    const model = scriptedModel(['{"when":"2026-01-01"}']);
    const runner = createRunner({ agent: agent({ name: "helper", model, output }) });
    const error = {
      code: "OUTPUT_INVALID",
      message:
        "The output of agent helper does not fit its output schema: the schema makes a Date at at.day, which JSON cannot hold.",
      hint: expect.stringContaining("ISO text"),
    };
    for (const _ of [1, 2])
      expect(await (await runner.run("go", { id: "r" })).result).toMatchObject({ status: "failed", error });
    expect(model.requests).toHaveLength(1);
  });
});

it("without a schema the output is the text, and typed so", async () => {
  const runner = createRunner({ agent: agent({ name: "helper", model: scriptedModel(["hi"]) }) });
  const result = await (await runner.run("go")).result;
  expect(result).toMatchObject({ output: "hi", text: "hi" });
  if (result.status === "completed") expectTypeOf(result.output).toEqualTypeOf<string>();
});

it("W1: an answer that is sent back to several agents at once is a message of its own in each history", async () => {
  const output = z.object({ n: z.number() });
  const agents = ["a", "b"].map((name) => agent({ name, model: scriptedModel(["no", '{"n":1}']), output }));
  const runner = createRunner({ agent: parallel({ name: "par", agents }) });
  const ids: string[] = [];
  const run = (await runner.open("thread")).run("go");
  for await (const event of run) {
    if (event.type === "message" && event.runPath !== "par") ids.push(event.message.id);
  }
  expect(await run.result).toMatchObject({ status: "completed", output: [{ n: 1 }, { n: 1 }] });
  expect(new Set(ids).size).toBe(8);
});
