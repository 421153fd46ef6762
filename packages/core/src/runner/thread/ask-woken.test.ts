import {
  eachStore,
  factProblems,
  factsOf,
  gate,
  heldStore,
  type Kit,
  openKit,
  said,
  settle,
  stepsOf,
  toolOf,
  toolResult,
  until,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, humanApproval, humanInput, respond, type Store, type ToolContext } from "../../index.ts";

const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
  messages.some(({ role }) => role === "tool") ? "done" : ([{ call: "ask", id: "a" }] as const);

/** A tool that asks, and does `then` when the test says so, whether or not it was answered. */
function impatient(then: (ctx: ToolContext, did: string[]) => unknown) {
  const timer = gate();
  const did: string[] = [];
  const ask = toolOf("ask", (ctx) => {
    did.push("entered");
    ctx.signal.addEventListener("abort", () => did.push("aborted"));
    const answered = ctx.ask(humanInput("Who?"), { key: "who" }).then((name) => {
      did.push(`answered ${name}`);
      return `answered ${name}`;
    });
    return Promise.race([answered, timer.opened.then(() => then(ctx, did))]);
  });
  return { ask, did, timer };
}

const open = (store: Store, ask: ReturnType<typeof toolOf>) => openKit(script, { store, tools: [ask] });

async function paused(kit: Kit): Promise<string> {
  expect((await kit.session.run("go").result).status).toBe("interrupted");
  return kit.session.interrupts[0]!.id;
}

const ended = async (store: Store) => toolResult(await factsOf(store), "a");

/** Returns the facts since the pause, without the pause itself. */
async function since(store: Store, head: number): Promise<string[]> {
  const facts = await factsOf(store);
  expect(factProblems(facts)).toEqual([]);
  return said(facts.slice(head)).filter((line) => line !== "state paused tool_interrupt");
}

