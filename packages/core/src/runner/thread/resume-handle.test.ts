import { heldStore, history, type Kit, listen, openKit, settle, threadOf } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { agent, createRunner, type Handle, jsonSchema, memoryStore, type Store, tool } from "../../index.ts";
import { type ScriptedTurn, scriptedModel } from "../../testing/index.ts";

const cut = [{ text: "Hel" }, { stall: true }] as const;
const code = (wanted: string) => expect.objectContaining({ code: wanted });
const key = { tenant: "default", threadId: "thread" };

async function pausedHandle(kit: Kit): Promise<Handle> {
  const run = kit.session.run("hello");
  for await (const event of run) if (event.type === "text-delta") break;
  await kit.session.interrupt();
  const result = await run.result;
  if (result.status !== "interrupted") throw new Error(`It is ${result.status}.`);
  return result.handle;
}

const runnerOn = (store: Store, turns: readonly ScriptedTurn[]) =>
  createRunner({ agent: agent({ name: "helper", model: scriptedModel(turns) }), store });

describe("a handle", () => {
  it("R5, D17: every interrupted result has one, plain JSON, and says which pause it is for", async () => {
    const kit = await openKit([cut]);
    const handle = await pausedHandle(kit);
    expect(JSON.parse(JSON.stringify(handle))).toEqual(handle);
    expect(handle).toEqual({
      threadId: "thread",
      runId: kit.session.runId,
      segment: 1,
      token: expect.stringMatching(/^[0-9a-f]{64}$/),
      interruptType: "user_interrupt",
      restartBlock: true,
    });
    const { row, lines } = (await kit.store.load(key))!;
    expect(JSON.stringify([row, lines])).not.toContain(handle.token);
  });

  it("R5: it continues in another runner over the same store, also after a trip through JSON", async () => {
    const kit = await openKit([cut]);
    const handle = JSON.parse(JSON.stringify(await pausedHandle(kit)));
    const other = runnerOn(kit.store, ["lo"]);
    const run = await other.resume(handle, {});
    expect(run).toMatchObject({ threadId: "thread", runId: handle.runId, segment: 2 });
    expect(await run.result).toMatchObject({ status: "completed", text: "Hello" });
    expect(history((await other.open("thread")).messages)).toEqual(["user: hello", "assistant: Hello"]);
  });

  it("R5: it takes input as resume does", async () => {
    const kit = await openKit([cut]);
    const handle = await pausedHandle(kit);
    const run = await runnerOn(kit.store, ["Bye"]).resume(handle, { input: ["x", "y"] });
    expect(await run.result).toMatchObject({ text: "Bye" });
    await threadOf(kit.session).refresh();
    expect(history(kit.session.messages)).toEqual([
      "user: hello",
      "assistant~user: Hel",
      "user: x",
      "user: y",
      "assistant: Bye",
    ]);
  });

  it("R5: used a second time it is TOKEN_SPENT, by any runner, after any later run of the thread", async () => {
    const kit = await openKit([cut]);
    const handle = await pausedHandle(kit);
    const other = runnerOn(kit.store, [[{ text: "lo" }, { stall: true }]]);
    const run = await other.resume(handle);
    for await (const event of run) if (event.type === "text-delta") break;
    await expect(other.resume(handle)).rejects.toEqual(code("TOKEN_SPENT"));
    await other.interrupt("thread");
    for (const runner of [other, kit.runner, runnerOn(kit.store, [])]) {
      await expect(runner.resume(handle)).rejects.toEqual(code("TOKEN_SPENT"));
    }
    const next = await run.result;
    expect(next).toMatchObject({ status: "interrupted", segment: 2 });
    expect(next.status === "interrupted" && next.handle.token).not.toBe(handle.token);
  });

  it("R5: a pause that was left by session.resume() has spent its handle", async () => {
    const kit = await openKit([cut, "lo"]);
    const handle = await pausedHandle(kit);
    await kit.session.resume().result;
    await expect(kit.runner.resume(handle)).rejects.toEqual(code("TOKEN_SPENT"));
  });

  it("R5: a forged token is TOKEN_UNKNOWN, and the real one still works", async () => {
    const kit = await openKit([cut, "lo"]);
    const handle = await pausedHandle(kit);
    for (const token of ["", "0".repeat(64), handle.token.toUpperCase(), `${handle.token}0`]) {
      await expect(kit.runner.resume({ ...handle, token })).rejects.toEqual(code("TOKEN_UNKNOWN"));
    }
    const forged = { ...handle, token: "x", segment: 7 };
    await expect(kit.runner.resume(forged)).rejects.toThrow(/TOKEN_|handle/);
    expect((await (await kit.runner.resume(handle)).result).status).toBe("completed");
  });

  it("R5: a thread that is not there is THREAD_UNKNOWN and is not made; a value that is no handle is HANDLE_INVALID", async () => {
    const kit = await openKit([cut]);
    const handle = await pausedHandle(kit);
    await expect(kit.runner.resume({ ...handle, threadId: "elsewhere" })).rejects.toEqual(code("THREAD_UNKNOWN"));
    expect((await kit.runner.threads()).items.map((row) => row.threadId)).toEqual(["thread"]);
    const { token: _token, ...noToken } = handle;
    for (const bad of [undefined, null, 7, {}, [], noToken, { ...handle, segment: "1" }, { ...handle, runId: 3 }]) {
      await expect(kit.runner.resume(bad as never)).rejects.toEqual(code("HANDLE_INVALID"));
    }
  });

  it("R4: bad options with a good handle spend nothing", async () => {
    const kit = await openKit([cut, "lo"]);
    const handle = await pausedHandle(kit);
    await expect(kit.runner.resume(handle, { mode: "x" as never })).rejects.toEqual(code("OPTION_INVALID"));
    await expect(kit.runner.resume(handle, { input: {} as never })).rejects.toEqual(code("INPUT_INVALID"));
    expect((await (await kit.runner.resume(handle)).result).status).toBe("completed");
  });
});

