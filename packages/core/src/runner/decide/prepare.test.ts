// Hooks on the input of a command: they are called for a command that the thread can take, and once.

import { type Hooks, memoryStore } from "@belay/core";
import { factsOf, gate, listen, openKit, until } from "@belay/testkit";
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

  it("a resume of a pause that another process has resumed calls none", async () => {
    const store = memoryStore();
    const other = await counted([stall, "on"], store);
    await listen(other.kit.session.run("go")).until(({ type }) => type === "text-delta");
    await other.kit.session.interrupt();
    const { kit, said } = await counted(["never"], store);
    await other.kit.session.resume({ input: "more" }).result;
    expect(kit.session.state).toBe("paused");
    const refused = await kit.session.resume({ input: "mine" }).result;
    expect(refused).toMatchObject({ status: "failed", error: { code: "TOKEN_SPENT" } });
    expect(said).toHaveLength(0);
  });

  it("a run that the thread does not take calls none, also if another process has moved the thread", async () => {
    const store = memoryStore();
    const other = await counted(["done"], store);
    await other.kit.session.run("go").result;
    const { kit, said } = await counted(["never"], store);
    expect(kit.session.state).toBe("completed");
    await other.kit.session.terminate();
    // This session has read nothing of the end.
    expect(kit.session.state).toBe("completed");
    expect(await kit.session.run("mine").result).toMatchObject({ status: "failed", error: { code: "INVALID_STATE" } });
    expect(said).toHaveLength(0);
  });

  it("a close while one is asked ends the run with SESSION_CLOSED, and nothing is on record", async () => {
    const [begun, answer] = [gate(), gate()];
    const beforeReply = async () => {
      begun.open();
      await answer.opened;
    };
    const kit = await openKit(["never"], { agent: { hooks: { beforeReply } } });
    const run = kit.session.run("go");
    await begun.opened;
    const closed = kit.session.close({ force: true });
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "SESSION_CLOSED" } });
    answer.open();
    await closed;
    expect(await factsOf(kit.store)).toEqual([]);
  });

  it("a close in the tick of the run begins nothing, and calls none", async () => {
    const { kit, said } = await counted(["never"]);
    const run = kit.session.run("go");
    await kit.session.close();
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "SESSION_CLOSED" } });
    expect(said).toHaveLength(0);
    expect(await factsOf(kit.store)).toEqual([]);
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
