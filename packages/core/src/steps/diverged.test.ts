import {
  eachStore,
  factProblems,
  factsOf,
  history,
  openKit,
  said,
  stepsOf,
  toolOf,
  toolResult,
  until,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { humanApproval, humanInput, respond, type Store, type ToolContext } from "../index.ts";

const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
  messages.some(({ role }) => role === "tool") ? "done" : ([{ call: "work", id: "w" }] as const);

type Code = (ctx: ToolContext, did: string[]) => Promise<unknown>;

const original: Code = async (ctx, did) => {
  await ctx.step("a", () => did.push("a"));
  const name = await ctx.ask(humanInput("Who?"), { key: "who" });
  await ctx.step("b", () => did.push("b"));
  return `hello ${name}`;
};

/** The action of the changed code, and the words of the error. */
const changes: readonly { readonly what: string; readonly code: Code; readonly says: RegExp }[] = [
  {
    what: "uses a key for another kind",
    code: async (ctx, did) => {
      await ctx.ask(humanInput("a?"), { key: "a" }).catch((error) => did.push(`caught ${error}`));
      did.push("went on");
    },
    says: /"a" for an ask, where a step/,
  },
  {
    what: "makes a step of what was an ask",
    code: async (ctx, did) => {
      await ctx.step("a", () => did.push("a"));
      await ctx.step("who", () => did.push("who")).catch((error) => did.push(`caught ${error}`));
      did.push("went on");
    },
    says: /"who" for a step, where an ask/,
  },
  {
    what: "asks another question under the same key",
    code: async (ctx, did) => {
      await ctx.step("a", () => did.push("a"));
      await ctx.ask(humanInput("Whose?"), { key: "who" });
      did.push("went on");
    },
    says: /"who" for an ask, where another ask/,
  },
  {
    what: "does something new where something else is on record",
    code: async (ctx, did) => {
      await ctx.step("new", () => did.push("new")).catch((error) => did.push(`caught ${error}`));
      did.push("went on");
    },
    says: /"new", where "a" is on record/,
  },
  {
    what: "asks something new where something else is on record",
    code: async (ctx, did) => {
      await ctx.step("a", () => did.push("a"));
      await ctx.ask(humanApproval("May I?"), { key: "may" });
      did.push("went on");
    },
    says: /"may", where "who" is on record/,
  },
  { what: "returns without what is on record", code: async () => "nothing", says: /ended without "a"/ },
  {
    what: "throws before what is on record",
    code: async () => {
      throw new Error("not today");
    },
    says: /ended without "a"/,
  },
];

const open = (store: Store, code: Code, did: string[]) =>
  openKit(script, { store, tools: [toolOf("work", (ctx) => code(ctx, did))] });

async function asked(store: Store): Promise<string> {
  const kit = await open(store, original, []);
  expect((await kit.session.run("go").result).status).toBe("interrupted");
  return kit.session.interrupts[0]!.id;
}

describe.each(eachStore)("changed code that begins again, on $name", ({ make }) => {
  test.each(changes)(
    "Q2: $what: REPLAY_DIVERGED before any effect; with the original code resume() continues",
    async ({ code, says }) => {
      const store = await make();
      const id = await asked(store);
      const did: string[] = [];
      const changed = await open(store, code, did);
      const failed = await changed.session.resume({ answers: { [id]: respond("ann") } }).result;
      expect(failed).toMatchObject({ status: "failed", error: { code: "REPLAY_DIVERGED" } });
      if (failed.status === "failed") expect(failed.error.message).toMatch(says);
      expect(did).toEqual([]);
      expect(changed.session.state).toBe("error");
      expect(stepsOf(await factsOf(store))).toEqual(["a"]);
      // It meets it again as long as the code is wrong.
      expect(await changed.session.resume().result).toMatchObject({
        status: "failed",
        error: { code: "REPLAY_DIVERGED" },
      });
      const right: string[] = [];
      const corrected = await open(store, original, right);
      expect((await corrected.session.resume().result).status).toBe("completed");
      const facts = await factsOf(store);
      expect(toolResult(facts, "w")).toBe("hello ann");
      expect(right).toEqual(["b"]);
      expect(factProblems(facts)).toEqual([]);
      expect(corrected.problems()).toEqual([]);
    },
  );

  test("Q2, S7: in a segment that only answers, the thread stays paused; resume() meets it, and continues with the original code", async () => {
    const store = await make();
    const id = await asked(store);
    const did: string[] = [];
    const changed = await open(store, changes[3]!.code, did);
    expect(await changed.session.answer(id, respond("ann"))).toEqual({ open: 0 });
    await until(async () => said(await factsOf(store)).some((line) => line === "tool-end w held"));
    expect(changed.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    expect(await changed.session.resume().result).toMatchObject({ error: { code: "REPLAY_DIVERGED" } });
    expect(did).toEqual([]);
    const corrected = await open(store, original, []);
    expect((await corrected.session.resume().result).status).toBe("completed");
    expect(toolResult(await factsOf(store), "w")).toBe("hello ann");
  });

  test("Q2, H1: the person resumes with input: the model reads that it may have taken effect", async () => {
    const store = await make();
    const id = await asked(store);
    const changed = await open(store, changes[3]!.code, []);
    await changed.session.resume({ answers: { [id]: respond("ann") } }).result;
    expect((await changed.session.resume({ input: "leave it" }).result).status).toBe("completed");
    expect(history(changed.session.messages)).toEqual([
      "user: go",
      "assistant: call w",
      "tool: w interrupted",
      "user: leave it",
      "assistant: done",
    ]);
    expect(changed.problems()).toEqual([]);
  });

  test("Q2: it diverges while it waits again: the siblings are not touched, and nothing of it is done", async () => {
    const store = await make();
    const did: string[] = [];
    const twice: Code = async (ctx) => {
      const first = ctx.ask(humanInput("One?"), { key: "one" });
      const second = ctx.ask(humanInput("Two?"), { key: "two" });
      return `${await first} ${await second}`;
    };
    const first = await open(store, twice, []);
    await first.session.run("go").result;
    const [one, two] = first.session.interrupts;
    const wrong: Code = async (ctx, did) => {
      const asked = ctx.ask(humanInput("One?"), { key: "one" });
      // It waits for a person, and only then goes another way.
      setTimeout(() => void ctx.step("x", () => did.push("x")), 20);
      return asked;
    };
    const second = await open(store, wrong, did);
    await second.session.answer(two!.id, respond("2"));
    await until(async () => said(await factsOf(store)).some((line) => line === "tool-end w held"));
    expect(did).toEqual([]);
    const right = await open(store, twice, []);
    expect((await right.session.resume({ answers: { [one!.id]: respond("1") } }).result).status).toBe("completed");
    expect(toolResult(await factsOf(store), "w")).toBe("1 2");
  });
});
