import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factsOf, history, isFact, listen, openKit, threadOf, until } from "@belay/testkit";
import {
  bundlePrograms,
  type Child,
  type OpenStore,
  openStore,
  places,
  type Share,
  startChild,
} from "@belay/testkit/processes";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { jsonSchema, messageText, tool } from "../index.ts";
import type { Store } from "./store.ts";

const threadId = "thread";
const key = { tenant: "default", threadId };
const anything = jsonSchema({ type: "object" });
let programs: string;
let folder: string;
let file: string;
let opened: OpenStore;
let store: Store;
const children: Child[] = [];

beforeAll(async () => {
  programs = await bundlePrograms();
});
function start(program: string, options: object): Child {
  const child = startChild(programs, program, options);
  children.push(child);
  return child;
}

const runElsewhere = (options: Omit<Share, "file" | "threadId">) => start("run", { file, threadId, ...options });

/** This process: a runner that does not run the thread, but may be asked to. */
const here = (turns: Parameters<typeof openKit>[0] = [], options: Parameters<typeof openKit>[1] = {}) =>
  openKit(turns, { threadId: "another", store, ...options });

function percentile(times: readonly number[], share: number): number {
  return [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))]!;
}

/** A tool in this process that ends when the test says so. */
function pauseTool() {
  let open = () => {};
  let begun = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const started = new Promise<void>((resolve) => (begun = resolve));
  const execute = async () => {
    begun();
    await opened;
    return "waited";
  };
  return { open: () => open(), started, tool: tool({ name: "pause", description: "", input: anything, execute }) };
}

