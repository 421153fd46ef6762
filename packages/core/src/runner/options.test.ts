import { expect, test } from "vitest";
import { graph } from "../graph/graph.ts";
import { END, START } from "../graph/shape.ts";
import { respond } from "../interrupt/answer.ts";
import { humanInput } from "../interrupt/request.ts";
import { createRunner } from "./runner.ts";

test("bad options: a misspelt one is refused and changes nothing: an answer under another name would be none", async () => {
  const asks = graph("g")
    .node("a", (_input: unknown, ctx) => ctx.ask(humanInput("how?")))
    .edge(START, "a")
    .edge("a", END)
    .compile();
  const session = await createRunner({ agent: asks }).open();
  await session.run("x").result;
  const [question] = session.interrupts;
  const answers = { [question!.id]: respond("so") };
  const slip = (option: string, meant: string) => ({
    code: "OPTION_INVALID",
    message: expect.stringMatching(new RegExp(`^Option ${option} is .*; it must be called ${meant}\\.$`)),
  });
  expect(() => session.resume({ answer: answers } as object)).toThrow(
    expect.objectContaining(slip("answer", "answers")),
  );
  await expect(session.interrupt({ gracems: 0 } as object)).rejects.toMatchObject(slip("gracems", "graceMs"));
  await expect(session.setBreakpoint({ nodes: "a" } as never)).rejects.toMatchObject(slip("nodes", "node"));
  expect([session.state, session.interrupts]).toEqual(["paused", [question]]);
  expect(await session.resume({ answers }).result).toMatchObject({ status: "completed", output: "so" });
});
