import { expectTypeOf, it } from "vitest";
import { z } from "zod";
import { agent, type Run, type ToolContext, tool } from "../../index.ts";
import { scriptedModel } from "../../testing/index.ts";
import { createRunner } from "./runner.ts";

const model = scriptedModel("yes");

it("agents of several kinds share a runner: its runs give one of their outputs, its deps serve them all", async () => {
  const input = z.object({});
  const read = tool({
    name: "read",
    description: "",
    input,
    execute: (_, ctx: ToolContext<{ db: string }>) => ctx.deps.db,
  });
  const send = tool({
    name: "send",
    description: "",
    input,
    execute: (_, ctx: ToolContext<{ mail: number }>) => ctx.deps.mail,
  });
  const words = agent({ name: "words", model, tools: [read] });
  const shapes = agent({ name: "shapes", model, tools: [send], output: z.object({ sides: z.number() }) });
  const runner = createRunner({ agents: [words, shapes], deps: { db: "d", mail: 1 } });
  const run = (await runner.open()).run("Go.");
  const result = await run.result;
  if (result.status === "completed") expectTypeOf(result.output).toEqualTypeOf<string | { sides: number }>();
  // @ts-expect-error: one of the agents needs `mail`
  createRunner({ agents: [words, shapes], deps: { db: "d" } });
});

it("a function that takes any Run takes the run of an agent with an output", () => {
  const show = (run: Run): string => run.runId;
  const shapes = agent({ name: "shapes", model, output: z.object({ sides: z.number() }) });
  const started = async () => show((await createRunner({ agent: shapes }).open()).run("Go."));
  expectTypeOf(started).returns.resolves.toBeString();
});

it("deps that a tool needs cannot be left out", () => {
  const input = z.object({});
  const read = tool({
    name: "read",
    description: "",
    input,
    execute: (_, ctx: ToolContext<{ db: string }>) => ctx.deps.db,
  });
  const words = agent({ name: "words", model, tools: [read] });
  expectTypeOf(createRunner({ agent: words, deps: { db: "d", more: 1 } })).toHaveProperty("open");
  // @ts-expect-error: `db` is needed
  createRunner({ agent: words });
  // @ts-expect-error: `db` is text
  createRunner({ agent: words, deps: { db: 1 } });
});
