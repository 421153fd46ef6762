import { eachStore, factsOf, openKit, toolOf, toolResult, until } from "@belay/testkit";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type Approval,
  approve,
  customInterrupt,
  humanApproval,
  humanInput,
  type Json,
  jsonSchema,
  reject,
  respond,
  type Store,
  type ToolContext,
} from "../../index.ts";

const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
  messages.some(({ role }) => role === "tool") ? "done" : ([{ call: "ask", id: "a" }] as const);

const open = (store: Store, execute: (ctx: ToolContext) => unknown, more = {}) =>
  openKit(script, { store, tools: [toolOf("ask", execute)], ...more });

describe("the value of ctx.ask", () => {
  test("has the type of the request: an approval, the schema's output, text, JSON", async () => {
    const typed = async (ctx: ToolContext) => {
      expectTypeOf(await ctx.ask(humanApproval("?"))).toEqualTypeOf<Approval>();
      expectTypeOf(await ctx.ask(humanInput("?"))).toEqualTypeOf<string>();
      expectTypeOf(await ctx.ask(humanInput("?", { schema: z.object({ n: z.number() }) }))).toEqualTypeOf<{
        n: number;
      }>();
      const asNumber = z.string().transform((text) => text.length);
      expectTypeOf(await ctx.ask(humanInput("?", { schema: asNumber }))).toEqualTypeOf<number>();
      const listed = jsonSchema<readonly string[]>({ type: "array" });
      expectTypeOf(await ctx.ask(customInterrupt("?", { schema: listed }), { key: "k" })).toEqualTypeOf<
        readonly string[]
      >();
      expectTypeOf(await ctx.ask(customInterrupt("?"))).toEqualTypeOf<Json>();
      expectTypeOf(await ctx.step("s", () => 1)).toEqualTypeOf<number>();
      expectTypeOf(await ctx.step("s", async ({ signal }) => signal.aborted)).toEqualTypeOf<boolean>();
      expectTypeOf<Approval>().toEqualTypeOf<{
        readonly approved: boolean;
        readonly by: string;
        readonly at: number;
        readonly note?: string;
        readonly args?: Json;
      }>();
    };
    expect(typed).toBeTypeOf("function");
  });

  test.each(eachStore)(
    "Q4: an approval with its note and its arguments, a rejection with its reason, on $name",
    async ({ make }) => {
      for (const [answer, given] of [
        [approve(), { approved: true, by: "user" }],
        [
          approve({ by: "ann", note: "fine", args: { n: 1 } }),
          { approved: true, by: "ann", note: "fine", args: { n: 1 } },
        ],
        [reject("too dear", { by: "bob" }), { approved: false, by: "bob", note: "too dear" }],
      ] as const) {
        const kit = await open(await make(), (ctx) => ctx.ask(humanApproval("?")));
        await kit.session.run("go").result;
        await kit.session.answer(kit.session.interrupts[0]!.id, answer);
        await kit.session.resume().result;
        expect(toolResult(await factsOf(kit.store), "a")).toEqual({ at: expect.any(Number), ...given });
      }
    },
  );

  test.each(eachStore)(
    "Q7: a rejected question throws REQUEST_REJECTED, hot and replayed, on $name",
    async ({ make }) => {
      for (const where of ["hot", "cold"] as const) {
        const store = await make();
        const execute = (ctx: ToolContext) =>
          ctx.ask(humanInput("?")).catch((error) => `${error.code}: ${error.message.includes("no idea")}`);
        const first = await open(store, execute);
        await first.session.run("go").result;
        const kit = where === "hot" ? first : await open(store, execute);
        await kit.session.answer(kit.session.interrupts[0]!.id, reject("no idea"));
        await kit.session.resume().result;
        expect(toolResult(await factsOf(store), "a"), where).toBe("REQUEST_REJECTED: true");
      }
    },
  );

  test.each(eachStore)(
    "Q9: unattended, an approval is not given and a question throws; the run does not pause, on $name",
    async ({ make }) => {
      const kit = await open(
        await make(),
        async (ctx) => {
          const { approved, by } = await ctx.ask(humanApproval("?"));
          const question = await ctx.ask(humanInput("?")).catch((error) => error.code);
          return `${approved} ${by} ${question}`;
        },
        { runner: { unattended: true } },
      );
      expect((await kit.session.run("go").result).status).toBe("completed");
      expect(toolResult(await factsOf(kit.store), "a")).toBe("false runtime REQUEST_REJECTED");
      expect((await kit.runner.inbox()).items).toEqual([]);
    },
  );
});

