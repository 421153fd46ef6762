// send() from a process that starts nothing, to threads that rest: a worker takes the steps that the sender would have taken.

import { eachStore, factsOf, history, listen, openKit, settle, toolOf, until, wrapStore } from "@belay/testkit";
import { describe, expect, onTestFinished, test } from "vitest";
import { approve, createRunner, type Fact, humanInput, type Store } from "../../index.ts";

type Kit = Awaited<ReturnType<typeof openKit>>;

/** Works until the test has ended. */
function working({ runner }: Kit) {
  const ending = new AbortController();
  const over = runner.work({ signal: ending.signal, pollMs: 1 });
  onTestFinished(async () => {
    ending.abort();
    await over;
  });
}

const stall = [{ text: "so far" }, { stall: true }] as const;

/** A thread that a person has stopped in mid-answer. */
async function stopped(store: Store, turns: readonly string[] = ["as you say"]) {
  const kit = await openKit([stall, ...turns], { store });
  await listen(kit.session.run("go")).until(({ type }) => type === "text-delta");
  await kit.session.interrupt({ by: "ann" });
  return { kit, front: createRunner({ store }) };
}

const question = (onNewInput: "withdraw" | "keep" | "answer") =>
  toolOf("asks", (ctx) => ctx.ask(humanInput("Where to?", { onNewInput })));

/** A thread that waits for a person. */
async function asking(store: Store, onNewInput: "withdraw" | "keep" | "answer") {
  const kit = await openKit([[{ call: "asks" }], "done"], { store, tools: [question(onNewInput)] });
  await kit.session.run("go").result;
  await kit.session.close();
  return { kit, front: createRunner({ store }) };
}

