import { eachStore, factsOf, happens, openKit, paying, pays, requestOf, until, type waiting } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, type Handle, reject } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const key = { tenant: "default", threadId: "thread" };

describe.each(eachStore)("the handle of a pause that waits for people ($name)", ({ make }) => {
  async function handed(options: Parameters<typeof waiting>[1] = {}) {
    const { tools, ran } = paying();
    const kit = await openKit([pays("a", "b"), "done"], { store: await make(), tools, ...options });
    const result = await kit.session.run("go").result;
    if (result.status !== "interrupted") throw new Error(result.status);
    return { kit, tools, ran, handle: result.handle };
  }

  test("R5: it is for the code that asked (`tool_interrupt`), and its token is nowhere in the store", async () => {
    const { kit, handle } = await handed();
    expect(handle).toMatchObject({ interruptType: "tool_interrupt", restartBlock: false, segment: 1 });
    expect(JSON.stringify(await kit.store.load(key))).not.toContain(handle.token);
    expect(await kit.session.handle()).toMatchObject({ interruptType: "tool_interrupt", restartBlock: false });
  });

  test("R5: session.handle() issues a new one and voids the old; open requests stay open", async () => {
    const { kit, tools, handle, ran } = await handed();
    const other = await openKit(["done"], { store: kit.store, tools });
    const second = await other.session.handle();
    expect(second).toEqual({ ...handle, token: second.token });
    expect(second.token).not.toBe(handle.token);
    for (const { runner } of [kit, other]) {
      await expect(runner.resume(handle)).rejects.toMatchObject({ code: "TOKEN_UNKNOWN" });
    }
    expect(other.session.interrupts.map(({ callId }) => callId)).toEqual(["a", "b"]);
    expect((await other.runner.inbox()).items.map(({ callId }) => callId)).toEqual(["a", "b"]);
    const answers = Object.fromEntries(other.session.interrupts.map(({ id }) => [id, approve()]));
    expect(await (await other.runner.resume(second, { answers })).result).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["pay 1", "pay 2"]);
  });

  test("R5: session.handle() of a session that knew an older pause is on the present one", async () => {
    const { tools } = paying();
    const store = await make();
    const kit = await openKit([pays("a"), pays("b"), "done"], { store, tools });
    await kit.session.run("go").result;
    const old = await openKit(["done"], { store, tools });
    await kit.session.resume({ answers: { [requestOf(kit, "a").id]: approve() } }).result;
    const handle = await old.session.handle();
    expect(handle).toMatchObject({ segment: 2, runId: kit.session.runId });
    const { id } = requestOf(kit, "b");
    expect(await (await old.runner.resume(handle, { answers: { [id]: approve() } })).result).toMatchObject({
      status: "completed",
      segment: 3,
    });
  });

  test("R5: answers leave it valid; a resume spends it", async () => {
    const { kit, tools, handle, ran } = await handed();
    await kit.session.answer(requestOf(kit, "a").id, approve());
    await happens(ran, "pay 1");
    await kit.session.answer(requestOf(kit, "b").id, reject("no"));
    await until(async () => (await kit.store.load(key))!.row.lease === undefined);
    const other = await openKit(["done"], { store: kit.store, tools });
    expect(await (await other.runner.resume(handle)).result).toMatchObject({ status: "completed" });
    await expect(other.runner.resume(handle)).rejects.toMatchObject({ code: "TOKEN_SPENT" });
    await expect(kit.runner.resume(handle)).rejects.toMatchObject({ code: "TOKEN_SPENT" });
  });

  test("R5: forged and foreign ones are refused, and nothing is spent", async () => {
    const { kit, tools, handle, ran } = await handed();
    const foreign = await openKit([pays("x")], { store: kit.store, tools, threadId: "foreign" });
    const there = await foreign.session.run("go").result;
    if (there.status !== "interrupted") throw new Error(there.status);
    const facts = await factsOf(kit.store);
    const answers = { [requestOf(kit, "a").id]: approve() };
    const tried: (readonly [Handle, string])[] = [
      [{ ...handle, token: "0".repeat(64) }, "TOKEN_UNKNOWN"],
      [{ ...handle, token: there.handle.token }, "TOKEN_UNKNOWN"],
      [{ ...there.handle, threadId: "thread" }, "TOKEN_SPENT"],
      [{ ...handle, segment: 2 }, "TOKEN_SPENT"],
      [{ ...handle, threadId: "foreign" }, "TOKEN_SPENT"],
      [{ ...handle, threadId: "nowhere" }, "THREAD_UNKNOWN"],
    ];
    for (const [bad, code] of tried) await expect(kit.runner.resume(bad, { answers })).rejects.toMatchObject({ code });
    expect(await factsOf(kit.store)).toEqual(facts);
    expect(ran).toEqual([]);
    expect((await (await kit.runner.resume(handle, { answers })).result).status).toBe("interrupted");
    expect(ran).toEqual(["pay 1"]);
  });

  test("R5: after tokenTtlMs it is TOKEN_EXPIRED; session.handle() gives another, session.resume() needs none", async () => {
    const clock = fakeClock();
    const { kit, handle } = await handed({ clock, runner: { tokenTtlMs: 1000 } });
    await clock.advance(1000);
    await expect(kit.runner.resume(handle)).rejects.toMatchObject({
      code: "TOKEN_EXPIRED",
      message: expect.stringContaining("2026-01-01T00:00:01.000Z"),
    });
    const late = await kit.session.handle();
    await clock.advance(1000);
    await expect(kit.runner.resume(late)).rejects.toMatchObject({ code: "TOKEN_EXPIRED" });
    const next = await kit.session.handle();
    await clock.advance(999);
    expect((await (await kit.runner.resume(next)).result).status).toBe("interrupted");
    await clock.advance(5000);
    expect((await kit.session.resume().result).status).toBe("interrupted");
  });

  test("section 6: an answer that is refused leaves the token good, and answers nothing", async () => {
    const { kit, handle, ran } = await handed();
    const [a, b] = [requestOf(kit, "a").id, requestOf(kit, "b").id];
    const facts = await factsOf(kit.store);
    for (const [answers, code] of [
      [{ nonsense: approve() }, "ANSWER_UNKNOWN"],
      [{ [a]: approve(), [b]: approve({ args: { n: "x" } }) }, "ANSWER_INVALID"],
      [{ [a]: approve(), [b]: { type: "approve", really: true } }, "ANSWER_INVALID"],
    ] as const) {
      await expect(kit.runner.resume(handle, { answers: answers as never })).rejects.toMatchObject({ code });
    }
    expect(await factsOf(kit.store)).toEqual(facts);
    const answers = { [a]: approve(), [b]: approve() };
    expect((await (await kit.runner.resume(handle, { answers })).result).status).toBe("completed");
    expect(ran).toEqual(["pay 1", "pay 2"]);
  });

  test("R6: with one handle, ten resumes with answers: one wins; the others' answers do nothing", async () => {
    const { kit, tools, handle, ran } = await handed();
    const [a, b] = [requestOf(kit, "a").id, requestOf(kit, "b").id];
    const kits = await Promise.all(Array.from({ length: 10 }, () => openKit(["done"], { store: kit.store, tools })));
    const outcomes = await Promise.all(
      kits.map(({ runner }, i) =>
        runner.resume(handle, { answers: { [a]: approve({ args: { n: 10 + i } }), [b]: reject("no") } }).then(
          async (run) => (await run.result).status,
          (error) => error.code as string,
        ),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === "completed")).toHaveLength(1);
    for (const outcome of outcomes) expect(outcome).toMatch(/^(completed|THREAD_BUSY|TOKEN_SPENT|ALREADY_RUNNING)$/);
    expect(ran).toHaveLength(1);
  });

  test("R5: a handle is for a pause: there is none while it runs, and none once it has ended", async () => {
    const { kit, handle } = await handed();
    const run = kit.session.resume();
    await expect(kit.session.handle()).rejects.toMatchObject({ code: "ALREADY_RUNNING" });
    await run.result;
    await kit.session.terminate();
    await expect(kit.session.handle()).rejects.toMatchObject({ code: "INVALID_STATE" });
    await expect(kit.runner.resume(handle)).rejects.toMatchObject({ code: "TOKEN_SPENT" });
  });

  test("C5: a new handle on a thread with ended calls does not keep runner.work() from it", async () => {
    const { kit, tools, ran } = await handed();
    await kit.session.answer(requestOf(kit, "a").id, approve());
    await kit.session.answer(requestOf(kit, "b").id, approve());
    await happens(ran, "pay 1", "pay 2");
    await kit.session.handle();
    await kit.runner.close();
    const worker = await openKit(["done"], { store: kit.store, tools, threadId: "another" });
    const stop = new AbortController();
    const working = worker.runner.work({ signal: stop.signal, pollMs: 5 });
    await until(async () => (await worker.store.load(key))!.row.state === "completed");
    stop.abort();
    await working;
  });
});