describe.each(places)("processes that share $name", (place) => {
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "belay-processes-"));
    file = await place.at(folder);
    opened = await openStore(file);
    store = opened.store;
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      child.signal("SIGKILL");
      await child.exited;
    }
    await opened.close();
    await place.remove(file);
    rmSync(folder, { recursive: true, force: true });
  });

  describe("a thread that another process is running", () => {
    test("P6, S1: can be stopped from here, again and again, soon, and never in vain", async () => {
      const rounds = 60;
      const turn = [{ text: "some words" }, { stall: true }] as const;
      const owner = runElsewhere({ turns: Array.from({ length: rounds }, () => turn), resumes: rounds - 1 });
      const { runner } = await here();
      const times: number[] = [];
      for (let round = 0; round < rounds; round++) {
        await owner.said(`text ${round}`);
        const asked = performance.now();
        const receipt = await runner.interrupt(threadId);
        times.push(performance.now() - asked);
        expect(receipt).toMatchObject({ accepted: true, segment: round + 1, partialText: "some words" });
      }
      expect(await owner.said("result")).toBe("result interrupted");
      const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
      console.log(`${rounds} stops from another process: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
      expect([p50 < 1_000, p99 < 10_000]).toEqual([true, true]);
    });

    test("section 9: is steered, given its next question, and both can be taken back; its facts are followed live", async () => {
      const owner = runElsewhere({ turns: [[{ call: "gate", id: "g" }], "first answer", "second answer"] });
      await owner.said("gate");
      const { runner } = await here();
      const heard = listen(runner.events(threadId));
      await heard.until((event) => event.type === "tool-start");
      const steer = await runner.steer(threadId, "be brief");
      const unwanted = await runner.steer(threadId, "never mind");
      const next = await runner.enqueue(threadId, "and then?");
      const dropped = await runner.enqueue(threadId, "or not");
      expect(await runner.withdraw(threadId, unwanted.id)).toBe(true);
      expect(await runner.withdraw(threadId, dropped.id)).toBe(true);
      owner.tell("open");
      await heard.until((event) => event.type === "input-consumed" && event.id === next.id);
      const last = await heard.until(
        (event) => event.type === "message" && messageText(event.message) === "second answer",
      );
      await heard.until((event) => event.type === "state" && event.seq > last.seq && event.state === "completed");
      const facts = await factsOf(store);
      expect(heard.events.filter(isFact)).toEqual(facts);
      const consumed = facts.flatMap((fact) => (fact.type === "input-consumed" ? [fact.id] : []));
      expect(consumed).toEqual([steer.id, next.id]);
      const session = await runner.open(threadId);
      expect(history(session.messages)).toEqual([
        "user: go",
        "assistant: call g",
        "tool: g ok",
        "user: be brief",
        "assistant: first answer",
        "user: and then?",
        "assistant: second answer",
      ]);
    });
  });

  describe("a tool left behind in another process", () => {
    test("S5: its late result reaches the model once, after this process has taken the thread over", async () => {
      const owner = runElsewhere({ turns: [[{ call: "gate", id: "g" }]] });
      await owner.said("gate");
      const { runner } = await here();
      expect(await runner.interrupt(threadId)).toMatchObject({ accepted: true, late: ["g"] });
      const pause = pauseTool();
      const kit = await openKit([[{ call: "pause", id: "p" }], "I see", "done"], {
        store,
        threadId,
        tools: [pause.tool],
      });
      const run = kit.session.resume({ input: "what now?" });
      await pause.started;
      const waits = () => store.load(key).then((loaded) => loaded!.commands.length);
      owner.tell("open");
      while ((await waits()) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await new Promise((resolve) => setTimeout(resolve, 100));
      pause.open();
      expect(await run.result).toMatchObject({ status: "completed" });
      await kit.session.run("more").result;
      const told = kit.requests.map(({ messages }) => JSON.stringify(messages).split("through the gate").length - 1);
      expect(told).toEqual([0, 1, 1]);
      const late = (await factsOf(store)).filter((fact) => fact.type === "tool-late");
      expect(late).toHaveLength(1);
      expect(kit.problems()).toEqual([]);
    });
  });

  describe("a tool left behind in a process that died", () => {
    test("S5: killed before the tool has ended, it stays unknown: reported as such, never run again, and no late result comes", async () => {
      const owner = runElsewhere({ turns: [[{ call: "gate", id: "g" }]] });
      await owner.said("gate");
      const { runner } = await here();
      expect(await runner.interrupt(threadId)).toMatchObject({ accepted: true, late: ["g"] });
      owner.signal("SIGKILL");
      await owner.exited;
      let ran = 0;
      const gate = tool({ name: "gate", description: "", input: anything, execute: () => `again ${++ran}` });
      const kit = await openKit(["I see", "done"], { store, threadId, tools: [gate] });
      expect(kit.session).toMatchObject({ state: "paused", pauseType: "user_interrupt", late: [] });
      expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "I see" });
      await kit.session.run("more").result;
      for (const { messages } of kit.requests) {
        const told = messages.flatMap(({ parts }) => parts.filter((part) => part.type === "result"));
        expect(told).toMatchObject([{ id: "g", outcome: "interrupted" }]);
        expect(JSON.stringify(told)).toContain("may have taken effect");
      }
      expect((await factsOf(store)).filter(({ type }) => type === "tool-late")).toEqual([]);
      expect([(await store.load(key))?.commands, await kit.session.waiting(), ran]).toEqual([[], [], 0]);
      expect(kit.problems()).toEqual([]);
    });
  });

  describe("an owner that stood still", () => {
    const showsItRunning = async () => {
      const kit = await openKit([], { store, threadId });
      expect(kit.session.state).toBe("running");
      expect(() => kit.session.resume()).toThrow(expect.objectContaining({ code: "ALREADY_RUNNING" }));
      await kit.runner.close();
    };

    test("P5, F3: stopped with SIGSTOP past its lease, it writes no fact when it wakes; the result of its tool is reported once", async () => {
      const owner = runElsewhere({ turns: [[{ call: "gate", id: "g" }], "from the dead"], leaseTtlMs: 2_500 });
      await owner.said("gate");
      owner.signal("SIGSTOP");
      await showsItRunning();
      await until(async () => (await store.load(key))?.row.lease === undefined);
      const kit = await openKit(["taken over", "heard it"], { store, threadId });
      expect(kit.session).toMatchObject({ state: "paused", pauseType: "crash" });
      expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "taken over" });
      const facts = await factsOf(store);
      owner.signal("SIGCONT");
      expect(await owner.said("result")).toBe("result failed FENCED");
      owner.tell("open");
      while ((await store.load(key))!.commands.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      expect(await factsOf(store)).toEqual(facts);
      await kit.session.run("and the gate?").result;
      expect(JSON.stringify(kit.requests.at(-1)!.messages).split("through the gate")).toHaveLength(2);
      expect(kit.problems()).toEqual([]);
    });

    test("P5, S2: a stop that was answered with nothing to stop has no effect when it wakes", async () => {
      const owner = runElsewhere({ turns: [[{ call: "gate", id: "g" }], "from the dead"], leaseTtlMs: 2_500 });
      await owner.said("gate");
      owner.signal("SIGSTOP");
      const { runner } = await here();
      expect(await runner.interrupt(threadId)).toMatchObject({ accepted: false, segment: 1 });
      const facts = await factsOf(store);
      owner.signal("SIGCONT");
      expect(await owner.said("result")).toBe("result failed FENCED");
      expect(await factsOf(store)).toEqual(facts);
      expect(await runner.open(threadId)).toMatchObject({ state: "paused", pauseType: "crash" });
    });

    test("C3: killed, its lease is gone: at once on one machine, else when it ends", async () => {
      // Long enough that an owner on a busy machine does not lose it while it lives.
      const lease = place.leaseTtlMs === undefined ? {} : { leaseTtlMs: 2_500 };
      const owner = runElsewhere({ turns: [[{ text: "some" }, { stall: true }]], ...lease });
      await owner.said("text 0");
      await showsItRunning();
      owner.signal("SIGKILL");
      await owner.exited;
      while (place.leaseTtlMs !== undefined && (await store.load(key))?.row.lease !== undefined)
        await new Promise((resolve) => setTimeout(resolve, 20));
      const kit = await openKit(["again"], { store, threadId });
      expect(kit.session).toMatchObject({ state: "paused", pauseType: "crash" });
      expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "again" });
    });
  });

  describe("many processes at once", () => {
    test("R6, P4: twenty race to resume one pause: one wins, the effect happens once", async () => {
      const pay = tool({ name: "pay", description: "", input: anything, execute: () => "never here" });
      const kit = await openKit([[{ call: "pay", id: "p" }]], { store, threadId, tools: [pay] });
      const run = kit.session.run("go");
      void kit.session.interrupt({ mode: "after-model" });
      const result = await run.result;
      if (result.status !== "interrupted") throw new Error(result.status);
      const effects = join(folder, "effects");
      const racers = Array.from({ length: 20 }, () => start("race", { file, handle: result.handle, effects }));
      await Promise.all(racers.map((racer) => racer.said("ready")));
      for (const racer of racers) racer.tell("go");
      const outcomes = await Promise.all(racers.map((racer) => racer.said("outcome")));
      expect(outcomes.filter((line) => line === "outcome completed")).toHaveLength(1);
      const others = new Set(outcomes.filter((line) => line !== "outcome completed"));
      for (const other of others) expect(other).toMatch(/THREAD_BUSY|TOKEN_SPENT|ALREADY_RUNNING/);
      expect(readFileSync(effects, "utf8").trim().split("\n")).toHaveLength(1);
      await threadOf(kit.session).refresh();
      expect(history(kit.session.messages)).toEqual(["user: go", "assistant: call p", "tool: p ok", "assistant: paid"]);
    });

    test("P17: ten open a store that is not there yet at the same time, and each writes its thread", async () => {
      const fresh = await place.at(mkdtempSync(join(folder, "fresh-")));
      const openers = Array.from({ length: 10 }, (_, i) => start("begin", { file: fresh, threadId: `thread ${i}` }));
      await Promise.all(openers.map((opener) => opener.said("ready")));
      for (const opener of openers) opener.tell("go");
      const outcomes = await Promise.all(openers.map((opener) => opener.said("outcome")));
      expect(outcomes).toEqual(openers.map(() => "outcome completed"));
      expect(await place.reading(fresh, (there) => there.threads("default"))).toHaveLength(10);
      await place.remove(fresh);
    });
  });

  describe("requests of another process", () => {
    const names = (prefix: string, times: number) => Array.from({ length: times }, (_, i) => `${prefix}${i}`);
    const openHere = async () => (await store.requests("default")).map(({ id }) => id);
    const rulesHere = async () => (await store.rules("default")).map(({ id }) => id);

    test("Q9: is seen here, closed here, and then seen to be closed there; so are rules", async () => {
      const asker = start("ask", { file, times: 3, prefix: "a" });
      await asker.said("ready");
      expect([await openHere(), await store.requestThread("default", "a1")]).toEqual([[], undefined]);
      asker.tell("go");
      await asker.said("asked");
      expect([await openHere(), await rulesHere()]).toEqual([names("a", 3), names("a", 3)]);
      const threadId = await store.requestThread("default", "a1");
      expect(threadId).toBe("a1");
      const common = { count: 1, at: 2, body: "{}", agent: "helper", state: "paused", release: true } as const;
      const writer = { take: "here", ttlMs: 60_000 };
      const closes = { ...common, expect: 1, appendId: "closes", writer, close: ["a1"] };
      expect(await store.append({ tenant: "default", threadId: "a1" }, closes)).toMatchObject({ ok: true });
      expect(await store.removeRule("default", "a2")).toBe(true);
      asker.tell("list");
      expect([await asker.said("open "), await asker.said("rules ")]).toEqual(["open a0 a2", "rules a0 a1"]);
    });

    test("P18: three ask at once: each sees all of it, in the same order", async () => {
      const prefixes = ["a", "b", "c"];
      const askers = prefixes.map((prefix) => start("ask", { file, times: 20, prefix }));
      await Promise.all(askers.map((asker) => asker.said("ready")));
      for (const asker of askers) asker.tell("go");
      await Promise.all(askers.map((asker) => asker.said("asked")));
      for (const asker of askers) asker.tell("list");
      const [open, rules] = [await openHere(), await rulesHere()];
      expect(await Promise.all(askers.map((asker) => asker.said("open ")))).toEqual(
        askers.map(() => `open ${open.join(" ")}`),
      );
      expect(await Promise.all(askers.map((asker) => asker.said("rules ")))).toEqual(
        askers.map(() => `rules ${rules.join(" ")}`),
      );
      for (const prefix of prefixes)
        for (const list of [open, rules]) expect(list.filter((id) => id.startsWith(prefix))).toEqual(names(prefix, 20));
      expect(open).toHaveLength(60);
    });
  });
});
