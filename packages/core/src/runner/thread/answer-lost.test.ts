// An answer without an id, whose caller does not learn by its append that it is on record.

import {
  factsOf,
  faultyStore,
  gate,
  openKit,
  paying,
  pays,
  requestOf,
  said,
  settle,
  toolOf,
  until,
  wrapStore,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, humanApproval, memoryStore, type Store } from "../../index.ts";
import type { Appended } from "../../store/store.ts";
import { fakeClock } from "../../testing/index.ts";

const key = { tenant: "default", threadId: "thread" };
const ttl = 30_000;

async function answersIn(store: Store): Promise<string[]> {
  const facts = await factsOf(store);
  const answers = facts.filter((fact) => fact.type === "request-answered" && fact.answer.type !== "withdraw");
  return said(answers);
}

/** A thread that asks about two payments, and runs because of a third call. `side` is the store as its owner sees it. */
async function running(store: Store, { clock = fakeClock(), quorum = 1 } = {}) {
  const side = faultyStore(store);
  const slow = toolOf("slow", () => new Promise(() => {}), { onCrash: "fail" });
  const { tools } = paying({ needsApproval: () => humanApproval("Pay?", { quorum }) });
  const options = { store: side, clock, tools: [...tools, slow] };
  const kit = await openKit([[{ call: "slow", id: "s" }, ...pays("a", "b")]], options);
  const run = kit.session.run("go");
  await until(() => kit.session.interrupts.length === 2);
  await settle();
  return { kit, run, side, clock, tools: options.tools, a: requestOf(kit, "a").id };
}

/** Another process has the thread from now on, and ends its run. */
async function taken(store: Store, { clock, tools }: Awaited<ReturnType<typeof running>>) {
  await store.release(key, (await store.load(key))!.row.lease!.fence);
  const other = await openKit(["done"], { store, clock, tools });
  return other;
}

const lost = { fail: "after" } as const;

describe("Q6: an answer is not refused by itself", () => {
  test("if the store took it, and no reply arrives", async () => {
    const store = memoryStore();
    const { kit, run, side, clock, a } = await running(store);
    side.plan("append", lost, lost, lost);
    const answered = kit.session.answer(a, approve());
    await settle();
    await clock.advance(10);
    await clock.advance(100);
    expect(await answered).toEqual({ open: 1 });
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "STORE_FAILED" } });
    expect(await answersIn(store)).toEqual(["answered approve by user"]);
  });

  test("if the store took it, no reply arrives, and another process writes before it is sent again", async () => {
    const store = memoryStore();
    const there = await running(store);
    there.side.plan("append", lost);
    const answered = there.kit.session.answer(there.a, approve());
    await settle();
    const other = await taken(store, there);
    await other.session.resume({ input: "another way" }).result;
    await there.clock.advance(10);
    expect(await answered).toEqual({ open: 1 });
    expect(await there.run.result).toMatchObject({ status: "failed", error: { code: "FENCED" } });
    expect(await answersIn(store)).toEqual(["answered approve by user"]);
  });

  test("if its owner stood still meanwhile, and lost the thread", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    let isAnswering = false;
    const committed = gate();
    const slow = wrapStore(store, {
      async append(at, append) {
        const appended = await store.append(at, append);
        if (!isAnswering) return appended;
        isAnswering = false;
        there.side.freeze();
        there.side.plan("renew", { fail: "before" }, { fail: "before" }, { fail: "before" });
        committed.open();
        return appended;
      },
    });
    const there = await running(slow, { clock });
    isAnswering = true;
    const answered = there.kit.session.answer(there.a, approve());
    await committed.opened;
    await clock.advance(ttl);
    const next = await openKit(["alive"], { store, clock, tools: there.tools });
    await next.session.resume({ input: "another way" }).result;
    there.side.thaw();
    expect(await answered).toEqual({ open: 1 });
    expect(await there.run.result).toMatchObject({ status: "failed", error: { code: "FENCED" } });
    expect(await answersIn(store)).toEqual(["answered approve by user"]);
  });

  test("if it is one of several that a request needs", async () => {
    const store = memoryStore();
    const { kit, side, clock, a } = await running(store, { quorum: 2 });
    side.plan("append", lost, lost, lost);
    const answered = kit.session.answer(a, approve({ by: "ann" }));
    await settle();
    await clock.advance(10);
    await clock.advance(100);
    expect(await answered).toEqual({ open: 2 });
    expect(await answersIn(store)).toEqual(["answered approve by ann, open"]);
  });

  test("if it is on its way to the store, and arrives while its caller tries again", async () => {
    const store = memoryStore();
    let isCut = false;
    let sent: (() => Promise<Appended>) | undefined;
    const slow = wrapStore(store, {
      async append(at, append) {
        if (isCut && "fence" in append.writer) {
          sent ??= () => store.append(at, append);
          throw new Error("no reply");
        }
        if (isCut) expect(await sent!()).toMatchObject({ ok: true });
        return store.append(at, append);
      },
      async release(at, fence) {
        if (isCut) throw new Error("no reply");
        return store.release(at, fence);
      },
    });
    const { kit, clock, a } = await running(slow);
    isCut = true;
    const answered = kit.session.answer(a, approve());
    await settle();
    await clock.advance(10);
    await clock.advance(100);
    expect(await answered).toEqual({ open: 1 });
    expect(await answersIn(store)).toEqual(["answered approve by user"]);
  });
});

describe("an answer that the store did not take", () => {
  test("is given again, and counts once", async () => {
    const store = memoryStore();
    const { kit, side, clock, a } = await running(store);
    side.plan("append", { fail: "before" }, { fail: "before" }, { fail: "before" });
    const answered = kit.session.answer(a, approve());
    await settle();
    await clock.advance(10);
    await clock.advance(100);
    expect(await answered).toEqual({ open: 1 });
    expect(await answersIn(store)).toEqual(["answered approve by user"]);
  });

  test("Q6: is refused if another one was taken meanwhile, also one with the same words", async () => {
    const store = memoryStore();
    const there = await running(store);
    there.side.plan("append", { fail: "before" });
    const answered = there.kit.session.answer(there.a, approve());
    const refused = expect(answered).rejects.toMatchObject({ code: "ANSWER_TAKEN" });
    await settle();
    await there.clock.advance(1);
    const other = await taken(store, there);
    expect(await other.session.answer(there.a, approve())).toEqual({ open: 1 });
    await there.clock.advance(10);
    await refused;
    expect(await answersIn(store)).toEqual(["answered approve by user"]);
  });
});