describe.each(eachStore)("send() from a runner without agents, on $name", ({ make }) => {
  test("V5, V8: words for a thread that a person stopped: a worker resumes it with them, and the model reasons again", async () => {
    const { kit, front } = await stopped(await make());
    const sent = await front.send("thread", "the red one", { id: "m1", by: "bob" });
    expect(sent).toMatchObject({ how: "steer", id: "m1" });
    expect((await front.look("thread"))!.waiting).toMatchObject([{ kind: "steer", id: "m1", by: "bob" }]);
    expect(await front.send("thread", "the red one", { id: "m1" })).toMatchObject({ how: "steer", id: "m1" });
    working(kit);
    await until(async () => (await front.look("thread"))!.state === "completed");
    expect(kit.requests).toHaveLength(2);
    const read = kit.requests[1]!.messages.map(({ role, parts }) => [role, parts[0]]);
    expect(read).toMatchObject([
      ["user", { text: "go" }],
      ["assistant", { text: expect.stringMatching(/^so far/) }],
      ["user", { text: "the red one" }],
    ]);
    const { items } = await front.journal("thread");
    expect(items.filter(({ type }) => type === "input-queued" || type === "input-consumed")).toMatchObject([
      { type: "input-queued", id: "m1" },
      { type: "input-consumed", id: "m1" },
    ]);
    const words = (fact: Fact) => fact.type === "message" && fact.message.role === "user" && fact.segment === 2;
    expect(items.filter(words)).toMatchObject([{ message: { by: "bob", origin: "person" } }]);
    expect(await front.send("thread", "the red one", { id: "m1" })).toMatchObject({ how: "steer", id: "m1" });
    expect((await front.journal("thread")).items).toHaveLength(items.length);
    expect(kit.problems()).toEqual([]);
  });

  test("V5, V8: several words wait in their order, and one that was withdrawn is not said", async () => {
    const { kit, front } = await stopped(await make());
    for (const id of ["one", "two", "three"]) await front.send("thread", id, { id });
    expect(await front.withdraw("thread", "two")).toBe(true);
    working(kit);
    await until(async () => (await front.look("thread"))!.state === "completed");
    await kit.runner.open("thread");
    const said = history(kit.session.messages).filter((line) => line.startsWith("user"));
    expect(said).toEqual(["user: go", "user: one", "user: three"]);
  });

  test("V5, F3: words that a run read before it was stopped again are announced once, and a worker resumes with them", async () => {
    const store = await make();
    const kit = await openKit([stall, stall, "as you say"], { store });
    await listen(kit.session.run("go")).until(({ type }) => type === "text-delta");
    await kit.session.interrupt();
    const late = wrapStore(store, {
      async send(key, command) {
        // The thread was paused when the sender looked.
        const run = kit.session.resume();
        await listen(run).until(({ type }) => type === "text-delta");
        return store.send(key, command);
      },
    });
    await createRunner({ store: late }).send("thread", "the red one", { id: "m1" });
    const announced = async () => (await factsOf(store)).filter(({ type }) => type === "input-queued");
    await until(async () => (await announced()).length === 1);
    await kit.session.interrupt();
    working(kit);
    await until(() => kit.session.state === "completed");
    expect(await announced()).toHaveLength(1);
    expect(history(kit.session.messages).filter((line) => line === "user: the red one")).toHaveLength(1);
  });

  test("V5: words that are taken back while a worker begins resume nothing: the worker tries once", async () => {
    const store = await make();
    const { front } = await stopped(store);
    await front.send("thread", "never mind", { id: "m1" });
    let tries = 0;
    const counted = wrapStore(store, {
      append(key, append) {
        tries += append.consume?.includes("m1") ? 1 : 0;
        return store.append(key, append);
      },
    });
    const taken: boolean[] = [];
    const hooks = { beforeReply: async () => void taken.push(await front.withdraw("thread", "m1")) };
    const kit = await openKit(["never"], { store: counted, agent: { hooks } });
    working(kit);
    await until(() => tries > 0);
    await settle(20);
    expect(taken).toEqual([true]);
    expect(tries).toBe(1);
    expect(kit.requests).toEqual([]);
    expect(await front.look("thread")).toMatchObject({ pauseType: "user_interrupt", waiting: [] });
  });

  test("V5: a process that has the agent and resumes first takes them along", async () => {
    const { kit, front } = await stopped(await make());
    await front.send("thread", "the red one", { id: "m1" });
    expect(await kit.session.resume({ input: "and quick" }).result).toMatchObject({ status: "completed" });
    const said = history(kit.session.messages).filter((line) => line.startsWith("user"));
    expect(said).toEqual(["user: go", "user: the red one", "user: and quick"]);
    expect(await kit.session.waiting()).toEqual([]);
  });

  test("V5: words that are sent while the thread ends are sent anew, for the next run", async () => {
    const store = await make();
    const { kit } = await stopped(store, ["first", "second"]);
    const late = wrapStore(store, {
      async send(key, command) {
        if (command.kind === "answer") await kit.session.resume().result;
        return store.send(key, command);
      },
    });
    const front = createRunner({ store: late });
    expect(await front.send("thread", "more", { id: "m1" })).toMatchObject({ how: "enqueue", id: "m1" });
    working(kit);
    await until(async () =>
      (await front.journal("thread")).items.some((fact) => JSON.stringify(fact).includes("second")),
    );
  });

  test("V5, V8: words for a thread that has failed begin a new run there", async () => {
    const noCredit = () => Promise.reject(new Error("no credit"));
    const kit = await openKit([noCredit, "better now", "and now"], {
      store: await make(),
      agent: { settings: { retry: { attempts: 1 } } },
    });
    expect(await kit.session.run("go").result).toMatchObject({ status: "failed" });
    await kit.session.close();
    const front = createRunner({ store: kit.store });
    await front.enqueue("thread", "held", { id: "held" });
    working(kit);
    await new Promise((resolve) => setTimeout(resolve, 20));
    // A queued input waits for a person to act.
    expect(await front.look("thread")).toMatchObject({ state: "error", waiting: [{ id: "held" }] });
    expect(await front.send("thread", "again", { id: "m1" })).toMatchObject({ how: "enqueue", id: "m1" });
    expect(await front.send("thread", "again", { id: "m1" })).toMatchObject({ how: "enqueue", id: "m1" });
    await until(async () => {
      const { state, waiting } = (await front.look("thread"))!;
      return state === "completed" && waiting.length === 0;
    });
    const said = (await front.journal("thread")).items.flatMap((fact) =>
      fact.type === "message" && fact.message.role === "user" ? fact.message.parts : [],
    );
    expect(said).toMatchObject([{ text: "go" }, { text: "held" }, { text: "again" }]);
    expect(kit.problems()).toEqual([]);
  });

  test("V5, Q8: words for a thread that asks withdraw the question, and a worker reasons again", async () => {
    const { kit, front } = await asking(await make(), "withdraw");
    const [request] = (await front.inbox()).items;
    expect(await front.send("thread", "never mind", { id: "m1" })).toMatchObject({ how: "steer" });
    working(kit);
    await until(async () => (await front.look("thread"))!.state === "completed");
    expect(kit.requests[1]!.messages.at(-1)).toMatchObject({ role: "user", parts: [{ text: "never mind" }] });
    expect(kit.problems()).toEqual([]);
    await expect(front.answer(request!.id, approve())).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
  });

  test("V5, Q8: words that answer the one question are its answer, and a worker continues", async () => {
    const { kit, front } = await asking(await make(), "answer");
    expect(await front.send("thread", "north", { id: "m1", by: "bob" })).toMatchObject({ how: "answer", id: "m1" });
    expect(await front.send("thread", "north", { id: "m1", by: "bob" })).toMatchObject({ how: "answer", id: "m1" });
    working(kit);
    await until(async () => (await front.look("thread"))!.state === "completed");
    const results = kit.requests[1]!.messages.at(-1)!.parts;
    expect(results).toMatchObject([{ type: "result", outcome: "ok", output: "north" }]);
    expect(await front.send("thread", "north", { id: "m1", by: "bob" })).toMatchObject({ how: "answer", id: "m1" });
  });

  test("V5, Q8: words that a request keeps away wait beside it", async () => {
    const { kit, front } = await asking(await make(), "keep");
    expect(await front.send("thread", "later", { id: "m1" })).toMatchObject({ how: "steer" });
    working(kit);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(await front.look("thread")).toMatchObject({ pauseType: "tool_interrupt", waiting: [{ id: "m1" }] });
  });

  test("V5: whenRunning interrupt stops the run there, and a worker resumes it with the words", async () => {
    const store = await make();
    const kit = await openKit([stall, "as you say"], { store });
    const run = kit.session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    const front = createRunner({ store });
    const sent = await front.send("thread", "stop, the red one", { id: "m1", whenRunning: "interrupt" });
    expect(sent).toMatchObject({ how: "interrupt", id: "m1" });
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
    working(kit);
    await until(async () => (await front.look("thread"))!.state === "completed");
    expect(kit.requests[1]!.messages.at(-1)).toMatchObject({ role: "user", parts: [{ text: "stop, the red one" }] });
    expect(await front.send("thread", "stop, the red one", { id: "m1" })).toMatchObject({ how: "interrupt" });
  });
});
