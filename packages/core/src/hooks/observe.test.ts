import { eachStore, gate, history, listen, openKit, said, until } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agent, createRunner, hub, jsonSchema, messageText, tool } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
import type { Hooks } from "./hooks.ts";

describe("session.observe()", () => {
  for (const { name, make } of eachStore) {
    test(`W5 (${name}): on a new thread and between runs it is in the history at once, and nothing is answered`, async () => {
      const store = await make();
      const { session, requests, problems } = await openKit(["one", "two"], { store });
      await session.observe("the door is open");
      expect([session.state, history(session.messages)]).toEqual(["initialized", ["user: the door is open"]]);
      await session.run("go").result;
      await session.observe({ parts: [{ type: "text", text: "it rains" }] });
      expect(requests.length).toBe(1);
      const again = await openKit(["two"], { store });
      expect(history(again.session.messages)).toEqual([
        "user: the door is open",
        "user: go",
        "assistant: one",
        "user: it rains",
      ]);
      await session.run("on").result;
      expect(requests[1]!.messages.map(messageText)).toEqual(["the door is open", "go", "one", "it rains", "on"]);
      expect(problems()).toEqual([]);
    });
  }

  test("W5: a message that cannot be kept is refused with INPUT_INVALID, and nothing is recorded", async () => {
    const { session } = await openKit([]);
    const file = { type: "file", mediaType: "", data: { base64: "" } };
    for (const given of [{ parts: [file] }, { parts: "words" }, { parts: [] }, { parts: [null] }, null]) {
      await expect(session.observe(given as never)).rejects.toMatchObject({ code: "INPUT_INVALID" });
    }
    expect(session.messages).toEqual([]);
  });

  test("W5: at once, too, by a session that has not read that the run has ended elsewhere", async () => {
    const { session, store } = await openKit([[{ text: "so" }, { stall: true }], "one"]);
    const run = session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    await session.interrupt();
    const other = await openKit([" long"], { store });
    expect((await other.session.resume().result).status).toBe("completed");
    expect(session.state).toBe("paused");
    await session.observe("it rains");
    expect(await session.waiting()).toEqual([]);
    expect(history(session.messages)).toEqual(["user: go", "assistant: so long", "user: it rains"]);
  });

  test("W5, H2: while it runs it enters at the next model call, and makes no turn of its own", async () => {
    const working = gate();
    const go = gate();
    const work = tool({
      name: "work",
      description: "Works",
      input: jsonSchema<object>({ type: "object" }),
      execute: async () => {
        working.open();
        await go.opened;
        return "worked";
      },
    });
    const { session, requests, problems } = await openKit([[{ call: "work", id: "c" }], "done"], { tools: [work] });
    const run = session.run("go");
    const events = listen(run);
    await working.opened;
    await session.observe("it rains", { id: "o1" });
    await session.observe("it rains", { id: "o1" });
    go.open();
    await run.result;
    await events.all;
    expect(requests.map(({ messages }) => messages.length)).toEqual([1, 4]);
    expect(history(session.messages)).toEqual([
      "user: go",
      "assistant: call c",
      "tool: c ok",
      "user: it rains",
      "assistant: done",
    ]);
    expect(said(events.events).filter((line) => line.endsWith("observe"))).toEqual([
      "queued observe",
      "consumed observe",
    ]);
    expect(problems()).toEqual([]);
  });

  test("W5: an observation made while the last answer streams is in the history once the run has ended; no turn is taken for it", async () => {
    const streaming = gate();
    const go = gate();
    const { session, requests } = await openKit([
      async () => {
        streaming.open();
        await go.opened;
        return "done";
      },
    ]);
    const run = session.run("go");
    await streaming.opened;
    await session.observe("it rains");
    go.open();
    expect((await run.result).status).toBe("completed");
    const events = listen(session.events());
    await events.until(({ type }) => type === "input-consumed");
    expect([history(session.messages), requests.length, session.state]).toEqual([
      ["user: go", "assistant: done", "user: it rains"],
      1,
      "completed",
    ]);
  });

  test("W5, R2: while paused it waits, so that a cut answer is still continued at the cut", async () => {
    const { session, problems } = await openKit([[{ text: "One " }, { stall: true }], "two", "three"]);
    const run = session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    await session.interrupt();
    await session.observe("it rains");
    expect(history(session.messages)).toEqual(["user: go", "assistant~user: One "]);
    await session.resume().result;
    await session.run("more").result;
    const rain = history(session.messages).filter((line) => line === "user: it rains");
    expect(rain.length).toBe(1);
    expect(history(session.messages).slice(0, 2)).toEqual(["user: go", "assistant: One two"]);
    expect(problems()).toEqual([]);
  });

  test("A9, W5: hooks may change an observation, or drop it; one that throws keeps it out", async () => {
    const seen: string[] = [];
    const { session } = await openKit("x", {
      runner: {
        hooks: {
          beforeObserve: ({ message }) => {
            const text = messageText({ ...message } as never);
            if (text === "boom") throw new Error("no");
            return text === "noise" ? null : `${text}!`;
          },
          afterObserve: ({ message }) => void seen.push(messageText({ ...message } as never)),
        },
      },
      agent: {
        hooks: { beforeObserve: ({ message }) => void seen.push(`own ${messageText({ ...message } as never)}`) },
      },
    });
    expect(await session.observe("noise")).toEqual({});
    await expect(session.observe("boom")).rejects.toMatchObject({ code: "HOOK_FAILED" });
    await session.observe("hello");
    expect(history(session.messages)).toEqual(["user: hello!"]);
    expect(seen).toEqual(["own hello!", "hello!"]);
  });

  test("W5: nothing to observe, and a thread that has ended for good, are refused", async () => {
    const { session } = await openKit("x");
    await expect(session.observe(" ")).rejects.toMatchObject({ code: "INPUT_INVALID" });
    await session.terminate();
    await expect(session.observe("x")).rejects.toMatchObject({ code: "INVALID_STATE" });
  });
});

