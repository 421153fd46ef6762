import {
  eachStore,
  factsOf,
  happens,
  history,
  type Kit,
  listen,
  openKit,
  paying,
  pays,
  requestOf,
  said,
  threadOf,
  unpaired,
  waiting,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, type Handle, humanApproval, reject, type Store, type Tool } from "../../index.ts";
import { type FakeClock, fakeClock } from "../../testing/index.ts";

const START = Date.UTC(2026, 0, 1);

type Step = "approve" | "edit" | "reject" | "expire";
const steps: readonly Step[] = ["approve", "edit", "reject", "expire"];

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, i) => permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest]));
}

/** A call that is free and four that ask; the last of them asks only for a second. */
interface World {
  readonly clock: FakeClock;
  readonly store: Store;
  readonly tools: readonly Tool<unknown>[];
  readonly ran: string[];
  readonly first: Kit;
  readonly handle: Handle;
}

async function world(store: Store): Promise<World> {
  const clock = fakeClock(START);
  const { tools, ran } = paying({
    needsApproval: ({ n }) => (n === 4 ? humanApproval("soon", { expiresAt: START + 1000 }) : true),
  });
  const turn = [{ call: "look", id: "f", args: { n: 0 } }, ...pays("approve", "edit", "reject", "expire")];
  const first = await openKit([turn], { store, clock, tools });
  const result = await first.session.run("go").result;
  if (result.status !== "interrupted") throw new Error(result.status);
  expect(result).toMatchObject({ interruptType: "tool_interrupt", handle: { interruptType: "tool_interrupt" } });
  expect(result.interrupts.map(({ callId }) => callId)).toEqual(steps);
  return { clock, store, tools, ran, first, handle: result.handle };
}

const answers = {
  approve: approve({ by: "ann" }),
  edit: approve({ args: { n: 20 }, by: "bob" }),
  reject: reject("too expensive", { by: "cat" }),
};
const effects = { approve: "pay 1", edit: "pay 20" };

