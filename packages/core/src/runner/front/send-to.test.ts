import {
  eachStore,
  gate,
  history,
  listen,
  openKit,
  paying,
  requestOf,
  settle,
  toolOf,
  until,
  waiting,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { createRunner, END, graph, humanInput, START } from "../../index.ts";

const texts = (messages: Parameters<typeof history>[0]) => history(messages);

describe.each(eachStore)("send() ($name)", ({ make }) => {
  test("V5: a new, a completed and a failed thread: run", async () => {
    const kit = await openKit(["one", [{ throw: new Error("down") }], "two"], {
      store: await make(),
      agent: { settings: { retry: { attempts: 1 } } },
    });
    const first = await kit.runner.send("t", "a");
    expect(first).toEqual({ how: "run", runId: expect.any(String), id: expect.any(String) });
    const session = await kit.runner.open("t");
    await until(() => session.state === "completed");
    expect(await kit.runner.send("t", "b", { id: "b" })).toMatchObject({ how: "run", id: "b" });
    await until(() => session.state === "error");
    expect(await session.send("c")).toMatchObject({ how: "run" });
    await until(() => session.state === "completed");
    expect(texts(session.messages).filter((text) => text.startsWith("user"))).toEqual([
      "user: a",
      "user: b",
      "user: c",
    ]);
  });

  test("V5: running: steer by default, enqueue, or interrupt and resume; from another process, too", async () => {
    const store = await make();
    const { opened, open } = gate();
    const slow = toolOf("slow", () => opened);
    const kit = await openKit([[{ call: "slow", id: "s" }], "done", "next", "again"], { store, tools: [slow] });
    const other = await openKit([], { store, tools: [slow], threadId: "elsewhere" });
    const run = kit.session.run("go");
    await listen(run).until(({ type }) => type === "tool-start");
    const steer = await other.runner.send("thread", "steered", { id: "s1", by: "ann" });
    expect(steer).toEqual({ how: "steer", runId: run.runId, id: "s1" });
    expect(await other.runner.send("thread", "queued", { whenRunning: "enqueue", id: "q1" })).toMatchObject({
      how: "enqueue",
    });
    expect(await other.runner.send("thread", "taken back", { id: "s2" })).toMatchObject({ how: "steer" });
    expect(await other.runner.withdraw("thread", "s2")).toBe(true);
    open();
    await run.result;
    await until(() => kit.session.state === "completed" && kit.session.messages.length >= 7);
    expect(texts(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call s",
      "tool: s ok",
      "user: steered",
      "assistant: done",
      "user: queued",
      "assistant: next",
    ]);
    // The same ids again change nothing, in any state of the thread.
    const { head } = (await kit.runner.look("thread"))!;
    expect(await other.runner.send("thread", "steered", { id: "s1" })).toMatchObject({ how: "steer", id: "s1" });
    expect(await other.runner.send("thread", "queued", { id: "q1" })).toMatchObject({ how: "enqueue", id: "q1" });
    expect((await kit.runner.look("thread"))!.head).toBe(head);
  });

  test("V5: whenRunning interrupt stops the run and reasons again with the input", async () => {
    const kit = await openKit([[{ text: "wrong " }, { stall: true }], "right"], { store: await make() });
    const run = kit.session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    const sent = await kit.session.send("no, this", { whenRunning: "interrupt", id: "i1", by: "ann" });
    expect(sent).toEqual({ how: "interrupt", runId: run.runId, id: "i1" });
    await until(() => kit.session.state === "completed");
    expect(texts(kit.session.messages)).toEqual([
      "user: go",
      "assistant~ann: wrong ",
      "user: no, this",
      "assistant: right",
    ]);
    expect(await kit.session.send("no, this", { whenRunning: "interrupt", id: "i1" })).toMatchObject({
      how: "interrupt",
    });
    expect(kit.session.messages).toHaveLength(4);
  });

  test("V5: paused by a person, by pause() or by a crash: resume with the input, without open()", async () => {
    const store = await make();
    const stall = [{ text: "so far" }, { stall: true }] as const;
    const kit = await openKit([stall, "then", stall, "after the crash"], { store });
    const run = kit.session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    await kit.session.interrupt();
    expect(await kit.runner.send("thread", "on")).toMatchObject({ how: "resume", runId: run.runId });
    await until(() => kit.session.state === "completed");
    const second = kit.session.run("more");
    await listen(second).until(({ type }) => type === "text-delta");
    await kit.runner.close({ force: true });
    const other = await openKit(["after the crash"], { store, threadId: "elsewhere" });
    expect(await other.runner.send("thread", "still there?", { id: "c1" })).toMatchObject({ how: "resume" });
    await until(async () => (await other.runner.look("thread"))!.state === "completed");
    expect(await other.runner.send("thread", "still there?", { id: "c1" })).toMatchObject({ how: "resume" });
  });

  test("V5, Q8: waiting for people: withdraw by default, keep, or answer; whenAsked overrides the request", async () => {
    const { tools, ran } = paying();
    const withdrawn = await waiting(["a"], { store: await make(), tools });
    expect(await withdrawn.session.send("never mind", { id: "n", by: "ann" })).toMatchObject({ how: "resume" });
    await until(() => withdrawn.session.state === "completed");
    expect(await withdrawn.session.send("never mind", { id: "n" })).toMatchObject({ how: "resume", id: "n" });
    expect(withdrawn.session.state).toBe("completed");
    expect(withdrawn.session.messages.at(-2)).toMatchObject({ role: "user", by: "ann" });
    expect(ran).toEqual([]);
    const kept = await waiting(["a"], { store: await make(), tools });
    expect(await kept.session.send("by the way", { whenAsked: "keep", id: "k" })).toMatchObject({ how: "steer" });
    expect(kept.session.interrupts.map(({ kind }) => kind)).toEqual(["approval"]);
    expect(await kept.session.waiting()).toMatchObject([{ kind: "steer", id: "k" }]);
    const ask = toolOf("ask", (ctx) => ctx.ask(humanInput("Who?", { onNewInput: "answer" })));
    const asked = await openKit([[{ call: "ask", id: "q" }], "thanks"], { store: await make(), tools: [ask] });
    await asked.session.run("go").result;
    expect(requestOf(asked, "q").reason).toBe("Who?");
    expect(await asked.runner.send("thread", "me", { by: "ann", id: "m" })).toMatchObject({ how: "answer" });
    expect(await asked.runner.send("thread", "me", { id: "m" })).toMatchObject({ how: "answer", id: "m" });
    await until(() => asked.session.state === "completed");
    expect(texts(asked.session.messages)).toEqual(["user: go", "assistant: call q", "tool: q ok", "assistant: thanks"]);
    const two = await waiting(["a", "b"], { store: await make(), tools });
    await expect(two.session.send("which?", { whenAsked: "answer" })).rejects.toMatchObject({
      code: "ANSWER_AMBIGUOUS",
    });
    expect(two.session.interrupts).toHaveLength(2);
  });

  test("V5: at a node the input waits as a steer; terminated is INVALID_STATE; bad options are refused", async () => {
    const steps = graph("steps")
      .node("a", () => "a")
      .edge(START, "a")
      .edge("a", END)
      .compile({ interruptBefore: ["a"] });
    const runner = createRunner({ agents: [steps], store: await make() });
    const session = await runner.open("t");
    await session.run("go").result;
    expect(await runner.send("t", "hello")).toMatchObject({ how: "steer" });
    expect(session.state).toBe("paused");
    await session.terminate();
    await expect(runner.send("t", "hello")).rejects.toMatchObject({ code: "INVALID_STATE" });
    await expect(runner.send("t", " ")).rejects.toMatchObject({ code: "INPUT_EMPTY" });
    await expect(runner.send("t", "x", { whenrunning: "steer" } as never)).rejects.toMatchObject({
      code: "OPTION_UNKNOWN",
    });
    await expect(runner.send("t", "x", { whenAsked: "no" } as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(session.send("x", { agent: "a" } as never)).rejects.toMatchObject({ code: "OPTION_UNKNOWN" });
  });

  test("V5: many at once lose nothing: each input is in the history once, in a run, a resume or a steer", async () => {
    const store = await make();
    const kits = await Promise.all(
      ["x", "y", "z"].map((threadId) => openKit(() => "ok", { store, threadId, agent: { name: "helper" } })),
    );
    const inputs = Array.from({ length: 12 }, (_, i) => `input ${i}`);
    const sent = await Promise.all(inputs.map((input, i) => kits[i % 3]!.runner.send("busy", input, { id: input })));
    expect(sent.map(({ id }) => id)).toEqual(inputs);
    const [kit] = kits;
    const told = async () => {
      const look = (await kit!.runner.look("busy"))!;
      if (look.state !== "completed") return [];
      if (look.waiting.length > 0) await kit!.runner.send("busy", "and the rest");
      const { items } = await kit!.runner.journal("busy");
      return items.flatMap((fact) =>
        fact.type === "message" && fact.message.role === "user" ? history([fact.message]) : [],
      );
    };
    await until(async () => (await told()).filter((text) => text.startsWith("user: input")).length >= inputs.length);
    const all = (await told()).filter((text) => text.startsWith("user: input"));
    expect([...all].sort()).toEqual(inputs.map((input) => `user: ${input}`).sort());
    await settle();
  });

  test("V6: open() refreshes a session that is open", async () => {
    const store = await make();
    const one = await openKit(["first"], { store });
    const two = await openKit([], { store });
    await one.session.run("go").result;
    expect(two.session.state).toBe("created");
    expect((await two.runner.open("thread")).state).toBe("completed");
    expect(two.session.messages).toHaveLength(2);
  });
});
