// Hooks on the input of a command: they are called for a command that the thread can take, and once.

import { type Hooks, memoryStore } from "@belay/core";
import { listen, openKit, until } from "@belay/testkit";
import { describe, expect, it } from "vitest";

/** Hooks that count their calls, and a kit with them. */
async function counted(turns: Parameters<typeof openKit>[0], store = memoryStore()) {
  const said: string[] = [];
  const hooks: Hooks = { beforeReply: ({ runId }) => void said.push(runId) };
  return { kit: await openKit(turns, { store, agent: { hooks } }), said };
}

const stall = [{ text: "so far" }, { stall: true }] as const;

describe("hooks on the input", () => {
  it("V2: a run that is asked for again under its id calls none, also in another process", async () => {
    const store = memoryStore();
    const { kit, said } = await counted(["done"], store);
    await kit.session.run("go", { id: "r1" }).result;
    expect(said).toHaveLength(1);
    expect(await kit.session.run("go", { id: "r1" }).result).toMatchObject({ text: "done" });
    expect(said).toHaveLength(1);
    const other = await counted([], store);
    expect(await other.kit.session.run("go", { id: "r1" }).result).toMatchObject({ text: "done" });
    expect(other.said).toHaveLength(0);
  });

  it("a run that the thread does not take calls none, also if another process has moved the thread", async () => {
    const store = memoryStore();
    const { kit, said } = await counted(["never"], store);
    const other = await counted([stall], store);
    await listen(other.kit.session.run("go")).until(({ type }) => type === "text-delta");
    await other.kit.session.interrupt();
    await other.kit.session.terminate();
    // This session has read nothing of it.
    expect(await kit.session.run("mine").result).toMatchObject({ status: "failed", error: { code: "INVALID_STATE" } });
    expect(said).toHaveLength(0);
  });

  it("R5: a resume with a handle that is spent calls none", async () => {
    const { kit, said } = await counted([stall, "on", "never"]);
    const run = kit.session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    await kit.session.interrupt();
    const result = await run.result;
    if (result.status !== "interrupted") throw new Error("The run was not stopped.");
    await kit.session.resume({ input: "more" }).result;
    await kit.session.close();
    await until(() => said.length === 2);
    const again = kit.runner.resume(result.handle, { input: "again" });
    await expect(again).rejects.toMatchObject({ code: "TOKEN_SPENT" });
    expect(said).toHaveLength(2);
  });
});
