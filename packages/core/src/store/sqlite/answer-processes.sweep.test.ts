import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factsOf, openDatabase, openKit } from "@belay/testkit";
import { bundlePrograms, type Child, payTool, startChild } from "@belay/testkit/processes";
import { afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import type { DatabaseSync } from "./database.ts";
import { sqliteStore } from "./sqlite.ts";

const { answeringProcesses: PROCESSES } = inject("effort");
const THREADS = 50;
const CALLS = 2;

let programs: string;
let folder: string;
let file: string;
let db: DatabaseSync;
let children: Child[] = [];

beforeAll(async () => {
  programs = await bundlePrograms();
});
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "belay-answers-"));
  file = join(folder, "threads.db");
  db = await openDatabase(file);
});
afterEach(async () => {
  for (const child of children) child.signal("SIGKILL");
  await Promise.all(children.map(({ exited }) => exited));
  children = [];
  db.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("many people at once", { timeout: 180_000 }, () => {
  test("Q6, P4: many processes answer the same hundred requests: each has one winner, the others get its name", async () => {
    const store = sqliteStore(db);
    const calls: string[] = [];
    for (let i = 0; i < THREADS; i++) {
      const turn = Array.from({ length: CALLS }, (_, call) => ({ call: "pay", id: `t${i}c${call}` }));
      calls.push(...turn.map(({ id }) => id));
      const kit = await openKit([turn], { store, threadId: `thread ${i}`, tools: [payTool(join(folder, "effects"))] });
      await kit.session.run("go").result;
      await kit.runner.close();
    }
    const requests = (await store.requests("default")).map(({ id }) => id);
    expect(requests).toHaveLength(THREADS * CALLS);
    const effects = join(folder, "effects");
    const people = Array.from({ length: PROCESSES }, (_, i) => `person ${i}`);
    children = people.map((by) => startChild(programs, "answerAll", { file, requests, by, effects }, 170_000));
    await Promise.all(children.map((child) => child.said("ready")));
    const began = performance.now();
    for (const child of children) child.tell("go");
    await Promise.all(children.map((child) => child.said("end")));
    console.log(`${PROCESSES} × ${requests.length} answers in ${((performance.now() - began) / 1000).toFixed(1)} s`);
    const winners = new Map<string, string>();
    const losers: { readonly id: string; readonly outcome: string }[] = [];
    for (const [i, { lines }] of children.entries()) {
      for (const line of lines.filter((said) => said.startsWith("answer "))) {
        const { id, outcome } = JSON.parse(line.slice("answer ".length)) as { id: string; outcome: string };
        if (outcome !== "won") losers.push({ id, outcome });
        else if (winners.has(id)) throw new Error(`${id} was won twice.`);
        else winners.set(id, people[i]!);
      }
    }
    expect([...winners.keys()].toSorted()).toEqual(requests.toSorted());
    expect(losers).toHaveLength((PROCESSES - 1) * requests.length);
    for (const { id, outcome } of losers) {
      expect(outcome).toMatch(`ANSWER_TAKEN Request ${id} was already approved by ${winners.get(id)} at `);
    }
    expect(await store.requests("default")).toEqual([]);
    const ran = () => readFileSync(effects, "utf8").trim().split("\n");
    expect(new Set(ran()).size).toBe(ran().length);
    // If the store failed under so many, an approved call may not have run yet: it does so now. If one ran and could not record
    // it, a person is asked for its outcome.
    const doubts: string[] = [];
    for (let i = 0; i < THREADS; i++) {
      const kit = await openKit(["done"], { store, threadId: `thread ${i}`, tools: [payTool(effects)] });
      await kit.session.resume().result;
      doubts.push(...kit.session.interrupts.map(({ callId }) => callId!));
      await kit.runner.close();
    }
    expect(ran().toSorted()).toEqual(calls.toSorted());
    for (const call of doubts) expect(ran()).toContain(call);
    for (let i = 0; i < THREADS; i++) {
      const facts = await factsOf(store, `thread ${i}`);
      const counted = facts.flatMap((fact) =>
        fact.type === "request-answered" && fact.refused === undefined ? [fact.by === winners.get(fact.id)] : [],
      );
      expect(counted).toEqual(Array.from({ length: CALLS }, () => true));
    }
  });
});
