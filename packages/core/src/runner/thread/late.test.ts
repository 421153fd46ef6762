import {
  eachStore,
  factProblems,
  factsOf,
  gate,
  history,
  type Kit,
  type KitOptions,
  line,
  listen,
  openKit,
  settle,
  until,
} from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { approve, jsonSchema, tool } from "../../index.ts";

const key = { tenant: "default", threadId: "thread" };
const noArgs = jsonSchema<object>({ type: "object" });
const brief = { agent: { graceMs: 1 } };

/** A tool that ignores its signal and ends when the test says so. */
function deaf(name = "deaf", more: object = {}) {
  const begun = gate();
  const end = gate<string>();
  const execute = () => {
    begun.open();
    return end.opened;
  };
  const made = tool({ name, description: "hears nothing", input: noArgs, execute, ...more });
  return { started: begun.opened, end: end.open, fail: end.fail, tool: made };
}

const lates = async (kit: Pick<Kit, "store">) =>
  (await factsOf(kit.store)).filter((fact) => fact.type === "tool-late").map(line);

const sent = (kit: Kit) => until(async () => ((await kit.store.load(key))?.commands.length ?? 0) > 0);

describe.each(eachStore)("S5: the late result of a tool that was left behind, on $name", ({ make }) => {
  /** A run that was stopped while its one call kept running. */
  async function leftBehind(turns: Parameters<typeof openKit>[0], options: KitOptions = {}) {
    const slow = deaf();
    const kit = await openKit(turns, { ...brief, ...options, store: await make(), tools: [slow.tool] });
    const run = kit.session.run("go");
    await slow.started;
    const receipt = await kit.session.interrupt();
    expect(receipt.late).toEqual(["call_1"]);
    await run.result;
    return { ...slow, kit };
  }

  it("until it has ended, the session names it: by then its result waits, or there is none", async () => {
    const { kit, end } = await leftBehind([[{ call: "deaf" }], "seen"]);
    expect(kit.session.late).toEqual(["call_1"]);
    end("late news");
    await until(() => kit.session.late.length === 0);
    expect(await kit.session.waiting()).toMatchObject([{ kind: "late", callId: "call_1" }]);
    const other = await leftBehind([[{ call: "deaf" }], "seen"]);
    other.fail(new Error("because of the stop"));
    await until(() => other.kit.session.late.length === 0);
    expect(await other.kit.session.waiting()).toEqual([]);
  });

  it("after a rethink it still takes its place, before the new input, as long as the model has not answered", async () => {
    const { kit, end } = await leftBehind([[{ call: "deaf" }], "seen"]);
    end("late news");
    await sent(kit);
    await kit.session.resume({ input: "other way" }).result;
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call call_1",
      "tool: call_1 ok",
      "user: other way",
      "assistant: seen",
    ]);
    expect(kit.requests[1]!.messages[2]!.parts).toMatchObject([{ outcome: "ok", output: "late news" }]);
    expect(await lates(kit)).toEqual(['late call_1 replace ok "late news"']);
    expect(kit.problems()).toEqual([]);
  });

  it("H1: half a character in it becomes valid for providers, and the model reads the changes of a person (Q4)", async () => {
    const slow = deaf("deaf", { needsApproval: true, input: jsonSchema<object>({ type: "object" }) });
    const store = await make();
    const kit = await openKit([[{ call: "deaf", args: { n: 1 } }], "seen"], { ...brief, store, tools: [slow.tool] });
    await kit.session.run("go").result;
    await kit.session.answer(kit.session.interrupts[0]!.id, approve({ args: { n: 2 } }));
    await slow.started;
    await kit.session.interrupt();
    slow.end("news \ud83d");
    await sent(kit);
    await kit.session.resume({ input: "other way" }).result;
    expect(kit.requests[1]!.messages[2]!.parts).toMatchObject([
      { outcome: "ok", output: "[A person changed the arguments before it ran: n is now 2.]\nnews \ufffd" },
    ]);
    expect(kit.problems()).toEqual([]);
  });

  it("while the model answers it waits (H2), and comes as a note at the next turn, once", async () => {
    const answering = gate();
    const { kit, end } = await leftBehind([
      [{ call: "deaf" }],
      () => answering.opened.then(() => "so"),
      "noted",
      "fine",
    ]);
    const run = kit.session.resume({ input: "on" });
    await until(() => kit.requests.length === 2);
    end("late news");
    await sent(kit);
    answering.open();
    expect(await run.result).toMatchObject({ text: "so" });
    await kit.session.run("next").result;
    await kit.session.run("more").result;
    expect(await lates(kit)).toEqual(['late call_1 note ok "late news"']);
    const notes = kit.session.messages.filter((message) => message.id === "call_1.late");
    expect(notes).toMatchObject([{ role: "user", origin: "runtime" }]);
    expect(kit.problems()).toEqual([]);
  });

  it("it is remembered when its session was closed before, and another runner has the thread", async () => {
    const { kit, end } = await leftBehind([[{ call: "deaf" }]]);
    await kit.runner.close();
    const other = await openKit(["seen"], { store: kit.store, tools: [deaf().tool] });
    end("late news");
    await sent(kit);
    await other.session.resume().result;
    expect(history(other.session.messages)).toContain("tool: call_1 ok");
    expect(await lates(other)).toHaveLength(1);
  });

  it("it reaches a run of another runner that is under way, before its next model call", async () => {
    const { kit, end } = await leftBehind([[{ call: "deaf" }]]);
    await kit.runner.close();
    const second = deaf();
    const other = await openKit([[{ call: "deaf", id: "again" }], "both"], { store: kit.store, tools: [second.tool] });
    const run = other.session.resume({ input: "once more" });
    await second.started;
    end("late news");
    await sent(other);
    await new Promise((resolve) => setTimeout(resolve, 60));
    second.end("in time");
    expect(await run.result).toMatchObject({ text: "both" });
    expect(await lates(other)).toEqual(['late call_1 note ok "late news"']);
    expect(other.problems()).toEqual([]);
  });

  it("on a thread that was terminated or deleted it is of no consequence", async () => {
    const one = await leftBehind([[{ call: "deaf" }]]);
    await one.kit.session.terminate();
    one.end("too late");
    const two = await leftBehind([[{ call: "deaf" }]]);
    await two.kit.runner.delete("thread");
    two.end("too late");
    await settle();
    expect(one.kit.session.state).toBe("terminated");
    expect(await two.kit.store.load(key)).toBeUndefined();
    expect(factProblems(await factsOf(one.kit.store))).toEqual([]);
  });

  it("two of one turn are each reported once, and a tool that throws because of the stop changes nothing", async () => {
    const store = await make();
    const [a, b, c] = [deaf("a"), deaf("b"), deaf("c")];
    const calls = [{ call: "a" }, { call: "b" }, { call: "c" }];
    const kit = await openKit([calls, "seen"], { ...brief, store, tools: [a.tool, b.tool, c.tool] });
    const run = kit.session.run("go");
    await Promise.all([a.started, b.started, c.started]);
    await kit.session.interrupt();
    await run.result;
    b.end("from b");
    await sent(kit);
    a.end("from a");
    c.fail(new Error("aborted"));
    await until(async () => (await kit.store.load(key))?.commands.length === 2);
    await kit.session.resume().result;
    expect(await lates(kit)).toEqual(['late call_2 replace ok "from b"', 'late call_1 replace ok "from a"']);
    expect(history(kit.session.messages)[2]).toBe("tool: call_1 ok + call_2 ok + call_3 interrupted");
    expect(kit.problems()).toEqual([]);
  });

  it("the result of a tool that was too slow arrives later, while others of its turn still run", async () => {
    const store = await make();
    const slow = deaf("slow", { timeoutMs: 1, graceMs: 1 });
    const other = deaf("other");
    const kit = await openKit([[{ call: "slow" }, { call: "other" }], "both"], {
      store,
      tools: [slow.tool, other.tool],
    });
    const run = kit.session.run("go");
    const heard = listen(run);
    await heard.until((event) => event.type === "tool-end");
    slow.end("after all");
    await sent(kit);
    other.end("done");
    expect(await run.result).toMatchObject({ text: "both" });
    expect(history(kit.session.messages)[2]).toBe("tool: call_1 ok + call_2 ok");
    expect(await lates(kit)).toEqual(['late call_1 replace ok "after all"']);
  });

  it("a tool that was too slow and then fails is reported as failed", async () => {
    const store = await make();
    const slow = deaf("slow", { timeoutMs: 1, graceMs: 1 });
    const kit = await openKit([[{ call: "slow" }], "first", "second"], { store, tools: [slow.tool] });
    await kit.session.run("go").result;
    slow.fail(new Error("broken pipe"));
    await sent(kit);
    await kit.session.run("and?").result;
    expect(await lates(kit)).toEqual(['late call_1 note error "broken pipe"']);
  });

  it("held calls of the group run first; then the late result stands beside theirs", async () => {
    const store = await make();
    const slow = deaf("slow");
    const after = tool({ name: "after", description: "", input: noArgs, serial: true, execute: () => "ran" });
    const calls = [{ call: "slow" }, { call: "after" }];
    const kit = await openKit([calls, "seen"], { ...brief, store, tools: [slow.tool, after] });
    const run = kit.session.run("go");
    await slow.started;
    expect(await kit.session.interrupt()).toMatchObject({ notStarted: ["call_2"], late: ["call_1"] });
    await run.result;
    slow.end("news");
    await sent(kit);
    await kit.session.resume().result;
    expect(history(kit.session.messages)[2]).toBe("tool: call_1 ok + call_2 ok");
    expect(kit.problems()).toEqual([]);
  });
});