describe("ten at once", () => {
  const refusal = /^(THREAD_BUSY|TOKEN_SPENT|ALREADY_RUNNING)$/;

  /** A thread paused with one held call, and a count of how often that call runs. */
  async function heldCall(store: Store) {
    let effects = 0;
    const execute = async () => {
      effects += 1;
      await settle(1);
      return "paid";
    };
    const pay = tool({ name: "pay", description: "", input: jsonSchema({ type: "object" }), execute });
    const kit = await openKit([[{ call: "pay", id: "p" }, { stall: true }], "ok"], { tools: [pay], store });
    const run = kit.session.run("go");
    listen(run);
    while (kit.requests.length === 0) await settle(1);
    await settle(1);
    await kit.session.interrupt();
    const result = await run.result;
    if (result.status !== "interrupted") throw new Error(`It is ${result.status}.`);
    return { kit, pay, handle: result.handle, effects: () => effects };
  }

  async function tally(attempts: Promise<{ result: Promise<{ status: string; error?: unknown }> }>[]) {
    const outcomes = await Promise.all(
      attempts.map((attempt) =>
        attempt.then(
          async (run) => {
            const result = await run.result;
            return result.status === "failed" ? (result.error as { code: string }).code : result.status;
          },
          (error) => error.code as string,
        ),
      ),
    );
    const lost = outcomes.filter((outcome) => outcome !== "completed");
    expect(lost).toHaveLength(9);
    for (const outcome of lost) expect(outcome).toMatch(refusal);
  }

  const stores: Record<string, () => Store> = {
    "a quick store": () => memoryStore(),
    "a store that answers late": () => heldStore(memoryStore(), { after: () => settle(2) }),
    "a store that writes late": () => heldStore(memoryStore(), { before: (n) => settle(n % 3) }),
  };

  for (const [what, makeStore] of Object.entries(stores)) {
    it(`R6: on one session one wins, nine are refused, the effect happens once (${what})`, async () => {
      const { kit, effects } = await heldCall(makeStore());
      const attempts = Array.from({ length: 10 }, async () => kit.session.resume());
      await tally(attempts);
      expect(effects()).toBe(1);
      expect(kit.requests).toHaveLength(2);
    });

    it(`R6: with one handle on one runner one wins (${what})`, async () => {
      const { kit, handle, effects } = await heldCall(makeStore());
      await tally(Array.from({ length: 10 }, () => kit.runner.resume(handle)));
      expect(effects()).toBe(1);
      expect(kit.requests).toHaveLength(2);
    });

    it(`R6: with one handle on ten runners over one store one wins (${what})`, async () => {
      const store = makeStore();
      const { pay, handle, effects } = await heldCall(store);
      let calls = 0;
      const runners = Array.from({ length: 10 }, () => {
        const model = scriptedModel(() => {
          calls += 1;
          return "ok";
        });
        return createRunner({ agent: agent({ name: "helper", model, tools: [pay] }), store });
      });
      await tally(runners.map((runner) => runner.resume(handle)));
      expect(effects()).toBe(1);
      expect(calls).toBe(1);
      const session = await createRunner({ agent: agent({ name: "helper", model: scriptedModel([]) }), store }).open(
        "thread",
      );
      expect(history(session.messages)).toEqual(["user: go", "assistant~user: call p", "tool: p ok", "assistant: ok"]);
    });
  }
});
