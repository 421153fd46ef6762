// A process that stands still for longer than its lease, between an append and the code that acts on it.

import { factsOf, faultyStore, gate, type Kit, openKit, settle, stepsOf, toolOf, until } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { humanInput, memoryStore, respond, type Store } from "../../index.ts";
import { wrapStore } from "../../store/wrap-store.ts";
import { fakeClock } from "../../testing/index.ts";

const ttl = 30_000;

type Operation = "append" | "load" | "renew";

/**
 * A store as one process sees it. The process stands still before it gets the answer of the first operation that `at` picks. `calls`
 * counts the operations of each kind until then, with that one.
 */
function still(
  store: Store,
  at: (operation: Operation, calls: Readonly<Record<Operation, number>>) => boolean,
  hasTimer = true,
) {
  const calls = { append: 0, load: 0, renew: 0 };
  let stood = false;
  const then = async <T>(operation: Operation, answer: Promise<T>): Promise<T> => {
    const answered = await answer;
    calls[operation] += 1;
    if (stood || !at(operation, calls)) return answered;
    stood = true;
    side.freeze();
    // Until it has begun its tenure, it has no timer that renews the lease. With one, it renews three times meanwhile, in vain.
    if (hasTimer) side.plan("renew", { fail: "before" }, { fail: "before" }, { fail: "before" });
    return answered;
  };
  const side = faultyStore(
    wrapStore(store, {
      append: (...args) => then("append", store.append(...args)),
      load: (...args) => then("load", store.load(...args)),
      renew: (...args) => then("renew", store.renew(...args)),
    }),
  );
  return { side, calls, stands: () => until(() => stood) };
}

function world() {
  const clock = fakeClock();
  return { clock, store: memoryStore({ clock }) };
}

const fenced = { status: "failed", error: { code: "FENCED" } };

/** A tool that leaves its name in `ran` when it runs. */
function leaving(ran: string[], name: string) {
  return toolOf("pay", () => void ran.push(name), { onCrash: "fail" });
}

/** Asks a person, then does something. */
function asking(ran: string[], name: string) {
  const execute = async (ctx: Parameters<Parameters<typeof toolOf>[1]>[0]) => {
    const said = await ctx.ask(humanInput("Who?"));
    return ctx.step("did", () => {
      ran.push(`${name}: ${said}`);
      return said;
    });
  };
  return toolOf("ask", execute, { onCrash: "retry" });
}

const idOf = ({ session }: Kit) => session.interrupts.find(({ kind }) => kind === "input")!.id;

