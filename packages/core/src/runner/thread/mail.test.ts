import {
  eachStore,
  factsOf,
  faultyStore,
  gate,
  heldStore,
  history,
  type Kit,
  openKit,
  settle,
  threadOf,
  toolOf,
  until,
  wrapStore,
} from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { approve, jsonSchema, tool } from "../../index.ts";

const key = { tenant: "default", threadId: "thread" };
const noArgs = jsonSchema<object>({ type: "object" });

/** A tool that ends when the test says so. */
function waiting(name = "wait") {
  const begun = gate();
  const end = gate<string>();
  const execute = () => {
    begun.open();
    return end.opened;
  };
  return {
    started: begun.opened,
    end: end.open,
    tool: tool({ name, description: "waits", input: noArgs, onCrash: "fail", execute }),
  };
}

/** Returns the facts of rows, as `queued s1`, in order. */
async function mail(kit: Pick<Kit, "store">): Promise<string[]> {
  const facts = await factsOf(kit.store);
  return facts.flatMap((fact) =>
    fact.type === "input-queued" || fact.type === "input-consumed" ? [`${fact.type.slice(6)} ${fact.id}`] : [],
  );
}

const waitingKeys = async (kit: Kit) => (await kit.store.load(key))?.commands.map((command) => command.key) ?? [];

