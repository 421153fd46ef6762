// User code that is asked about a command. Hooks are called for a command that the thread can take, and once. A stop waits for none
// of it longer than its grace.

import { type Hooks, humanInput, memoryStore, respond } from "@belay/core";
import { factsOf, gate, history, listen, openKit, paying, toolOf, until, waiting } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { z } from "zod";

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

describe("S1: user code that never settles", () => {
  /** A thread that waits for the answer to a question, with a schema that never judges it. */
  async function asking() {
    const asked = gate();
    const never = z.string().refine(() => {
      asked.open();
      return new Promise<boolean>(() => {});
    });
    const asks = toolOf("asks", (ctx) => ctx.ask(humanInput("Who?", { schema: never })));
    const kit = await openKit([[{ call: "asks" }], "done"], { tools: [asks] });
    await kit.session.run("go").result;
    return { kit, asked, id: kit.session.interrupts[0]!.id };
  }

  /** A resume with a drift function that never answers. */
  async function drifting() {
    const store = memoryStore();
    const before = await openKit([stall], { store });
    await listen(before.session.run("go")).until(({ type }) => type === "text-delta");
    await before.session.interrupt();
    await before.session.close();
    const kit = await openKit(["never"], { store, agent: { instructions: "Be brief." } });
    const asked = gate();
    const drift = () => {
      asked.open();
      return new Promise<never>(() => {});
    };
    const run = kit.session.resume({ input: "more", drift });
    await asked.opened;
    return { kit, run };
  }

  it("a stop of a resume whose drift function is asked ends the resume, and nothing of it is on record", async () => {
    const { kit, run } = await drifting();
    const facts = await factsOf(kit.store);
    expect(await kit.session.interrupt({ graceMs: 0 })).toMatchObject({ accepted: true });
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "USER_INTERRUPT" } });
    expect(await factsOf(kit.store)).toEqual(facts);
    expect(kit.session.state).toBe("paused");
  });

  it("a close ends such a resume with SESSION_CLOSED", async () => {
    const { kit, run } = await drifting();
    await kit.session.close({ force: true });
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "SESSION_CLOSED" } });
  });

  it("a stop beside an answer whose schema is asked withdraws the request, and the answer is not taken", async () => {
    const { kit, asked, id } = await asking();
    const answered = kit.session.answer(id, respond("ann"));
    await asked.opened;
    expect(await kit.session.interrupt({ graceMs: 0 })).toMatchObject({ accepted: true });
    await expect(answered).rejects.toMatchObject({ code: "USER_INTERRUPT" });
    const decided = (await factsOf(kit.store)).filter(({ type }) => type === "request-answered");
    expect(decided).toMatchObject([{ id, answer: { type: "withdraw" } }]);
  });

  it("a termination and a close end such an answer, also as part of a resume", async () => {
    const first = await asking();
    const answered = first.kit.session.answer(first.id, respond("ann"));
    await first.asked.opened;
    await first.kit.session.terminate({ force: true });
    await expect(answered).rejects.toMatchObject({ code: "USER_INTERRUPT" });
    expect(first.kit.session.state).toBe("terminated");
    const second = await asking();
    const run = second.kit.session.resume({ answers: { [second.id]: respond("ann") } });
    await second.asked.opened;
    await second.kit.session.close({ force: true });
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "SESSION_CLOSED" } });
  });
});

describe("user code that sends a command to its own thread, and waits for it", () => {
  it("a beforeReply hook names the thread, before the run is on record", async () => {
    let name = async () => {};
    const kit = await openKit(["done"], { agent: { hooks: { beforeReply: async () => name() } } });
    name = () => kit.session.label({ title: "named" });
    expect(await kit.session.run("go").result).toMatchObject({ status: "completed" });
    expect(await kit.runner.look("thread")).toMatchObject({ title: "named" });
  });

  it("an onInterrupt hook names it, while the stop of a thread at rest waits for the words of the hook", async () => {
    let name = async () => {};
    const onInterrupt = async () => {
      await name();
      return "As you say.";
    };
    const { tools } = paying();
    const kit = await waiting(["a"], { tools, agent: { hooks: { onInterrupt } } });
    name = () => kit.session.label({ title: "named" });
    expect(await kit.session.interrupt({ graceMs: 60_000 })).toMatchObject({ accepted: true });
    expect(history(kit.session.messages).at(-1)).toBe("assistant: As you say.");
    expect(await kit.runner.look("thread")).toMatchObject({ title: "named", pauseType: "user_interrupt" });
  });
});
