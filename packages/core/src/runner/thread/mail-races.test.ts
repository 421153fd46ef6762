// Commands that meet a thread at its edges: as it begins, as it ends, while its owner changes, after it was deleted.

import { gate, heldStore, history, moveOn, openKit, settle, threadOf, until, wrapStore } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { agent, createRunner, jsonSchema, memoryStore, type Store, tool } from "../../index.ts";
import type { StandardSchema } from "../../schema/schema.ts";
import { scriptedModel } from "../../testing/index.ts";

const noArgs = jsonSchema<object>({ type: "object" });

const pass = (ms: number) => new Promise<"time is up">((resolve) => setTimeout(resolve, ms, "time is up" as const));

/** A tool whose n-th call ends when the n-th gate opens, against its signal. */
function deaf(name: string, ...ends: Promise<string>[]) {
  let calls = 0;
  const execute = () => ends[calls++];
  return tool({ name, description: "waits", input: noArgs, readOnly: true, execute });
}

/** As after the death of its process: no process holds the thread. */
async function letGo(store: Store, threadId: string): Promise<void> {
  const row = (await store.threads("default")).find((thread) => thread.threadId === threadId);
  if (row?.lease !== undefined) await store.release({ tenant: "default", threadId }, row.lease.fence);
}

describe("as a run begins", () => {
  it("a steer in the same tick as the first run of a new thread waits for it to be on record", async () => {
    const kit = await openKit(["one", "two"]);
    const steered = kit.session.steer("be brief");
    const run = kit.session.run("go");
    await steered;
    await run.result;
    expect(history(kit.session.messages)).toContain("user: be brief");
  });
});

describe("as a run ends", () => {
  it("X2: a row behind a closing append that waits for another one does not keep the run from its end", async () => {
    const answer = gate();
    const written = gate();
    const store = heldStore(memoryStore(), { after: (n) => (n === 2 ? written.opened : undefined) });
    const said = async () => {
      await answer.opened;
      return "done";
    };
    const kit = await openKit([said, "two", "three"], { store });
    const run = kit.session.run("go");
    await settle();
    await kit.session.enqueue("first");
    await settle();
    answer.open();
    await settle();
    await kit.session.enqueue("second");
    await settle();
    written.open();
    expect(await Promise.race([run.result, pass(20_000)])).toMatchObject({ status: "completed" });
    await until(() => kit.session.messages.length === 6);
  });

  it("an input enqueued after the closing append was written, before its answer came, starts the next run", async () => {
    const answer = gate();
    const written = gate();
    const store = heldStore(memoryStore(), { after: (n) => (n === 2 ? written.opened : undefined) });
    const said = async () => {
      await answer.opened;
      return "done";
    };
    const kit = await openKit([said, "two"], { store });
    const run = kit.session.run("go");
    await settle();
    answer.open();
    await settle();
    await kit.session.enqueue("second");
    await settle();
    written.open();
    await run.result;
    await until(() => history(kit.session.messages).includes("assistant: two"));
  });

  it("a steer that comes while the output is checked gets its turn", async () => {
    const check = gate();
    let checks = 0;
    const output: StandardSchema = {
      "~standard": {
        ...jsonSchema<object>({ type: "object" })["~standard"],
        async validate(value) {
          checks += 1;
          if (checks === 1) await check.opened;
          return { value };
        },
      },
    };
    const kit = await openKit(["{}", "{}"], { agent: { output: output as never } });
    const run = kit.session.run("go");
    await settle();
    await kit.session.steer("and this");
    check.open();
    expect(await run.result).toMatchObject({ status: "completed" });
    expect(history(kit.session.messages)).toEqual(["user: go", "assistant: {}", "user: and this", "assistant: {}"]);
  });
});

describe("as the owner changes", () => {
  it("an input sent to a thread that ends meanwhile is run by the thread's own agent", async () => {
    const store = memoryStore();
    const answer = gate();
    const said = async () => {
      await answer.opened;
      return "from two";
    };
    const one = agent({ name: "one", model: scriptedModel(() => "from one") });
    const two = agent({ name: "two", model: scriptedModel(said) });
    const owned = await createRunner({ agents: [two, one], store }).open("t");
    const run = owned.run("go");
    await settle();
    let met = false;
    const late = wrapStore(store, {
      async load(key, after) {
        const loaded = await store.load(key, after);
        if (met || loaded?.row.lease === undefined) return loaded;
        met = true;
        answer.open();
        await run.result;
        return loaded;
      },
    });
    const other = createRunner({ agents: [one, two], store: late });
    await other.enqueue("t", "next", { start: "here" });
    await until(async () => (await store.threads("default"))[0]?.queued === false);
    await settle(20);
    await threadOf(owned).refresh();
    expect(history(owned.messages)).toEqual(["user: go", "assistant: from two", "user: next", "assistant: from two"]);
  });

  it("C5: a thread that others have moved on since it was counted as crashed is not set aside", async () => {
    const store = memoryStore();
    for (let life = 0; life < 4; life++) {
      const { session } = await openKit([[{ stall: true }]], { store });
      if (life === 0) session.run("go");
      else session.resume();
      await settle();
      await letGo(store, "thread");
    }
    const worker = await openKit(["never"], { store });
    const other = await openKit(["finished"], { store });
    await other.session.resume().result;
    await expect(moveOn(threadOf(worker.session), 3, new Set())).rejects.toMatchObject({ code: "INVALID_STATE" });
    const { session } = await openKit(["never"], { store });
    expect(session.state).toBe("completed");
  });

  it("S5: the late result of a try that was repeated does not take the place of the repetition's", async () => {
    const store = memoryStore();
    const [first, second] = [gate<string>(), gate<string>()];
    const look = deaf("look", first.opened, second.opened);
    const a = await openKit([[{ call: "look" }]], { store, tools: [look], leaseTtlMs: 30 });
    const lost = a.session.run("go");
    await settle();
    await letGo(store, "thread");
    const b = await openKit(["end"], { store, tools: [look] });
    const run = b.session.resume();
    expect(await lost.result).toMatchObject({ status: "failed", error: { code: "FENCED" } });
    first.open("first");
    await pass(5);
    second.open("second");
    await run.result;
    const results = b.session.messages.flatMap(({ parts }) => parts.filter((part) => part.type === "result"));
    expect(results).toMatchObject([{ outcome: "ok", output: "second" }]);
    expect(JSON.stringify(b.session.messages)).toContain("Its result: first");
    expect(b.problems()).toEqual([]);
  });
});