describe.each(eachStore)("code that does something while it waits for a person, on $name", ({ make }) => {
  test("Q1: its step is recorded, once, and it continues waiting; the answer reaches it", async () => {
    const store = await make();
    const asked = gate();
    const { ask, did, timer } = impatient(async (ctx, did) => {
      await ctx.step("reminder", () => did.push("reminded"));
      asked.open();
      return new Promise(() => {});
    });
    const kit = await open(store, ask);
    const id = await paused(kit);
    const head = (await factsOf(store)).length;
    timer.open();
    await asked.opened;
    await settle();
    expect(await since(store, head)).toEqual(["step reminder"]);
    expect((await store.load({ tenant: "default", threadId: "thread" }))?.row.lease).toBeUndefined();
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    expect(kit.session.interrupts.map((request) => request.id)).toEqual([id]);
    expect((await kit.session.resume({ answers: { [id]: respond("ann") } }).result).status).toBe("completed");
    expect(await ended(store)).toBe("answered ann");
    expect(did).toEqual(["entered", "reminded", "answered ann"]);
  });

  test("Q1: it returns: the result is recorded, the ask is withdrawn, and resume() calls the model once", async () => {
    const store = await make();
    const { ask, timer } = impatient(() => "nobody answered");
    const kit = await open(store, ask);
    const id = await paused(kit);
    const head = (await factsOf(store)).length;
    timer.open();
    await until(async () => (await ended(store)) !== undefined);
    await settle();
    expect(await since(store, head)).toEqual(["tool-end a ok", "answered withdraw by runtime"]);
    expect(kit.session.interrupts).toEqual([]);
    await expect(kit.session.answer(id, respond("ann"))).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "done" });
    expect(kit.requests.length).toBe(2);
    expect(await ended(store)).toBe("nobody answered");
  });

  test("Q1: it throws: the error is its result", async () => {
    const store = await make();
    const { ask, timer } = impatient(() => {
      throw new Error("tired of waiting");
    });
    const kit = await open(store, ask);
    await paused(kit);
    timer.open();
    await until(async () => (await ended(store)) !== undefined);
    expect(await ended(store)).toBe("tired of waiting");
    expect((await kit.session.resume().result).status).toBe("completed");
  });

  test("Q1, Q3: it asks again: both are open, and either can be answered", async () => {
    const store = await make();
    const { ask, timer, did } = impatient(async (ctx) => {
      const { approved } = await ctx.ask(humanApproval("Shall I guess?"), { key: "guess" });
      return `guessed ${approved}`;
    });
    const kit = await open(store, ask);
    await paused(kit);
    timer.open();
    await until(() => kit.session.interrupts.length === 2);
    await settle();
    const guess = kit.session.interrupts.find(({ key }) => key === "guess")!;
    expect((await kit.runner.inbox()).items.map(({ id }) => id)).toContain(guess.id);
    await kit.session.answer(guess.id, approve());
    await until(async () => (await ended(store)) !== undefined);
    expect(await ended(store)).toBe("guessed true");
    expect(did).toEqual(["entered"]);
    expect((await kit.session.resume().result).status).toBe("completed");
  });

  test("Q1: an answer races with it: both orders end once, by one of the two", async () => {
    for (let rounds = 0; rounds < 12; rounds++) {
      for (const first of ["timer", "answer"] as const) {
        const store = await make();
        const computed: string[] = [];
        const { ask, timer } = impatient(async (ctx) => {
          await ctx.step("reminder", () => computed.push("reminder"));
          return "timed out";
        });
        const kit = await open(store, ask);
        const id = await paused(kit);
        if (first === "timer") timer.open();
        else void kit.session.answer(id, respond("ann")).catch(() => {});
        await settle(rounds);
        if (first === "timer") await kit.session.answer(id, respond("ann")).catch(() => {});
        else timer.open();
        await until(async () => (await ended(store)) !== undefined);
        expect((await kit.session.resume().result).status).toBe("completed");
        const facts = await factsOf(store);
        expect(factProblems(facts)).toEqual([]);
        expect(facts.filter(({ type }) => type === "tool-end").length).toBe(1);
        // If the answer won, the work of the timer comes after the end of the call, and belongs to no call.
        const given = await ended(store);
        expect(["answered ann", "timed out"]).toContain(given);
        expect(computed.length).toBeLessThanOrEqual(1);
        if (given === "timed out") expect(stepsOf(facts)).toEqual(["reminder"]);
        expect(kit.problems()).toEqual([]);
      }
    }
  });

  test("Q1: resume() races with it: it is taken along, or done before", async () => {
    for (let rounds = 0; rounds < 12; rounds++) {
      const store = await make();
      const { ask, timer } = impatient(async (ctx) => ctx.step("reminder", () => "timed out"));
      const kit = await open(store, ask);
      await paused(kit);
      timer.open();
      await settle(rounds);
      const result = await kit.session.resume().result;
      if (result.status !== "completed") {
        await until(async () => (await ended(store)) !== undefined);
        expect((await kit.session.resume().result).status).toBe("completed");
      }
      expect(await ended(store)).toBe("timed out");
      expect(factProblems(await factsOf(store))).toEqual([]);
    }
  });

  test("Q1: another process took the thread meanwhile: nothing is computed and nothing written here", async () => {
    const store = await make();
    const here = impatient((ctx, did) => ctx.step("reminder", () => did.push("reminded here")));
    const kit = await open(store, here.ask);
    const id = await paused(kit);
    const there = impatient(() => "late");
    const other = await open(store, there.ask);
    await other.session.answer(id, respond("bob"));
    here.timer.open();
    expect((await other.session.resume().result).status).toBe("completed");
    const head = (await factsOf(store)).length;
    await settle(20);
    expect(here.did).toEqual(["entered", "aborted"]);
    expect((await factsOf(store)).length).toBe(head);
    expect(await ended(store)).toBe("answered bob");
  });

  test("Q1: another process has moved the thread, and no hint of it has come: the step is not computed here", async () => {
    const store = await make();
    const deaf: Store = { ...wrapped(store), watch: () => () => {} };
    const here = impatient((ctx, did) => ctx.step("reminder", () => did.push("reminded here")));
    const kit = await open(deaf, here.ask);
    const id = await paused(kit);
    const there = impatient(() => "late");
    const other = await open(store, there.ask);
    // Paused again, in another segment: the head is not the one that the code here waits at.
    expect((await other.session.resume().result).status).toBe("interrupted");
    const head = (await factsOf(store)).length;
    here.timer.open();
    await settle(20);
    expect(here.did).toEqual(["entered", "aborted"]);
    expect((await factsOf(store)).length).toBe(head);
    await other.session.answer(id, respond("bob"));
    expect((await other.session.resume().result).status).toBe("completed");
    expect(kit.session.state).toBe("paused");
  });

  test("Q1: it does something between its pause and the record of it: it is taken up right after", async () => {
    const inner = await make();
    const pause = gate();
    const store = heldStore(inner, { before: (_n, append) => (append.state === "paused" ? pause.opened : undefined) });
    const { ask, timer } = impatient((ctx) => ctx.step("reminder", () => "timed out"));
    const kit = await open(store, ask);
    const run = kit.session.run("go");
    await until(() => store.appends.some(({ state }) => state === "paused"));
    timer.open();
    await settle();
    expect(stepsOf(await factsOf(inner))).toEqual([]);
    pause.open();
    expect((await run.result).status).toBe("interrupted");
    await until(async () => (await ended(inner)) !== undefined);
    expect((await kit.session.resume().result).status).toBe("completed");
    expect(stepsOf(await factsOf(inner))).toEqual(["reminder"]);
  });
});

function wrapped(store: Store): Store {
  return heldStore(store, {});
}