describe.each(["steer", "observe"] as const)("%s() inside a beforeReply", (send) => {
  for (const { name, make } of eachStore) {
    test(`W5 (${name}): is sent before the run begins, on a new thread and on an old one, and is read once`, async () => {
      const told: string[] = [];
      const hooks: Hooks = {
        beforeReply: async ({ runId }) => {
          if (told.length < 2) told.push((await session[send](`by the way, ${told.length}`, { id: runId })).id ?? "");
        },
      };
      const { session, problems } = await openKit(() => "well", { store: await make(), agent: { hooks } });
      for (const input of ["first", "second"]) expect((await session.run(input).result).status).toBe("completed");
      await until(() => session.state === "completed" && history(session.messages).join().includes("way, 1"));
      expect(told.length).toBe(2);
      expect(history(session.messages).filter((line) => line.startsWith("user"))).toHaveLength(4);
      expect(problems()).toEqual([]);
    });
  }
});

describe("hub()", () => {
  const teller = (name: string, ...turns: Parameters<typeof scriptedModel>[0][]) =>
    agent({ name, model: scriptedModel(turns as never) });

  for (const { name, make } of eachStore) {
    test(`W5, A2 (${name}): each reply of one is observed by the others, once`, async () => {
      const store = await make();
      const runner = createRunner({
        agents: [teller("ann", "I am Ann", "bye"), teller("bob", "I am Bob"), teller("eve", "I am Eve")],
        store,
      });
      const ann = await runner.open("a", { agent: "ann" });
      const bob = await runner.open("b", { agent: "bob" });
      const eve = await runner.open("e", { agent: "eve" });
      const room = hub([ann, bob, eve]);
      await ann.run("who?").result;
      await room.settled();
      await bob.run("who?").result;
      await room.settled();
      // A second hub on the same threads hands on nothing twice.
      const second = hub([ann, bob, eve], { from: "start" });
      await second.settled();
      expect(history(bob.messages)).toEqual(["user: ann: I am Ann", "user: who?", "assistant: I am Bob"]);
      expect(history(eve.messages)).toEqual(["user: ann: I am Ann", "user: bob: I am Bob"]);
      expect(history(ann.messages)).toEqual(["user: who?", "assistant: I am Ann", "user: bob: I am Bob"]);
      room.close();
      second.close();
      await ann.run("bye").result;
      await room.settled();
      expect(eve.messages.length).toBe(2);
    });
  }

  test("W5, O5: with `interrupts: false` a reply that was stopped is handed on when it is whole, as one, and the words of a hook are not", async () => {
    const speaker = agent({
      name: "ann",
      model: scriptedModel([[{ text: "One " }, { stall: true }], "two"]),
      hooks: { onInterrupt: () => "stopped" },
    });
    const runner = createRunner({ agents: [speaker, teller("bob", "x")] });
    const ann = await runner.open("a", { agent: "ann" });
    const bob = await runner.open("b", { agent: "bob" });
    const say = ({ agentName, text }: { agentName: string; text: string }) => `<${agentName}> ${text}`;
    const room = hub([ann, bob], { interrupts: false, say });
    const run = ann.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    await ann.interrupt();
    await room.settled();
    expect(bob.messages).toEqual([]);
    await ann.resume().result;
    await room.settled();
    expect(history(bob.messages)).toEqual(["user: <ann> One two"]);
    room.close();
  });

  test.each(["terminate", "close"] as const)("W5: after %s() a session holds up none of the others", async (end) => {
    const runner = createRunner({ agents: [teller("ann", "one", "two"), teller("bob", "x"), teller("eve", "x")] });
    const ann = await runner.open("a", { agent: "ann" });
    const bob = await runner.open("b", { agent: "bob" });
    const eve = await runner.open("e", { agent: "eve" });
    const room = hub([ann, bob, eve]);
    await bob[end]();
    await ann.run("go").result;
    await room.settled();
    await ann.run("on").result;
    await room.settled();
    expect(history(eve.messages)).toEqual(["user: ann: one", "user: ann: two"]);
    room.close();
  });

  test("W5: a session that cannot take a reply now gets it later, in order and once; the others do not wait for it", async () => {
    let broken = true;
    const heard: string[] = [];
    const bad = agent({
      name: "bob",
      model: scriptedModel("x"),
      hooks: {
        beforeObserve: () => {
          if (broken) throw new Error("not now");
        },
      },
    });
    const listener = agent({
      name: "eve",
      model: scriptedModel("x"),
      hooks: {
        afterObserve: ({ message }) =>
          void heard.push(...message.parts.map((part) => ("text" in part ? part.text : ""))),
      },
    });
    const runner = createRunner({ agents: [teller("ann", "one", "two"), bad, listener] });
    const ann = await runner.open("a", { agent: "ann" });
    const bob = await runner.open("b", { agent: "bob" });
    const eve = await runner.open("e", { agent: "eve" });
    const room = hub([ann, bob, eve]);
    for (const input of ["go", "on"]) {
      await ann.run(input).result;
      await expect(room.settled()).rejects.toMatchObject({ code: "HOOK_FAILED" });
    }
    expect([heard, bob.messages]).toEqual([["ann: one", "ann: two"], []]);
    broken = false;
    await room.settled();
    expect(history(bob.messages)).toEqual(["user: ann: one", "user: ann: two"]);
    expect(heard).toEqual(["ann: one", "ann: two"]);
    room.close();
  });
});