describe("F3: a process that stood still for longer than its lease, and lost the thread", () => {
  it("while it read the rows that waited, starts no call of the append before", async () => {
    const { clock, store } = world();
    const ran: string[] = [];
    const [asked, answer] = [gate(), gate()];
    const model = {
      id: "slow",
      async *stream() {
        asked.open();
        await answer.opened;
        yield { type: "call" as const, id: "p", tool: "pay", args: {} };
      },
    };
    // The third append is the message with the start of its call. A steer waits, so its owner looks for rows after it.
    const { side, stands } = still(store, (operation, { append }) => operation === "load" && append === 3);
    const zombie = await openKit(model, { store: side, clock, tools: [leaving(ran, "zombie")] });
    const run = zombie.session.run("go");
    await asked.opened;
    const next = await openKit(["alive"], { store, clock, tools: [leaving(ran, "next")] });
    await next.session.steer("hurry");
    await settle();
    answer.open();
    await stands();
    await clock.advance(ttl);
    expect(await next.session.resume().result).toMatchObject({ status: "completed" });
    side.thaw();
    expect(await run.result).toMatchObject(fenced);
    expect(ran).toEqual([]);
  });

  it("while it took the thread, asks no model", async () => {
    const { clock, store } = world();
    const { side, stands } = still(store, (operation) => operation === "append", false);
    const zombie = await openKit(["from the dead"], { store: side, clock });
    const run = zombie.session.run("go");
    await stands();
    await clock.advance(ttl);
    const next = await openKit(["alive"], { store, clock });
    expect(await next.session.resume().result).toMatchObject({ status: "completed" });
    side.thaw();
    expect(await run.result).toMatchObject(fenced);
    expect(zombie.requests).toEqual([]);
  });

  it("while it took the thread, continues no code that waited in memory for the answer", async () => {
    const { clock, store } = world();
    const ran: string[] = [];
    let isResuming = false;
    const { side, stands } = still(store, (operation) => operation === "append" && isResuming, false);
    const turn = [{ call: "ask", id: "a" }];
    const zombie = await openKit([turn], { store: side, clock, tools: [asking(ran, "zombie")] });
    await zombie.session.run("go").result;
    isResuming = true;
    const run = zombie.session.resume({ answers: { [idOf(zombie)]: respond("ann") } });
    await stands();
    await clock.advance(ttl);
    const next = await openKit(["alive"], { store, clock, tools: [asking(ran, "next")] });
    expect(await next.session.resume().result).toMatchObject({ status: "completed" });
    side.thaw();
    expect(await run.result).toMatchObject(fenced);
    expect(ran).toEqual(["next: ann"]);
  });

  it("while it recorded an answer, hands it to no code that waits in memory", async () => {
    const { clock, store } = world();
    const ran: string[] = [];
    const long = toolOf("long", () => new Promise(() => {}), { onCrash: "fail" });
    const turn = [
      { call: "ask", id: "a" },
      { call: "long", id: "l" },
    ];
    let isAnswering = false;
    const { side, stands } = still(store, (operation) => operation === "append" && isAnswering);
    const zombie = await openKit([turn], { store: side, clock, tools: [asking(ran, "zombie"), long] });
    const run = zombie.session.run("go");
    await until(() => zombie.session.interrupts.length > 0);
    isAnswering = true;
    const answering = zombie.session.answer(idOf(zombie), respond("ann"), { id: "one" });
    await stands();
    await clock.advance(ttl);
    const next = await openKit(["alive"], { store, clock, tools: [asking(ran, "next"), long] });
    expect(await next.session.resume().result).toMatchObject({ status: "completed" });
    side.thaw();
    expect(await run.result).toMatchObject(fenced);
    expect(await answering).toEqual({ open: 0 });
    await settle(20);
    expect(ran).toEqual(["next: ann"]);
    expect(stepsOf(await factsOf(store))).toEqual(["did"]);
  });

  it("starts no call if its clock was set back meanwhile", async () => {
    const { clock, store } = world();
    const ran: string[] = [];
    let back = 0;
    const own = { ...clock, now: () => clock.now() - back };
    const { side, stands } = still(store, (operation, { append }) => operation === "append" && append === 2);
    const tools = [leaving(ran, "zombie")];
    const zombie = await openKit([[{ call: "pay", id: "p" }]], { store: side, clock: own, tools });
    const run = zombie.session.run("go");
    await stands();
    await clock.advance(ttl);
    const next = await openKit(["alive"], { store, clock, tools: [leaving(ran, "next")] });
    expect(await next.session.resume().result).toMatchObject({ status: "completed" });
    back = ttl + 1;
    side.thaw();
    expect(await run.result).toMatchObject(fenced);
    expect(ran).toEqual([]);
  });

  it("and again while it renewed the lease, starts no call", async () => {
    const { clock, store } = world();
    const ran: string[] = [];
    const { side, stands } = still(store, (operation, { append }) => operation === "append" && append === 2);
    // The renewal that proves the lease reaches the store. Its answer comes when the lease is over again.
    const again = still(side, (operation) => operation === "renew");
    const tools = [leaving(ran, "zombie")];
    const zombie = await openKit([[{ call: "pay", id: "p" }]], { store: again.side, clock, tools });
    const run = zombie.session.run("go");
    await stands();
    await clock.advance(ttl);
    side.thaw();
    await again.stands();
    await clock.advance(ttl);
    const next = await openKit(["alive"], { store, clock, tools: [leaving(ran, "next")] });
    expect(await next.session.resume().result).toMatchObject({ status: "completed" });
    again.side.thaw();
    expect(await run.result).toMatchObject(fenced);
    expect(ran).toEqual([]);
  });
});

describe("a process that stood still for longer than its lease, and still has the thread", () => {
  it("renews its lease once, and continues", async () => {
    const { clock, store } = world();
    const ran: string[] = [];
    const { side, calls, stands } = still(store, (operation, { append }) => operation === "append" && append === 2);
    const tools = [leaving(ran, "owner")];
    const owner = await openKit([[{ call: "pay", id: "p" }], "done"], { store: side, clock, tools });
    const run = owner.session.run("go");
    await stands();
    await clock.advance(ttl);
    side.thaw();
    expect(await run.result).toMatchObject({ status: "completed", text: "done" });
    expect(ran).toEqual(["owner"]);
    expect(calls.renew).toBe(1);
  });
});

describe("a process that does not stand still", () => {
  it("makes no renewal for its appends", async () => {
    const { clock, store } = world();
    const ran: string[] = [];
    const { side, calls } = still(store, () => false);
    const tools = [leaving(ran, "owner")];
    const owner = await openKit([[{ call: "pay", id: "p" }], "done"], { store: side, clock, tools });
    const run = owner.session.run("go");
    await owner.session.steer("hurry");
    expect(await run.result).toMatchObject({ status: "completed" });
    expect(calls.renew).toBe(0);
  });

  it("makes one renewal for an answer that it cannot place, also when no append has proved the lease for long", async () => {
    const { clock, store } = world();
    const { side, calls } = still(store, () => false);
    const end = gate();
    const long = toolOf("long", () => end.opened);
    const owner = await openKit([[{ call: "long", id: "l" }], "done"], { store: side, clock, tools: [long] });
    const run = owner.session.run("go");
    await clock.advance(3 * ttl);
    const { renew } = calls;
    expect(renew).toBeGreaterThan(0);
    await expect(owner.session.answer("nobody asked", respond("ann"))).rejects.toMatchObject({
      code: "ANSWER_UNKNOWN",
    });
    expect(calls.renew).toBe(renew + 1);
    end.open();
    expect(await run.result).toMatchObject({ status: "completed" });
  });
});
