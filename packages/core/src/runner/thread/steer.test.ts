import { history, line, listen, gate as newGate, openKit, settle, until, wrapStore } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { agent, createRunner, jsonSchema, memoryStore, messageText, parallel, sequential, tool } from "../../index.ts";
import { onPoint } from "../../point.ts";
import { scriptedModel } from "../../testing/index.ts";

const noArgs = jsonSchema<object>({ type: "object" });

/** A tool that ends when the test says so, and ignores its signal. */
function gate(name = "gate") {
  let open: (value: string) => void = () => {};
  const passed = new Promise<string>((resolve) => (open = resolve));
  let begun: () => void = () => {};
  const started = new Promise<void>((resolve) => (begun = resolve));
  const execute = () => {
    begun();
    return passed;
  };
  return { open, started, tool: tool({ name, description: "waits", input: noArgs, execute }) };
}

describe("steering", () => {
  it("a steer enters before the next model call, after the results, without stopping anything", async () => {
    const { open, started, tool: wait } = gate();
    const kit = await openKit([[{ call: "gate" }], "done"], { tools: [wait] });
    const run = kit.session.run("go");
    await started;
    const { id } = await kit.session.steer("and be brief");
    open("gone through");
    expect(await run.result).toMatchObject({ status: "completed", text: "done", segment: 1 });
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call call_1",
      "tool: call_1 ok",
      "user: and be brief",
      "assistant: done",
    ]);
    expect(kit.requests[1]?.messages.at(-1)?.id).toBe(id);
    expect(kit.problems()).toEqual([]);
  });

  it("a steer that comes while the model says its last words gets one more turn", async () => {
    let hold: () => void = () => {};
    const held = new Promise<void>((resolve) => (hold = resolve));
    const turn = async () => {
      await held;
      return "first answer";
    };
    const kit = await openKit([turn, "second answer"]);
    const run = kit.session.run("go");
    await kit.session.steer("also this");
    hold();
    expect(await run.result).toMatchObject({ status: "completed", text: "second answer" });
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: first answer",
      "user: also this",
      "assistant: second answer",
    ]);
  });

  it("with nothing running a steer waits for the next run, and enters after its input", async () => {
    const kit = await openKit(["one", "two"]);
    await kit.session.run("first").result;
    await kit.session.steer("keep it short");
    expect(kit.session.state).toBe("completed");
    await kit.session.run("second").result;
    expect(history(kit.session.messages).slice(2)).toEqual(["user: second", "user: keep it short", "assistant: two"]);
  });

  it("each is reported as queued and as consumed, once, also with the same id sent twice", async () => {
    const { open, started, tool: wait } = gate();
    const kit = await openKit([[{ call: "gate" }], "done"], { tools: [wait] });
    const heard = listen(kit.session.events());
    const run = kit.session.run("go");
    await started;
    await Promise.all([kit.session.steer("once", { id: "s1" }), kit.session.steer("once", { id: "s1" })]);
    open("ok");
    await run.result;
    await new Promise((resolve) => setImmediate(resolve));
    const mail = heard.events.filter((event) => event.type.startsWith("input-")).map(line);
    expect(mail).toEqual(["queued steer", "consumed steer"]);
    expect(history(kit.session.messages).filter((m) => m === "user: once")).toHaveLength(1);
  });

  it("a steer taken back in time is never seen by the model", async () => {
    const { open, started, tool: wait } = gate();
    const kit = await openKit([[{ call: "gate" }], "done"], { tools: [wait] });
    const run = kit.session.run("go");
    await started;
    const { id } = await kit.session.steer("never mind me");
    await kit.session.steer("but mind me");
    expect(await kit.session.withdraw(id)).toBe(true);
    expect(await kit.session.withdraw(id)).toBe(false);
    open("ok");
    expect(await run.result).toMatchObject({ status: "completed" });
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call call_1",
      "tool: call_1 ok",
      "user: but mind me",
      "assistant: done",
    ]);
  });
});

