import { eachStore } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type Agent, createRunner, humanInput, type Json, sequential } from "../index.ts";
import { graph } from "./graph.ts";
import type { NodeContext } from "./node.ts";
import { END, START } from "./shape.ts";

const asks = async (_input: Json, ctx: NodeContext<object>) => ctx.ask(humanInput("how?"));
const tag = (key: string) => (input: Json) => `${key}(${input})`;

const asked = graph("g")
  .node("a", tag("a"))
  .node("b", asks)
  .node("c", tag("c"))
  .edge(START, "a")
  .edge("a", "b")
  .edge("b", "c")
  .edge("c", END)
  .compile();

const without = graph("g")
  .node("a", tag("a"))
  .node("c", tag("c"))
  .edge(START, "a")
  .edge("a", "c")
  .edge("c", END)
  .compile();

describe.each(eachStore)("a graph that has changed while it waited, on $name", ({ make }) => {
  test.each([
    ["the whole", (inner: Agent<unknown, unknown>) => inner],
    ["a part", (inner: Agent<unknown, unknown>) => sequential({ name: "row", agents: [inner] })],
  ])(
    "W2, Q6: %s completes without the node that asked, and its question is withdrawn with that",
    async (_name, root) => {
      const store = await make();
      const before = await createRunner({ agent: root(asked), store }).open("t");
      await before.run("x").result;
      const [question] = before.interrupts;
      await before.close();

      const runner = createRunner({ agent: root(without), store });
      const session = await runner.open("t");
      expect(await session.resume().result).toMatchObject({ status: "completed", output: "c(a(x))" });
      expect(session.interrupts).toEqual([]);
      expect((await runner.inbox()).items).toHaveLength(0);
      await expect(runner.answer(question!.id, { type: "respond", value: "so" })).rejects.toMatchObject({
        code: "ANSWER_WITHDRAWN",
      });
    },
  );
});
