import { expect, test } from "vitest";
import { agent, createRunner } from "../index.ts";
import { reached, scriptedModel } from "./index.ts";

test("section 19: reached() resolves at the first event of a type, and rejects if the run ends without one", async () => {
  const model = scriptedModel([[{ text: "I say" }, { stall: true }], " so"]);
  const session = await createRunner({ agent: agent({ name: "a", model }) }).open();
  const run = session.run("go");
  expect(await reached(run, "text-delta")).toMatchObject({ type: "text-delta", text: "I say" });
  await session.interrupt();
  expect(await reached(run, "run-start")).toMatchObject({ type: "run-start", runId: run.runId });
  await expect(reached(run, "tool-start")).rejects.toMatchObject({
    code: "OPTION_INVALID",
    message: expect.stringContaining('"tool-start"'),
  });
});