describe.each(eachStore)("a question with a schema of the code's own, on $name", ({ make }) => {
  // JSON Schema cannot express an even number, and has no transform.
  const even = z
    .object({ n: z.number().refine(async (n) => n % 2 === 0, "must be even") })
    .transform(({ n }) => n * 10);
  const execute = async (ctx: ToolContext) => `got ${await ctx.ask(humanInput("An even number?", { schema: even }))}`;

  test("Q6: while the code is hot an answer that only its schema refuses is refused before it is consumed; a transform reaches the code", async () => {
    for (const way of ["answer", "resume"] as const) {
      const kit = await open(await make(), execute);
      await kit.session.run("go").result;
      const [request] = kit.session.interrupts;
      for (const wrong of [respond({ n: 3 }), respond({ n: "2" }), respond("2")]) {
        if (way === "answer") {
          await expect(kit.session.answer(request!.id, wrong)).rejects.toMatchObject({ code: "ANSWER_INVALID" });
        } else {
          const failed = await kit.session.resume({ answers: { [request!.id]: wrong } }).result;
          expect(failed).toMatchObject({ status: "failed", error: { code: "ANSWER_INVALID" } });
        }
        expect(kit.session.interrupts.map(({ id }) => id)).toEqual([request!.id]);
      }
      if (way === "answer") await kit.session.answer(request!.id, respond({ n: 4 }));
      const answers = way === "resume" ? { answers: { [request!.id]: respond({ n: 4 }) } } : {};
      expect((await kit.session.resume(answers).result).status).toBe("completed");
      expect(toolResult(await factsOf(kit.store), "a")).toBe("got 40");
    }
  });

  test("Q6: while the run continues, too", async () => {
    let release = () => {};
    const slow = new Promise<void>((resolve) => (release = resolve));
    const kit = await open(await make(), async (ctx) => {
      const asked = execute(ctx);
      await ctx.step("slow", () => slow);
      return asked;
    });
    const run = kit.session.run("go");
    await until(() => kit.session.interrupts.length === 1);
    const [request] = kit.session.interrupts;
    await expect(kit.session.answer(request!.id, respond({ n: 3 }))).rejects.toMatchObject({ code: "ANSWER_INVALID" });
    await kit.session.answer(request!.id, respond({ n: 2 }));
    release();
    expect((await run.result).status).toBe("completed");
    expect(toolResult(await factsOf(kit.store), "a")).toBe("got 20");
  });

  test("Q7: in another process its JSON Schema judges; a value that only the code can refuse is an error to the code", async () => {
    const store = await make();
    await (await open(store, execute)).session.run("go").result;
    const kit = await open(store, execute);
    const [request] = kit.session.interrupts;
    await expect(kit.session.answer(request!.id, respond({ n: "2" }))).rejects.toMatchObject({
      code: "ANSWER_INVALID",
    });
    await kit.session.answer(request!.id, respond({ n: 3 }));
    await kit.session.resume().result;
    expect(toolResult(await factsOf(store), "a")).toMatch(/must be even/);
  });

  test("Q6: an async schema that takes its time does not make the call look parked", async () => {
    const patient = z.string().refine(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return true;
    });
    const kit = await open(await make(), async (ctx) => {
      void ctx.ask(humanInput("never answered"), { key: "other" });
      return ctx.ask(humanInput("?", { schema: patient }), { key: "one" });
    });
    await kit.session.run("go").result;
    const one = kit.session.interrupts.find((request) => request.key === "one")!;
    const result = await kit.session.resume({ answers: { [one.id]: respond("yes") } }).result;
    expect(result.status).toBe("completed");
    expect(toolResult(await factsOf(kit.store), "a")).toBe("yes");
  });
});
