import { toolOf } from "@belay/testkit";
import { expect, inject, test } from "vitest";
import { agent, type ModelRequest, messageText } from "../index.ts";
import { interruptAnywhere, type ScenarioKit, scriptedModel } from "../testing/index.ts";

const { strikes: mostPoints } = inject("effort");

let texts = 0;

/** Its model reads the same instructions in each request of a run, or fails. */
function helper({ effect }: ScenarioKit) {
  const speak = ({ messages }: ModelRequest) => {
    const [first] = messages;
    const told = first?.role === "system" ? messageText(first) : "nothing";
    const before = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "call" ? [part.args] : [])));
    for (const args of before) {
      const { told: then } = args as { told: string };
      if (then !== told) throw new Error(`It was told ${then}, and now ${told}.`);
    }
    return before.length < 2 ? [{ call: "act", args: { told } }] : "done";
  };
  const act = toolOf("act", (ctx) => effect(ctx.address), { onCrash: "fail" });
  return agent({
    name: "helper",
    model: scriptedModel(speak),
    tools: [act],
    // Another text each time: only a recorded one is the same again.
    instructions: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      texts += 1;
      return `text ${texts}`;
    },
  });
}

test("I8, C2, F4: a model reads one text of its instructions in a run, whatever fault comes at every point", async () => {
  const faults = ["stop", "stop-twice", "pause", "steer", "close", "crash", "freeze", "lost-answer"] as const;
  const report = await interruptAnywhere({ agent: helper, input: "Do it.", faults, anyEnd: true, mostPoints });
  expect(report).toMatchObject({ unstruck: 0, problems: [] });
});