describe.each(eachStore)("steers and inputs on $name", ({ make }) => {
  it("one that comes while another is being taken in, and back, is reported as queued before it is consumed, and once", async () => {
    const first = waiting();
    const kit: Kit = await openKit([[{ call: "wait" }], "heard"], {
      store: heldStore(await make(), {
        before: async (_, { consume }) => {
          if (!consume?.includes("s1")) return;
          await kit.session.withdraw("s1");
          await kit.session.steer("two", { id: "s2" });
        },
      }),
      tools: [first.tool],
    });
    const run = kit.session.run("go");
    await first.started;
    await kit.session.steer("one", { id: "s1" });
    first.end("done");
    expect(await run.result).toMatchObject({ status: "completed", text: "heard" });
    await settle();
    expect(await mail(kit)).toEqual(["queued s1", "queued s2", "consumed s2"]);
  });

  it("several steers enter in the order given, each once, with both events, over a pause and a close", async () => {
    const store = await make();
    const first = waiting();
    const kit = await openKit([[{ call: "wait" }], "never"], { store, tools: [first.tool] });
    const run = kit.session.run("go");
    await first.started;
    await kit.session.steer("one", { id: "s1" });
    await kit.session.steer(["two", "three"], { id: "s2" });
    const parked = kit.session.pause();
    first.end("done");
    expect((await parked).accepted).toBe(true);
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "manual" });
    await kit.runner.close();
    const other = await openKit(["all heard"], { store, tools: [first.tool] });
    expect(await other.session.resume().result).toMatchObject({ status: "completed", text: "all heard" });
    expect(history(other.session.messages).slice(2)).toEqual([
      "tool: call_1 ok",
      "user: one",
      "user: two",
      "user: three",
      "assistant: all heard",
    ]);
    expect(await mail(other)).toEqual(["queued s1", "queued s2", "consumed s1", "consumed s2"]);
    expect(other.problems()).toEqual([]);
  });

  it("a steer survives a stop: it enters after the new input on rethink, and before the next call on continue", async () => {
    for (const input of ["other way", undefined]) {
      const store = await make();
      const kit = await openKit([[{ text: "some" }, { stall: true }], "more"], { store });
      const run = kit.session.run("go");
      await kit.session.steer("also", { id: "s1" });
      await until(async () => (await mail(kit)).length === 1);
      await kit.session.interrupt();
      await run.result;
      await kit.session.resume(input === undefined ? {} : { input }).result;
      const sent = kit.requests.at(-1)!.messages;
      expect(history(sent).filter((line) => line === "user: also")).toHaveLength(1);
      expect(await mail(kit)).toEqual(["queued s1", "consumed s1"]);
      expect(kit.problems()).toEqual([]);
    }
  });

  it("C2: a steer of a dead process is consumed once by the process that takes over", async () => {
    const store = await make();
    const side = faultyStore(store);
    const first = waiting();
    const kit = await openKit([[{ call: "wait" }]], { store: side, tools: [first.tool], leaseTtlMs: 40 });
    void kit.session.run("go");
    await first.started;
    await kit.session.steer("still there", { id: "s1" });
    await until(async () => (await mail({ store })).length === 1);
    side.kill();
    await until(async () => (await store.load(key))?.row.lease === undefined);
    const other = await openKit(["here"], { store, tools: [first.tool] });
    expect(other.session.pauseType).toBe("crash");
    await other.session.resume().result;
    expect(history(other.session.messages).slice(2)).toEqual([
      "tool: call_1 unknown",
      "user: still there",
      "assistant: here",
    ]);
    expect(await mail(other)).toEqual(["queued s1", "consumed s1"]);
  });

  it("a steer to a failed run waits, and enters when it is resumed", async () => {
    const kit = await openKit([[{ throw: new Error("no") }], "well"], { store: await make() });
    expect(await kit.session.run("go").result).toMatchObject({ status: "failed" });
    await kit.session.steer("gently", { id: "s1" });
    expect(kit.session.state).toBe("error");
    await kit.session.resume().result;
    expect(history(kit.session.messages)).toEqual(["user: go", "user: gently", "assistant: well"]);
  });

  it("after terminate() waiting rows stay unconsumed and harmless, and no further one is taken", async () => {
    const kit = await openKit([[{ text: "a" }, { stall: true }]], { store: await make() });
    const run = kit.session.run("go");
    await kit.session.steer("s", { id: "s1" });
    await kit.session.enqueue("i", { id: "i1" });
    await kit.session.terminate();
    expect(await run.result).toMatchObject({ status: "terminated" });
    await settle();
    expect(kit.session.state).toBe("terminated");
    expect((await waitingKeys(kit)).sort()).toEqual(["i1", "s1"]);
    await expect(kit.session.steer("more")).rejects.toMatchObject({ code: "INVALID_STATE" });
    await expect(kit.session.enqueue("more")).rejects.toMatchObject({ code: "INVALID_STATE" });
  });

  it("an input enqueued on a failed or paused thread waits until the person has acted", async () => {
    const kit = await openKit([[{ throw: new Error("no") }], "again", "next"], { store: await make() });
    await kit.session.run("go").result;
    await kit.session.enqueue("later", { id: "i1" });
    await settle();
    expect(kit.session.state).toBe("error");
    await kit.session.resume().result;
    await until(() => kit.session.state === "completed" && kit.session.messages.length === 4);
    expect(history(kit.session.messages)).toEqual(["user: go", "assistant: again", "user: later", "assistant: next"]);
    expect((await mail(kit)).filter((line) => line.startsWith("consumed"))).toEqual(["consumed i1"]);
  });

  it("two runners that both start the same queued input: one wins, and the input is recorded once", async () => {
    const store = await make();
    const kits = await Promise.all([openKit(["a1", "a2"], { store }), openKit(["b1", "b2"], { store })]);
    await Promise.all(kits.map((kit) => kit.session.enqueue("do it", { id: "once" })));
    await until(async () => (await store.load(key))?.row.state === "completed");
    await settle();
    for (const kit of kits) await threadOf(kit.session).refresh();
    expect(history(kits[0]!.session.messages)).toHaveLength(2);
    expect(history(kits[0]!.session.messages)).toEqual(history(kits[1]!.session.messages));
    expect(await mail({ store })).toEqual(["consumed once"]);
  });

  it("F3, S5: waiting() lists commands with their words, also in another process, until they are withdrawn or consumed", async () => {
    const store = await make();
    const slow = waiting();
    const kit = await openKit([[{ call: "wait" }]], { store, tools: [slow.tool] });
    const run = kit.session.run("go");
    await slow.started;
    await kit.session.steer("mind the rope", { id: "s1", by: "maria" });
    await kit.session.enqueue(["then", "that"], { id: "i1" });
    await kit.session.enqueue("never mind", { id: "i2" });
    await kit.session.observe("it rains", { id: "o1" });
    await kit.session.interrupt({ force: true });
    await run.result;
    slow.end("done");
    await until(async () => (await kit.session.waiting()).some(({ kind }) => kind === "late"));
    await kit.runner.close();

    const other = await openKit(["one", "two"], { store, tools: [slow.tool] });
    const text = (text: string) => ({ parts: [{ type: "text", text }] });
    const steer = { kind: "steer", id: "s1", by: "maria", messages: [text("mind the rope")] };
    const input = { kind: "input", id: "i1", messages: [text("then"), text("that")] };
    const observed = { kind: "observe", id: "o1", messages: [text("it rains")] };
    const late = { kind: "late", tool: "wait", outcome: "ok", output: "done" };
    const all = [steer, input, { kind: "input", id: "i2", messages: [text("never mind")] }, observed, late];
    expect(await other.session.waiting()).toMatchObject(all);
    expect(await other.session.withdraw("i2")).toBe(true);
    expect(await other.session.waiting()).toMatchObject([steer, input, observed, late]);
    await other.session.resume().result;
    await until(async () => (await other.session.waiting()).length === 0);
    await other.runner.close();
  });

  it("S2, S5, F3: only inputs can be taken back: no stop, no answer and no late result, and no input can use their keys", async () => {
    const store = await make();
    const kit = await openKit(["well"], { store });
    await kit.session.run("go").result;
    const kinds = ["stop", "answer", "late"] as const;
    for (const kind of kinds) await store.send(key, { key: `${kind}:x`, kind, body: "{}", at: 1 });
    await kit.session.steer("this", { id: "x" });
    for (const kind of kinds) {
      expect(await kit.session.withdraw(`${kind}:x`)).toBe(false);
      expect(await kit.runner.withdraw("thread", `${kind}:x`)).toBe(false);
      for (const say of ["steer", "enqueue", "observe"] as const) {
        const refused = kit.session[say]("that", { id: `${kind}:y` });
        await expect(refused).rejects.toMatchObject({ code: "OPTION_INVALID" });
      }
    }
    expect(await kit.session.withdraw("x")).toBe(true);
    expect((await store.load(key))?.commands).toEqual(
      kinds.map((kind) => ({ key: `${kind}:x`, kind, body: "{}", at: 1 })),
    );
  });

  it("input during an approved call is on record at once, and enters when the run continues", async () => {
    const slow = waiting();
    const asks = { ...slow.tool, needsApproval: () => true };
    const kit = await openKit([[{ call: "wait" }], "one", "two"], { store: await make(), tools: [asks] });
    await kit.session.run("go").result;
    await kit.session.answer(kit.session.interrupts[0]!.id, approve());
    await slow.started;
    const run = kit.session.resume();
    await kit.session.steer("mind the rope", { id: "s1" });
    await kit.session.enqueue("then that", { id: "i1" });
    expect((await kit.session.waiting()).map(({ id }) => id)).toEqual(["s1", "i1"]);
    slow.end("done");
    expect(await run.result).toMatchObject({ status: "completed", text: "one" });
    await until(async () => (await kit.session.waiting()).length === 0 && kit.session.state === "completed");
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call call_1",
      "tool: call_1 ok",
      "user: mind the rope",
      "assistant: one",
      "user: then that",
      "assistant: two",
    ]);
    await kit.runner.close();
  });

  it("an input that was announced before an approved call ran is not announced again, in another process either", async () => {
    const store = await make();
    const [asked, answer, ran] = [gate(), gate(), gate()];
    const pay = toolOf("pay", () => ran.open(), { needsApproval: true });
    const turn = async () => {
      asked.open();
      await answer.opened;
      return [{ call: "pay", id: "p" }];
    };
    const kit = await openKit([turn, "done"], { store, tools: [pay] });
    const run = kit.session.run("go");
    await asked.opened;
    await kit.session.enqueue("then that", { id: "i1" });
    await until(async () => (await mail(kit)).length === 1);
    answer.open();
    await run.result;
    await kit.runner.close();
    const other = await openKit(["done", "never"], { store, tools: [pay] });
    await other.session.answer(other.session.interrupts[0]!.id, approve());
    await ran.opened;
    await until(async () => (await factsOf(store)).some(({ type }) => type === "tool-end"));
    expect(await mail(other)).toEqual(["queued i1"]);
    await other.runner.close();
  });

  it("withdrawn or consumed, never both", async () => {
    const store = await make();
    for (let i = 0; i < 20; i++) {
      const threadId = `race ${i}`;
      const first = waiting();
      const kit = await openKit([[{ call: "wait" }], "done", "extra"], { store, tools: [first.tool], threadId });
      const run = kit.session.run("go");
      await first.started;
      const { id } = await kit.session.steer("maybe");
      first.end("ok");
      for (let rounds = 0; rounds < i % 5; rounds++) await Promise.resolve();
      const withdrawn = await kit.session.withdraw(id);
      await run.result;
      const told = history(kit.session.messages).filter((line) => line === "user: maybe").length;
      expect({ i, withdrawn, told }).toEqual({ i, withdrawn, told: withdrawn ? 0 : 1 });
    }
  });

  it("when a queued input is taken back as it starts, the one behind it starts", async () => {
    const inner = await make();
    const store = wrapStore(inner, {
      async append(at, append) {
        if (append.consume?.includes("i1")) await inner.withdraw(at, "i1");
        return inner.append(at, append);
      },
    });
    const kit = await openKit([[{ text: "a" }, { stall: true }], "went on", "second"], { store });
    const run = kit.session.run("go");
    await kit.session.enqueue("gone", { id: "i1" });
    await kit.session.enqueue("stays", { id: "i2" });
    await kit.session.interrupt();
    await run.result;
    await kit.session.resume({ input: "on" }).result;
    await until(() => kit.session.state === "completed" && kit.session.messages.length === 6);
    expect(history(kit.session.messages).slice(4)).toEqual(["user: stays", "assistant: second"]);
    expect((await mail(kit)).filter((line) => line.startsWith("consumed"))).toEqual(["consumed i2"]);
  });

  it("an id that was consumed before is not taken a second time, in this process or another", async () => {
    const store = await make();
    const first = waiting();
    const kit = await openKit(["one", [{ call: "wait" }], "two"], { store, tools: [first.tool] });
    await kit.session.steer("hint", { id: "s1" });
    await kit.session.run("go").result;
    const run = kit.session.run("again");
    await first.started;
    await kit.session.steer("hint", { id: "s1" });
    await kit.session.enqueue("hint", { id: "s1" });
    first.end("done");
    await run.result;
    await kit.runner.close();
    const other = await openKit(["four"], { store });
    await other.session.steer("hint", { id: "s1" });
    await other.session.run("more").result;
    expect(history(other.session.messages).filter((line) => line === "user: hint")).toHaveLength(1);
    expect(await mail(other)).toEqual(["queued s1", "consumed s1"]);
  });
});