describe("a steer that no agent has read when a person stops the run", () => {
  const stopped = async (more: Parameters<typeof openKit>[1] = {}) => {
    const kit = await openKit([[{ text: "some" }, { stall: true }], "done"], more);
    const heard = listen(kit.session.events());
    const run = kit.session.run("go");
    for await (const event of run) if (event.type === "text-delta") break;
    const { id } = await kit.session.steer("use tabs");
    await kit.session.interrupt();
    await run.result;
    return { kit, heard, id };
  };
  const mailOf = ({ events }: Awaited<ReturnType<typeof stopped>>["heard"]) =>
    events.filter((event) => event.type.startsWith("input-")).map(line);

  it("stands before the next input of the person: the last input is the last", async () => {
    const { kit, heard } = await stopped();
    expect(await kit.session.resume({ input: "no, spaces" }).result).toMatchObject({ status: "completed" });
    expect(history(kit.session.messages).slice(2)).toEqual(["user: use tabs", "user: no, spaces", "assistant: done"]);
    expect(kit.problems()).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(mailOf(heard)).toEqual(["queued steer", "consumed steer"]);
    expect(await kit.session.waiting()).toEqual([]);
  });

  it("stands there also if it was sent while nothing ran, and is reported once", async () => {
    const { kit, heard } = await stopped();
    await kit.session.steer("and be brief");
    await kit.session.run("no, spaces").result;
    expect(history(kit.session.messages).slice(2, -1)).toEqual([
      "user: use tabs",
      "user: and be brief",
      "user: no, spaces",
    ]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(mailOf(heard)).toEqual(["queued steer", "queued steer", "consumed steer", "consumed steer"]);
  });

  it("is left out if it is taken back at the last moment, and the input of the person is not", async () => {
    const { kit, id } = await stopped();
    const withdrawn: Promise<boolean>[] = [];
    const off = onPoint((name) => {
      if (name === "append:before" && withdrawn.length === 0) withdrawn.push(kit.session.withdraw(id));
    });
    try {
      expect(await kit.session.resume({ input: "no, spaces" }).result).toMatchObject({ status: "completed" });
    } finally {
      off();
    }
    expect(await withdrawn[0]).toBe(true);
    expect(history(kit.session.messages).slice(2)).toEqual(["user: no, spaces", "assistant: done"]);
  });

  it("stands there also if the input names an agent, and is reported once if the hint for it comes late", async () => {
    const store = memoryStore();
    const sent = newGate();
    const held = wrapStore(store, {
      send: async (key, command) => {
        const isNew = await store.send(key, command);
        if (command.key === "late") await sent.opened;
        return isNew;
      },
    });
    const { kit, heard } = await stopped({ store: held });
    const late = kit.session.steer("and be brief", { id: "late" });
    await settle();
    const off = onPoint((name) => {
      if (name === "append:after") sent.open();
    });
    await kit.session.resume({ input: "no, spaces", to: "helper" }).result;
    off();
    await late;
    await settle();
    expect(history(kit.session.messages).slice(2, -1)).toEqual([
      "user: use tabs",
      "user: and be brief",
      "user: no, spaces",
    ]);
    expect(mailOf(heard)).toEqual(["queued steer", "queued steer", "consumed steer", "consumed steer"]);
  });

  it("enters the nested agents, too, before the input of the person", async () => {
    const model = scriptedModel([[{ text: "some" }, { stall: true }], "done"]);
    const inner = agent({ name: "inner", model });
    const runner = createRunner({ agent: sequential({ name: "outer", agents: [inner] }), store: memoryStore() });
    const session = await runner.open();
    const run = session.run("go");
    for await (const event of run) if (event.type === "text-delta") break;
    await session.steer("use tabs");
    await session.interrupt();
    await run.result;
    await session.resume({ input: "no, spaces" }).result;
    const said = model.requests.at(-1)!.messages.map(messageText);
    expect(said.slice(-2)).toEqual(["use tabs", "no, spaces"]);
    expect(session.messages.map(messageText).slice(-3)).toEqual(["use tabs", "no, spaces", "done"]);
  });
});

describe("inputs that wait while a person gives an input to one of the cut agents", () => {
  /** Returns the inputs of each agent after the first, once the person has given one to the second. */
  async function told(given: "steer" | "observe"): Promise<Record<string, readonly string[]>> {
    const said: Record<string, readonly string[]> = {};
    const cutOnce = (name: string) => {
      const model = scriptedModel(({ messages }) => {
        const isNew = messages.length === 1;
        said[name] = messages.filter(({ origin }) => origin === "person").map(messageText);
        return isNew ? [{ text: name }, { stall: true }] : "done";
      });
      return agent({ name, model });
    };
    const both = parallel({ name: "both", agents: [cutOnce("left"), cutOnce("right")] });
    const session = await createRunner({ agent: both }).open();
    const run = session.run("go");
    const heard = listen(run);
    for (const path of ["both/0:left", "both/1:right"])
      await heard.until((event) => event.type === "text-delta" && event.runPath === path);
    await session.interrupt();
    await session[given]("use tabs");
    const { status } = await session.resume({ input: "no, spaces", to: "both/1:right" }).result;
    expect(status).toBe("completed");
    expect(session.messages.map(messageText).slice(0, 2)).toEqual(["go", "use tabs"]);
    expect(await session.waiting()).toEqual([]);
    return said;
  }

  it("a steer is for all of them, and stands before the input for one", async () => {
    expect(await told("steer")).toEqual({ left: ["go", "use tabs"], right: ["go", "use tabs", "no, spaces"] });
  });

  it("an observed message stands there, too, and the others continue where they were", async () => {
    expect(await told("observe")).toEqual({ left: ["go"], right: ["go", "use tabs", "no, spaces"] });
  });
});

describe("the queue", () => {
  it("an enqueued input starts at once when the thread is idle, also when it is new", async () => {
    const kit = await openKit(["one"]);
    await kit.session.enqueue("first");
    await until(() => kit.session.state === "completed");
    expect(history(kit.session.messages)).toEqual(["user: first", "assistant: one"]);
  });

  it("inputs enqueued while a run continues become the next runs, in order", async () => {
    const { open, started, tool: wait } = gate();
    const kit = await openKit([[{ call: "gate" }], "one", "two", "three"], { tools: [wait] });
    const run = kit.session.run("first");
    await started;
    await kit.session.enqueue("second");
    await kit.session.enqueue("third");
    open("ok");
    expect(await run.result).toMatchObject({ status: "completed", text: "one" });
    await until(() => kit.session.messages.length === 8);
    expect(history(kit.session.messages).slice(3)).toEqual([
      "assistant: one",
      "user: second",
      "assistant: two",
      "user: third",
      "assistant: three",
    ]);
    await until(() => kit.session.state === "completed");
  });

  it("after an interrupt the queue waits until the person has acted", async () => {
    const kit = await openKit([[{ text: "some" }, { stall: true }], "went on", "next"]);
    const run = kit.session.run("first");
    await kit.session.enqueue("second");
    await new Promise((resolve) => setTimeout(resolve, 5));
    await kit.session.interrupt();
    await run.result;
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(kit.session.state).toBe("paused");
    await kit.session.resume({ input: "other way" }).result;
    await until(() => kit.session.state === "completed" && kit.session.messages.length === 6);
    expect(history(kit.session.messages).slice(2)).toEqual([
      "user: other way",
      "assistant: went on",
      "user: second",
      "assistant: next",
    ]);
  });
});

describe("late results", () => {
  it("S5: the result of a tool left behind takes the place of the interrupted one", async () => {
    const { open, started, tool: deaf } = gate();
    const kit = await openKit([[{ call: "gate" }], "seen"], { tools: [deaf], agent: { graceMs: 1 } });
    const run = kit.session.run("go");
    await started;
    const receipt = await kit.session.interrupt();
    expect(receipt.late).toHaveLength(1);
    await run.result;
    open("late news");
    await new Promise((resolve) => setTimeout(resolve, 2));
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "seen" });
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call call_1",
      "tool: call_1 ok",
      "assistant: seen",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  it("S5: after an answer was recorded it comes as a note, exactly once, also in another runner", async () => {
    const { open, started, tool: deaf } = gate();
    const kit = await openKit([[{ call: "gate" }], "without it", "noted"], { tools: [deaf], agent: { graceMs: 1 } });
    const run = kit.session.run("go");
    await started;
    await kit.session.interrupt();
    await run.result;
    await kit.session.resume().result;
    open("late news");
    await new Promise((resolve) => setTimeout(resolve, 2));
    const other = await openKit(scriptedModel(["noted", "again"]), { tools: [deaf], store: kit.store });
    await other.session.run("and now?").result;
    await other.session.run("once more").result;
    const told = other.session.messages.filter((m) => JSON.stringify(m.parts).includes("late news"));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ role: "user", origin: "runtime" });
    expect(other.problems()).toEqual([]);
  });
});
