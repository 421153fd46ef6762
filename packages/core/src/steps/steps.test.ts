import {
  eachStore,
  factsOf,
  gate,
  type Kit,
  openKit,
  settle,
  stepsOf,
  toolOf,
  toolResult,
  unhandled,
  until,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { belayError } from "../error.ts";
import {
  approve,
  BelayError,
  createRunner,
  defineAgent,
  humanApproval,
  humanInput,
  reject,
  respond,
  type Store,
  type ToolContext,
} from "../index.ts";

const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
  messages.some(({ role }) => role === "tool") ? "done" : ([{ call: "work", id: "w" }] as const);

const open = (store: Store, execute: (ctx: ToolContext) => unknown, maxBytes?: number) =>
  openKit(script, { store, tools: [toolOf("work", execute)], runner: { maxBytes } });

/** Runs to the pause, then begins again in another process with the answers "yes". */
async function replayed(store: Store, execute: (ctx: ToolContext) => unknown, maxBytes?: number): Promise<Kit> {
  const first = await open(store, execute, maxBytes);
  expect((await first.session.run("go").result).status).toBe("interrupted");
  const second = await open(store, execute, maxBytes);
  for (let rounds = 0; rounds < 10 && second.session.state === "paused"; rounds++) {
    const answers = Object.fromEntries(
      second.session.interrupts.map(({ id, kind }) => [id, kind === "approval" ? approve() : respond("yes")]),
    );
    await second.session.resume({ answers }).result;
  }
  return second;
}

const gave = async (store: Store) => toolResult(await factsOf(store), "w");

describe.each(eachStore)("ctx.step and ctx.ask, on $name", ({ make }) => {
  test("Q2: what fails before the code waits for it ends no process, live or replayed; the code meets it when it waits", async () => {
    const store = await make();
    const fails = async (ctx: ToolContext) => {
      const first = ctx.ask(humanInput("first?"), { key: "first" });
      const second = ctx.ask(humanInput("second?"), { key: "second" });
      const third = ctx.step("third", () => Promise.reject(new Error("it broke")));
      void ctx.step("fourth", () => Promise.reject(new Error("nobody waits for it")));
      const met = [await first];
      for (const one of [second, third]) met.push(await one.catch((error: Error) => error.message));
      return met;
    };
    const seen = await unhandled(async () => {
      const kit = await open(store, fails);
      await kit.session.run("go").result;
      const [first, second] = kit.session.interrupts;
      await kit.session.answer(second!.id, reject("not now"));
      await settle();
      const other = await open(store, fails);
      await other.session.resume({ answers: { [first!.id]: respond("yes") } }).result;
    });
    expect(seen).toEqual([]);
    expect(await gave(store)).toMatchObject(["yes", expect.stringContaining("not now"), "it broke"]);
  });

  test("Q2: a value is JSON, the same live and replayed; undefined is null", async () => {
    const store = await make();
    const values: unknown[] = [];
    await replayed(store, async (ctx) => {
      const a = await ctx.step("a", () => undefined);
      const b = await ctx.step("b", async () => ({ n: 1, none: undefined, list: [1, "two"] }));
      values.push([a, b]);
      await ctx.ask(humanInput("On?"));
    });
    expect(values).toEqual([
      [null, { n: 1, list: [1, "two"] }],
      [null, { n: 1, list: [1, "two"] }],
    ]);
    expect("none" in (values[0] as [null, object])[1]).toBe(false);
  });

  test("Q2: the error of a step is thrown again on replay, the same as live, and never computed again", async () => {
    const store = await make();
    let computed = 0;
    const caught: unknown[] = [];
    const throwing = [
      () => {
        throw new TypeError("no such thing");
      },
      () => Promise.reject(Object.assign(new Error("gone"), { code: "ENOENT" })),
      () => Promise.reject("just words"),
      () => {
        throw belayError("OPTION_INVALID", { option: "x", value: "1", needed: "text" });
      },
    ];
    await replayed(store, async (ctx) => {
      for (const [i, compute] of throwing.entries()) {
        try {
          await ctx.step(`step ${i}`, () => {
            computed += 1;
            return compute();
          });
        } catch (error) {
          const { name, message, code } = error as Error & { code?: string };
          caught.push({ name, message, code, ours: error instanceof BelayError });
        }
      }
      await ctx.ask(humanInput("On?"));
    });
    expect(computed).toBe(throwing.length);
    expect(caught.slice(4)).toEqual(caught.slice(0, 4));
    expect(caught.slice(0, 3)).toEqual([
      { name: "TypeError", message: "no such thing", code: undefined, ours: false },
      { name: "Error", message: "gone", code: "ENOENT", ours: false },
      { name: "Error", message: "just words", code: undefined, ours: false },
    ]);
    expect(caught[3]).toMatchObject({ code: "OPTION_INVALID", ours: true });
  });

  test("Q2: live, the original error is the cause of the error that the code gets", async () => {
    const store = await make();
    const original = new RangeError("too much");
    let cause: unknown;
    const kit = await open(store, async (ctx) => {
      await ctx.step("a", () => Promise.reject(original)).catch((error) => (cause = error.cause));
    });
    await kit.session.run("go").result;
    expect(cause).toBe(original);
  });

  test("Q2, F5: a value that cannot be stored is an error with the path, and the step is not computed again", async () => {
    const store = await make();
    let computed = 0;
    const caught: string[] = [];
    await replayed(store, async (ctx) => {
      await ctx
        .step("a", () => {
          computed += 1;
          return { when: new Map() };
        })
        .catch((error) => caught.push(`${error.code} ${error.message}`));
      await ctx.ask(humanInput("On?"));
    });
    expect(computed).toBe(1);
    expect(caught[0]).toMatch(/^NOT_SERIALIZABLE .*when/);
    expect(caught[1]).toBe(caught[0]);
  });

  test("P12, Q2: a value larger than maxBytes is TOO_LARGE, live and replayed, and the step is not computed again", async () => {
    const store = await make();
    let computed = 0;
    const caught: string[] = [];
    const message = "TOO_LARGE The value of step a takes 2002 bytes; at most 1000 are taken.";
    const kit = await replayed(
      store,
      async (ctx) => {
        const large = () => {
          computed += 1;
          return "x".repeat(2000);
        };
        await ctx.step("a", large).catch((error) => caught.push(`${error.code} ${error.message}`));
        await ctx.ask(humanInput("On?"));
        return "went on";
      },
      1000,
    );
    expect([computed, caught, await gave(store)]).toEqual([1, [message, message], "went on"]);
    expect(kit.session.state).toBe("completed");
  });

  test.each<[string, () => unknown, string]>([
    ["larger than maxBytes", () => "x".repeat(2000), "TOO_LARGE"],
    ["none that can be recorded", () => new Map(), "NOT_SERIALIZABLE"],
  ])(
    "P12, Q2: a value that is %s is the outcome of its step also if a stop came in the meantime: it was not cut off, and is not computed again",
    async (_, value, refusal) => {
      const store = await make();
      const [begun, ends] = [gate(), gate()];
      let charged = 0;
      const root = defineAgent({
        name: "root",
        async run(ctx) {
          const charge = async () => {
            charged += 1;
            begun.open();
            await ends.opened;
            return value();
          };
          const met = await ctx.step("charge", charge).catch((error) => error.code);
          return ctx.step("tell", () => met);
        },
      });
      const runner = createRunner({ agent: root, store, maxBytes: 1000 });
      const session = await runner.open("thread");
      const run = session.run("go");
      await begun.opened;
      const stopped = session.interrupt({ graceMs: 60_000 });
      ends.open();
      await stopped;
      expect((await run.result).status).toBe("interrupted");
      expect(await session.resume().result).toMatchObject({ status: "completed", output: refusal });
      expect([charged, stepsOf(await factsOf(store))]).toEqual([1, ["charge", "tell"]]);
    },
  );

  test("P12, Q2: of an error with an endless message, the beginning is recorded, with its name and its code", async () => {
    const store = await make();
    const caught: { name: string; code: unknown; message: string }[] = [];
    const endless = Object.assign(new RangeError("e".repeat(5_000_000)), { code: "ELONG" });
    await replayed(store, async (ctx) => {
      await ctx
        .step("a", () => Promise.reject(endless))
        .catch(({ name, code, message }) => caught.push({ name, code, message }));
      await ctx.ask(humanInput("On?"));
    });
    expect(caught[0]).toMatchObject({ name: "RangeError", code: "ELONG" });
    expect(caught[0]!.message).toMatch(/^e{16384}… \(5000000 characters\)$/);
    expect(caught[1]).toEqual(caught[0]);
  });

  test.each(["context", "extra"])(
    "P12: a request with a %s larger than maxBytes throws TOO_LARGE, and no request is raised",
    async (option) => {
      const store = await make();
      const caught: unknown[] = [];
      const execute = async (ctx: ToolContext) => {
        const large = humanApproval("May I?", { [option]: { text: "x".repeat(2000) } });
        await ctx.ask(large).catch((error) => caught.push(error.code));
        // The key that it would have had is free.
        return (await ctx.ask(humanApproval("May I do less?"))).approved;
      };
      const kit = await open(store, execute, 1000);
      expect((await kit.session.run("go").result).status).toBe("interrupted");
      expect(kit.session.interrupts.map(({ reason, key }) => [reason, key])).toEqual([["May I do less?", "ask#0"]]);
      const answers = { [kit.session.interrupts[0]!.id]: approve() };
      expect(await kit.session.resume({ answers }).result).toMatchObject({ status: "completed" });
      expect([caught, await gave(store)]).toEqual([["TOO_LARGE"], true]);
    },
  );

  test("Q2: a key twice is KEY_REUSED, for any use; an empty one is refused; nothing is computed", async () => {
    const store = await make();
    const codes: string[] = [];
    const note = (error: { code: string }) => codes.push(error.code);
    let computed = 0;
    const kit = await open(store, async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("a", () => ++computed).catch(note);
      await ctx.ask(humanInput("?"), { key: "a" }).catch(note);
      await ctx.step("", () => ++computed).catch(note);
      await ctx.step(7 as never, () => ++computed).catch(note);
    });
    expect((await kit.session.run("go").result).status).toBe("completed");
    expect(codes).toEqual(["KEY_REUSED", "KEY_REUSED", "OPTION_INVALID", "OPTION_INVALID"]);
    expect(computed).toBe(0);
    expect(stepsOf(await factsOf(store))).toEqual(["a"]);
  });

  test("Q2: asks are numbered in call order; a second one without a key while one is open is KEY_REQUIRED, also in the same tick and on replay", async () => {
    const store = await make();
    const codes: string[] = [];
    await replayed(store, async (ctx) => {
      const first = ctx.ask(humanInput("One?"));
      await ctx.ask(humanInput("Two?")).catch((error) => codes.push(`${error.code}: ${error.message}`));
      await ctx.step("between", () => 1);
      await ctx.ask(humanInput("Three?")).catch((error) => codes.push(error.code));
      await first;
      await ctx.ask(humanInput("Four?"));
      return "both";
    });
    expect(await gave(store)).toBe("both");
    const keys = (await factsOf(store)).flatMap((fact) =>
      fact.type === "action" && fact.action.interrupted?.key !== undefined
        ? [`${fact.action.interrupted?.key} ${fact.action.interrupted?.reason}`]
        : [],
    );
    expect(keys).toEqual(["ask#0 One?", "ask#1 Four?"]);
    expect(codes.length % 2).toBe(0);
    expect(codes[0]).toMatch(/^KEY_REQUIRED: .*ask#0/);
    for (const code of codes) expect(code).toMatch(/^KEY_REQUIRED/);
  });

  test("Q2: a request that cannot be answered is refused by ctx.ask", async () => {
    const store = await make();
    const codes: string[] = [];
    const kit = await open(store, async (ctx) => {
      await ctx.ask({ kind: "input", reason: "", options: {} }).catch((error) => codes.push(error.code));
      await ctx.ask(undefined as never).catch((error) => codes.push(error.code));
      return "ok";
    });
    expect((await kit.session.run("go").result).status).toBe("completed");
    expect(codes).toEqual(["REQUEST_INVALID", "REQUEST_INVALID"]);
  });

  test("Q2: a step cut off by a crash runs again with the same idempotency key", async () => {
    const store = await make();
    const keys: string[] = [];
    const execute = async (ctx: ToolContext) => {
      await ctx.step("first", ({ idempotencyKey }) => keys.push(`first ${idempotencyKey}`));
      const first = keys.length === 1;
      await ctx.step("second", ({ idempotencyKey }) => {
        keys.push(`second ${idempotencyKey}`, `call ${ctx.idempotencyKey}`);
        return first ? new Promise<never>(() => {}) : "done";
      });
      return "ok";
    };
    const openIt = () => openKit(script, { store, tools: [toolOf("work", execute, { repeatable: true })] });
    const first = await openIt();
    void first.session.run("go");
    await settle(20);
    expect(keys.length).toBe(3);
    const key = { tenant: "default", threadId: "thread" };
    await store.release(key, (await store.load(key))!.row.lease!.fence);
    const second = await openIt();
    expect((await second.session.resume().result).status).toBe("completed");
    expect(keys.slice(3)).toEqual(keys.slice(1, 3));
    expect(keys[1]).toBe(`second ${keys[2]!.slice(5)}/s:second`);
  });

  test("Q2: Promise.all and Promise.race over steps and asks replay to the same winner", async () => {
    const store = await make();
    const winners: string[] = [];
    const later = (rounds: number, value: string) => () => settle(rounds).then(() => value);
    await replayed(store, async (ctx) => {
      const first = await Promise.race([ctx.step("slow", later(9, "slow")), ctx.step("fast", later(1, "fast"))]);
      const both = await Promise.all([ctx.step("a", later(5, "a")), ctx.step("b", later(1, "b"))]);
      const third = await Promise.race([
        ctx.ask(humanInput("?"), { key: "q" }),
        ctx.step("quick", later(1, "quick")),
        ctx.step("lame", later(20, "lame")),
      ]);
      await settle(30);
      winners.push([first, ...both, third].join(" "));
      await ctx.ask(humanInput("On?"), { key: "on" });
      return winners.at(-1);
    });
    expect(winners).toEqual(["fast a b quick", "fast a b quick"]);
  });

  test("Q2: a race that an answer won is won by it again, also against a step that was cut off", async () => {
    const store = await make();
    const winners: string[] = [];
    const execute = async (ctx: ToolContext) => {
      const step = ctx.step("endless", () => (winners.length === 0 ? new Promise<string>(() => {}) : "step"));
      const winner = await Promise.race([step, ctx.ask(humanInput("?"), { key: "q" })]);
      winners.push(winner);
      await ctx.ask(humanInput("On?"), { key: "on" });
      return winner;
    };
    const first = await open(store, execute);
    void first.session.run("go");
    await settle(10);
    await first.session.answer(first.session.interrupts[0]!.id, respond("answer"));
    await settle(10);
    expect(winners).toEqual(["answer"]);
    const key = { tenant: "default", threadId: "thread" };
    await store.release(key, (await store.load(key))!.row.lease!.fence);
    const second = await open(store, execute);
    const on = second.session.interrupts.find((request) => request.key === "on")!;
    expect((await second.session.resume({ answers: { [on.id]: respond("yes") } }).result).status).toBe("completed");
    expect(winners).toEqual(["answer", "answer"]);
    expect(await gave(store)).toBe("answer");
  });

  test("Q2: order is not compared: code that waits for something of its own between its steps replays", async () => {
    const store = await make();
    const execute = async (ctx: ToolContext) => {
      const slow = async () => {
        await new Promise((resolve) => setTimeout(resolve, 30));
        return ctx.step("slow", () => "slow");
      };
      const asking = async () => {
        const name = await ctx.ask(humanInput("?"), { key: "q" });
        return ctx.step("after", () => `after ${name}`);
      };
      return (await Promise.all([slow(), asking()])).join(", ");
    };
    const first = await open(store, execute);
    expect((await first.session.run("go").result).status).toBe("interrupted");
    await until(async () => stepsOf(await factsOf(store)).length === 1);
    // It has released the thread again.
    await until(async () => (await store.load({ tenant: "default", threadId: "thread" }))?.row.lease === undefined);
    const second = await open(store, execute);
    const [request] = second.session.interrupts;
    // On replay it reaches the new step long before the recorded one.
    const result = await second.session.resume({ answers: { [request!.id]: respond("yes") } }).result;
    expect(result.status).toBe("completed");
    expect(await gave(store)).toBe("slow, after yes");
    expect(stepsOf(await factsOf(store))).toEqual(["slow", "after"]);
  });
});
