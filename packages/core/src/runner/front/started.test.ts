import { eachStore, factsOf, gate, heldStore, listen, openKit, settle, toolOf } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { approve, memoryStore } from "../../index.ts";

describe.each(eachStore)("run.started on $name", ({ make }) => {
  it("V4: resolves to the place of the fact that says it runs, for a new run and for each segment after it", async () => {
    const store = await make();
    const kit = await openKit([[{ text: "a" }, { stall: true }], "b"], { store });
    const first = kit.session.run("go");
    const heard = listen(first);
    const began = await first.started;
    const runs = async () =>
      (await factsOf(store)).flatMap((fact) => (fact.type === "state" && fact.state === "running" ? [fact] : []));
    expect(await runs()).toMatchObject([began]);
    await heard.until(({ type }) => type === "text-delta");
    await kit.session.interrupt();
    const second = kit.session.resume();
    expect(await second.started).toMatchObject({ runId: first.runId, segment: 2 });
    expect(await runs()).toMatchObject([began, await second.started]);
    await second.result;
  });

  it("V4, V1: a run that another process has made impossible rejects `started`, and fails", async () => {
    const store = await make();
    const stale = await openKit(["never"], { store });
    const kit = await openKit([[{ call: "ask" }]], { store, tools: [toolOf("ask", () => 1, { needsApproval: true })] });
    await kit.session.run("go").result;
    const run = stale.session.run("go");
    await expect(run.started).rejects.toMatchObject({ code: "NEED_RESUME" });
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "NEED_RESUME" } });
  });

  it("V4: runner.start, runner.run and runner.resume resolve when it is on record, and reject if it is refused", async () => {
    const store = await make();
    const held = gate();
    const kit = await openKit([() => held.opened.then(() => "one"), [{ text: "a" }, { stall: true }], "b", "c"], {
      store,
    });
    const started = await kit.runner.start("mine", "go");
    const places = async (threadId: string) =>
      (await factsOf(store, threadId)).flatMap((fact) => (fact.type === "run-start" ? [fact.runId] : []));
    expect(await places("mine")).toEqual([started.runId]);
    await expect(kit.runner.start("mine", "more")).rejects.toMatchObject({ code: "ALREADY_RUNNING" });
    held.open();
    expect(await started.result).toMatchObject({ status: "completed", text: "one" });
    await expect(kit.runner.resume("mine")).rejects.toMatchObject({ code: "INVALID_STATE" });
    await expect(kit.runner.resume("nowhere")).rejects.toMatchObject({ code: "THREAD_UNKNOWN" });
    await expect(kit.runner.start("mine", "  ")).rejects.toMatchObject({ code: "INPUT_EMPTY" });
    await expect(kit.runner.start("mine", "x", { agent: "stranger" })).rejects.toMatchObject({
      code: "AGENT_MISMATCH",
    });
    const again = await kit.runner.start("mine", "go");
    await listen(again).until(({ type }) => type === "text-delta");
    await kit.runner.interrupt("mine");
    const { runId, segment } = await (await kit.runner.resume("mine", { input: "go on" })).started;
    expect([runId, segment]).toEqual([again.runId, 2]);
    expect(await places((await kit.runner.run("new")).threadId)).toHaveLength(1);
  });
});

it("V4: a store that fails rejects `started`; a caller that does not await it is not disturbed", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on("unhandledRejection", note);
  try {
    const store = heldStore(memoryStore(), { before: () => Promise.reject(new Error("the disk is full")) });
    const kit = await openKit(["never"], { store });
    const run = kit.session.run("go");
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "STORE_FAILED" } });
    await settle();
    await new Promise((resolve) => setTimeout(resolve, 5));
    await expect(run.started).rejects.toMatchObject({ code: "STORE_FAILED" });
    await expect(kit.runner.run("go")).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", note);
  }
});

it("V4, S9: a resume that waits for an answered call, and a stop that ends both: it has not started", async () => {
  const held = gate();
  const tool = toolOf("ask", () => held.opened, { needsApproval: true });
  const kit = await openKit([[{ call: "ask" }], "never"], { tools: [tool] });
  await kit.session.run("go").result;
  await kit.session.answer(kit.session.interrupts[0]!.id, approve());
  const waiting = kit.session.resume();
  await kit.session.interrupt({ graceMs: 0 });
  expect(await waiting.result).toMatchObject({ status: "interrupted" });
  await expect(waiting.started).rejects.toMatchObject({ code: "USER_INTERRUPT" });
  held.open();
});