describe("late results", () => {
  it("R2, S5: one that comes while an answer is cut waits for the next turn, and the answer continues as one", async () => {
    const end = gate<string>();
    const turns = [[{ call: "wait" }], [{ text: "Once upon" }, { stall: true as const }], " a time", "noted"];
    const kit = await openKit(turns, { tools: [deaf("wait", end.opened)], agent: { graceMs: 1 } });
    const first = kit.session.run("go");
    await settle();
    await kit.session.interrupt();
    await first.result;
    const second = kit.session.resume();
    await settle();
    await kit.session.interrupt();
    await second.result;
    end.open("late news");
    await pass(5);
    await kit.session.resume().result;
    expect(history(kit.session.messages).at(-1)).toBe("assistant: Once upon a time");
    await kit.session.run("and?").result;
    expect(JSON.stringify(kit.requests.at(-1)?.messages)).toContain("late news");
    expect(kit.problems()).toEqual([]);
  });

  it("one of a thread that was deleted does not enter another that has its name", async () => {
    const end = gate<string>();
    const kit = await openKit([[{ call: "wait" }], "a", "b"], {
      tools: [deaf("wait", end.opened)],
      agent: { graceMs: 1 },
    });
    const run = kit.session.run("go");
    await settle();
    await kit.session.interrupt();
    await run.result;
    await kit.runner.delete("thread");
    const session = await kit.runner.open("thread");
    await session.run("new").result;
    end.open("of the old one");
    await pass(5);
    await session.run("again").result;
    expect(history(session.messages)).toEqual(["user: new", "assistant: a", "user: again", "assistant: b"]);
  });
});

describe("work and drain", () => {
  it("L1: threads of agents that this runner does not know keep none of its own from their turn", async () => {
    const store = memoryStore();
    const stalled = (name: string) => agent({ name, model: scriptedModel(() => [{ stall: true }]) });
    const crash = async (name: string, threadId: string) => {
      (await createRunner({ agent: stalled(name), store }).open(threadId)).run("go");
      await settle();
      await letGo(store, threadId);
      await pass(2);
    };
    await crash("mine", "mine");
    for (const threadId of ["a", "b", "c", "d"]) await crash("other", threadId);
    const runner = createRunner({ agent: agent({ name: "mine", model: scriptedModel(() => "fine") }), store });
    const stop = new AbortController();
    const worked = runner.work({ signal: stop.signal, pollMs: 5, concurrency: 2 });
    const state = async () => (await store.threads("default")).find(({ threadId }) => threadId === "mine")?.state;
    await until(async () => (await state()) === "completed");
    stop.abort();
    await worked;
    expect(await state()).toBe("completed");
  });

  it("work() ends when its runner is closed, and leaves no listener on its signal", async () => {
    const kit = await openKit(["never"]);
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    const worked = kit.runner.work({ signal, pollMs: 1 });
    await pass(20);
    await kit.runner.close();
    expect(await Promise.race([worked, pass(20_000)])).toBeUndefined();
    expect(listeners).toBe(0);
  });

  it("C5: drain() ends at its time limit, also of a call that a stop would wait for", async () => {
    const never = new Promise<string>(() => {});
    const stubborn = tool({
      name: "stubborn",
      description: "never ends",
      input: noArgs,
      onStop: "finish",
      execute: () => never,
    });
    const kit = await openKit([[{ call: "stubborn" }]], { tools: [stubborn] });
    const run = kit.session.run("go");
    await settle();
    expect(await Promise.race([kit.runner.drain({ timeoutMs: 20 }), pass(20_000)])).toBeUndefined();
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "SESSION_CLOSED" } });
  });
});

describe("summaries", () => {
  it("H1, H4: a long text is handed to the summariser in pieces of whole characters", async () => {
    const kit = await openKit(() => "short", { agent: { context: { maxTokens: 300, keepTokens: 50 } } });
    await kit.session.run(`a${"😀".repeat(3000)}`).result;
    await kit.session.run("next").result;
    const texts = kit.requests.flatMap(({ messages }) => messages.flatMap(({ parts }) => parts));
    expect(texts.filter((part) => part.type === "text" && !part.text.isWellFormed())).toEqual([]);
    expect(kit.requests.length).toBeGreaterThan(3);
  });
});
