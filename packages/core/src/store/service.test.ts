import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factProblems, factsOf, history, lastText, until } from "@belay/testkit";
import {
  bundlePrograms,
  type Child,
  type OpenStore,
  openStore,
  type Place,
  places,
  servingAgent,
  sqliteFiles,
  startChild,
} from "@belay/testkit/processes";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createRunner } from "../index.ts";
import type { Store } from "./store.ts";

const never = new Promise(() => {});
const keyOf = (threadId: string) => ({ tenant: "default", threadId });
let programs: string;
let folder: string;
let where: string;
let opened: OpenStore;
let store: Store;
const children: Child[] = [];

beforeAll(async () => {
  programs = await bundlePrograms();
});

function on(place: Place): void {
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "belay-service-"));
    where = await place.at(folder);
    opened = await openStore(where);
    store = opened.store;
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      child.signal("SIGKILL");
      await child.exited;
    }
    await opened.close();
    await place.remove(where);
    rmSync(folder, { recursive: true, force: true });
  });
}

async function start(timeoutMs = 60_000): Promise<Child> {
  const child = startChild(programs, "service", { where, folder, timeoutMs });
  children.push(child);
  return child;
}

/** This process, with the same agent, and harmless tools. */
const here = () => createRunner({ agent: servingAgent(folder, Promise.resolve(), false), store });

/** A thread that has said hello, with a question that waits. */
async function ask(threadId: string, question: string): Promise<void> {
  const runner = here();
  await (await runner.open(threadId)).run("hello").result;
  await runner.close();
  const body = JSON.stringify({ messages: [{ parts: [{ type: "text", text: question }] }] });
  await store.send(keyOf(threadId), { key: question, kind: "input", body, at: 1 });
}

const stateOf = async (threadId: string) => (await store.load(keyOf(threadId), Number.MAX_SAFE_INTEGER))?.row.state;
const done = (threadId: string) =>
  until(async () => {
    const row = (await store.load(keyOf(threadId), Number.MAX_SAFE_INTEGER))!.row;
    return row.state === "completed" && !row.queued && row.lease === undefined;
  });
const linesOf = (name: string) =>
  existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8").trim().split("\n") : [];

describe(`a thread that kills its process, in ${sqliteFiles.name}`, () => {
  on(sqliteFiles);

  test("C5: is set aside when it has killed its workers too often; other threads continue, and a person can resume it", {
    timeout: 120_000,
  }, async () => {
    await ask("poison", "deadly");
    let deaths = 0;
    let worker = await start();
    while ((await stateOf("poison")) !== "error") {
      const end = await Promise.race([worker.exited, new Promise((resolve) => setTimeout(resolve, 20))]);
      if (end === undefined) continue;
      expect(end).toEqual({ code: null, signal: "SIGKILL" });
      deaths += 1;
      expect(deaths).toBeLessThan(10);
      worker = await start();
    }
    // The run that began it, and three more tries.
    expect([deaths, linesOf("deadly")]).toEqual([4, Array(4).fill("poison")]);
    const facts = await factsOf(store, "poison");
    expect(facts.findLast((fact) => fact.type === "run-end")).toMatchObject({ error: { code: "THREAD_SET_ASIDE" } });
    expect(factProblems(facts)).toEqual([]);
    await until(() => worker.lines.some((line) => line.includes("poison was set aside")));

    await ask("fine", "how are you?");
    await done("fine");
    expect([await stateOf("poison"), linesOf("deadly").length]).toEqual(["error", 4]);
    const runner = here();
    const session = await runner.open("poison");
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "answered deadly" });
    expect(history(session.messages)).toContain("tool: deadly-2 ok");
    await runner.close();
  });
});

describe.each(places)("a service that gets SIGTERM, in $name", (place) => {
  on(place);

  test("P16: drains: a run ends at its next boundary, its thread is free at once, and continues without a repeated step", async () => {
    await ask("thread", "wait");
    const worker = await start();
    await worker.said("waits");
    worker.signal("SIGTERM");
    await worker.said("draining");
    await ask("later", "how are you?");
    // Far longer than the grace that a stop would give it.
    await new Promise((resolve) => setTimeout(resolve, 300));
    worker.tell("open");
    await worker.said("drained");
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    expect((await store.load(keyOf("later")))?.row).toMatchObject({ queued: true });

    const runner = here();
    const session = await runner.open("thread");
    expect(session).toMatchObject({ state: "paused", pauseType: "crash" });
    expect(history(session.messages).at(-1)).toBe("tool: wait-2 ok");
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "answered wait" });
    expect(linesOf("wait")).toEqual(["thread"]);
    expect(factProblems(await factsOf(store, "thread"))).toEqual([]);
    await runner.close();
    const next = await start();
    await done("later");
    next.signal("SIGTERM");
    expect(await next.exited).toEqual({ code: 0, signal: null });
  });

  test("P16: a run that takes longer than the drain is cut off, and its thread is free at once", async () => {
    await ask("thread", "wait");
    const worker = await start(200);
    await worker.said("waits");
    worker.signal("SIGTERM");
    await worker.said("drained");
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    const runner = createRunner({ agent: servingAgent(folder, never, false), store });
    const session = await runner.open("thread");
    expect(session).toMatchObject({ state: "paused", pauseType: "crash" });
    expect((await store.load(keyOf("thread")))?.row.lease).toBeUndefined();
    const result = await session.resume({ input: "never mind" }).result;
    expect([result.status, lastText(session.messages)]).toEqual(["completed", "answered never mind"]);
    expect(linesOf("wait")).toEqual(["thread"]);
    expect(factProblems(await factsOf(store, "thread"))).toEqual([]);
    await runner.close();
  });
});