/** Answers one of them in a process of its own. */
async function take({ clock, store, tools, ran, first }: World, step: Step, open: number): Promise<void> {
  if (step === "expire") return clock.advance(2000);
  const { id } = requestOf(first, step);
  const kit = await openKit([], { store, clock, tools });
  expect(await kit.runner.answer(id, answers[step])).toEqual({ open });
  if (step !== "reject") await happens(ran, effects[step]);
  expect(kit.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
  await kit.runner.close();
}

async function goOn(w: World, rest: readonly Step[], way: "resume" | "handle"): Promise<Kit> {
  if (rest.includes("expire")) await w.clock.advance(2000);
  const kit = await openKit(["done"], { store: w.store, clock: w.clock, tools: w.tools });
  const given = Object.fromEntries(
    rest.flatMap((step) => (step === "expire" ? [] : [[requestOf(w.first, step).id, answers[step]]])),
  );
  const run =
    way === "resume" ? kit.session.resume({ answers: given }) : await kit.runner.resume(w.handle, { answers: given });
  expect(await run.result).toMatchObject({ status: "completed", text: "done", segment: 2 });
  return kit;
}

describe.each(eachStore)("calls of one turn that wait for people ($name)", ({ make }) => {
  test.each(permutations(steps))(
    "Q3, Q4, Q7: %s, %s, %s, %s: each runs at once and at most once, the model is called once with all results",
    async (...order) => {
      for (const split of [0, 2, 4]) {
        for (const way of ["resume", "handle"] as const) {
          const w = await world(await make());
          const now = order.slice(0, split);
          for (const [i, step] of now.entries()) await take(w, step, 3 - i);
          const kit = await goOn(w, order.slice(split), way);
          expect(w.ran.toSorted()).toEqual(["look 0", "pay 1", "pay 20"]);
          expect(history(kit.session.messages)).toEqual([
            "user: go",
            "assistant: call f + call approve + call edit + call reject + call expire",
            "tool: f ok + approve ok + edit ok + reject rejected + expire rejected",
            "assistant: done",
          ]);
          expect(kit.requests).toHaveLength(1);
          const told = JSON.stringify(kit.requests[0]!.messages);
          for (const words of ["look done", "too expensive", "nobody approved it in time", "n is now 20"]) {
            expect(told.split(words)).toHaveLength(2);
          }
          expect(kit.problems()).toEqual([]);
          const facts = await factsOf(w.store);
          // A call that never ran has an end without a start.
          expect(unpaired(facts)).toEqual(
            unpaired(facts).filter((line) => /^tool-end of tool (reject|expire)$/.test(line)),
          );
          expect(facts.filter(({ type }) => type === "request-answered")).toHaveLength(4);
          expect((await kit.runner.inbox()).items).toEqual([]);
        }
      }
    },
  );

  test("Q3: an answered call runs before resume(), in the process that answers; the thread stays paused", async () => {
    const { tools, ran } = paying();
    const store = await make();
    const kit = await waiting(["a", "b"], { store, tools });
    const other = await openKit(["done"], { store, tools });
    const heard = listen(other.session.events({ after: (await factsOf(store)).length }));
    expect(await other.session.answer(requestOf(other, "b").id, approve({ by: "ann" }))).toEqual({ open: 1 });
    await heard.until(({ type }) => type === "turn-end");
    expect(ran).toEqual(["pay 2"]);
    expect(other.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    expect(other.session.interrupts.map(({ callId }) => callId)).toEqual(["a"]);
    expect(await other.session.answer(requestOf(other, "a").id, reject("no", { by: "bob" }))).toEqual({ open: 0 });
    await other.session.resume().result;
    await heard.until((event) => event.type === "state" && event.state === "completed");
    expect(said(heard.events)).toEqual([
      "answered approve by ann",
      "turn-start 1",
      "tool-start b",
      "tool-end b ok",
      "turn-end 1",
      "answered reject by bob",
      "turn-start 1",
      "tool-end a rejected",
      "turn-end 1",
      "state running continue",
      "turn-start 2",
      "text done",
      "message assistant: done",
      "turn-end 2",
      "run-end completed",
      "state completed",
    ]);
    expect(other.requests).toHaveLength(1);
    expect(kit.session.state).toBe("paused");
    await threadOf(kit.session).refresh();
    expect(kit.session.state).toBe("completed");
  });

  test("Q3: resume() with requests still open runs the answered calls and ends interrupted again, with a new handle", async () => {
    const { tools, ran } = paying();
    const kit = await waiting(["a", "b"], { store: await make(), tools });
    const before = await kit.session.handle();
    const answered = listen(kit.session.resume({ answers: { [requestOf(kit, "a").id]: approve() } }));
    expect(said(await answered.all)).toEqual([
      "answered approve by user",
      "state running continue",
      "turn-start 1",
      "tool-start a",
      "tool-end a ok",
      "turn-end 1",
      "waits",
      "state paused tool_interrupt",
    ]);
    const again = listen(kit.session.resume());
    expect(said(await again.all)).toEqual([
      "state running continue",
      "turn-start 1",
      "turn-end 1",
      "waits",
      "state paused tool_interrupt",
    ]);
    expect(ran).toEqual(["pay 1"]);
    expect(kit.requests).toHaveLength(1);
    await expect(kit.runner.resume(before)).rejects.toMatchObject({ code: "TOKEN_SPENT" });
    await kit.session.answer(requestOf(kit, "b").id, approve());
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", segment: 4 });
    expect(ran).toEqual(["pay 1", "pay 2"]);
  });

  test("R3: run(input) while requests are open is NEED_RESUME, and changes nothing", async () => {
    const { tools } = paying();
    const store = await make();
    const kit = await waiting(["a"], { store, tools });
    const facts = await factsOf(store);
    const caught = (() => {
      try {
        return kit.session.run("hello?");
      } catch (error) {
        return error;
      }
    })();
    expect(caught).toMatchObject({ code: "NEED_RESUME" });
    expect(await factsOf(store)).toEqual(facts);
    expect(kit.session.interrupts).toHaveLength(1);
  });

  test("Q4: history and events show the arguments of the model and those that ran", async () => {
    const { tools } = paying();
    const store = await make();
    const kit = await waiting(["a"], { store, tools });
    await kit.session.resume({ answers: { [requestOf(kit, "a").id]: approve({ args: { n: 7 } }) } }).result;
    const [call] = kit.session.messages[1]!.parts;
    expect(call).toMatchObject({ type: "call", id: "a", args: { n: 1 }, ranArgs: { n: 7 } });
    const start = (await factsOf(store)).find(({ type }) => type === "tool-start");
    expect(start).toMatchObject({ args: { n: 1 }, ranArgs: { n: 7 } });
    const reopened = await openKit([], { store, tools });
    expect(reopened.session.messages).toEqual(kit.session.messages);
  });

  test("Q3: an approved serial call runs at once, though later ones still wait; one after an open request waits", async () => {
    const { tools, ran } = paying({ serial: true });
    const kit = await waiting(["a", "b"], { store: await make(), tools });
    const [a, b] = [requestOf(kit, "a").id, requestOf(kit, "b").id];
    await kit.session.answer(a, approve());
    await happens(ran, "pay 1");
    await kit.session.answer(b, approve());
    await happens(ran, "pay 2");
    const other = await waiting(["a", "b"], { store: await make(), tools });
    await other.session.answer(requestOf(other, "b").id, approve());
    expect((await other.session.resume().result).status).toBe("interrupted");
    expect(ran).toEqual(["pay 1", "pay 2"]);
    await other.session.answer(requestOf(other, "a").id, approve());
    expect((await other.session.resume().result).status).toBe("completed");
    expect(ran).toEqual(["pay 1", "pay 2", "pay 1", "pay 2"]);
  });
});

test.each(eachStore)(
  "Q9 ($name): a request raised long after its call shows the call's arguments when the thread is opened again",
  async ({ make }) => {
    const store = await make();
    const { tools } = paying({ needsApproval: true });
    const first = await openKit([pays("one")], { store, tools });
    const run = first.session.run("go");
    await first.session.interrupt({ mode: "after-model" });
    await run.result;
    // The request is raised in another line than the message that has the arguments.
    await first.session.resume().result;
    const [asked] = first.session.interrupts;
    expect(asked?.args).toEqual({ n: 1 });
    await first.runner.close();
    const second = await openKit([], { store, tools });
    expect(second.session.interrupts).toEqual([asked]);
    await second.runner.close();
  },
);