describe("steering", () => {
  it("a steer during the wait before a retry enters after the answer, once", async () => {
    const busy = Object.assign(new Error("busy"), { status: 503 });
    const kit = await openKit([[{ throw: busy }], "first", "second"], {
      agent: { settings: { retry: { delayMs: 20 } } },
    });
    const run = kit.session.run("go");
    await until(() => kit.requests.length === 1);
    await kit.session.steer("quick");
    expect(await run.result).toMatchObject({ status: "completed", text: "second" });
    expect(history(kit.session.messages)).toEqual(["user: go", "assistant: first", "user: quick", "assistant: second"]);
  });

  it("S6: a stop after the model that meets a waiting steer pauses the run, which then continues with the steer", async () => {
    const held = gate();
    const kit = await openKit([() => held.opened.then(() => "first"), "second"]);
    const run = kit.session.run("go");
    await kit.session.steer("and this");
    const stopping = kit.session.interrupt({ mode: "after-model" });
    held.open();
    expect(await stopping).toMatchObject({ accepted: true });
    expect(await run.result).toMatchObject({ status: "interrupted" });
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "second" });
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: first",
      "user: and this",
      "assistant: second",
    ]);
  });

  it("a steer may bring files", async () => {
    const kit = await openKit(["seen"]);
    const file = { type: "file", mediaType: "image/png", data: { base64: "AAAA" }, name: "a.png" } as const;
    await kit.session.steer([{ parts: [{ type: "text", text: "look" }, file] }]);
    await kit.session.run("go").result;
    expect(kit.requests[0]!.messages.at(-1)!.parts).toEqual([{ type: "text", text: "look" }, file]);
    expect(kit.problems()).toEqual([]);
  });

  it("an input that nothing can be made of is refused before anything is written", async () => {
    const kit = await openKit(["never"]);
    await expect(kit.session.steer("  ")).rejects.toMatchObject({ code: "INPUT_EMPTY" });
    await expect(kit.session.enqueue([{ parts: [{ type: "call" } as never] }])).rejects.toMatchObject({
      code: "INPUT_INVALID",
    });
    expect(kit.session.state).toBe("created");
    await kit.session.close();
    await expect(kit.session.steer("late")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
  });

  it("another runner steers and enqueues on a thread that this one runs", async () => {
    const first = waiting();
    const kit = await openKit([[{ call: "wait" }], "one", "two"], { tools: [first.tool] });
    const other = await openKit([], { store: kit.store, threadId: "elsewhere" });
    const run = kit.session.run("go");
    await first.started;
    await other.runner.steer("thread", "from afar");
    await other.runner.enqueue("thread", "next");
    first.end("ok");
    await run.result;
    await until(() => kit.session.state === "completed" && kit.session.messages.length === 7);
    expect(history(kit.session.messages).slice(3)).toEqual([
      "user: from afar",
      "assistant: one",
      "user: next",
      "assistant: two",
    ]);
  });
});
