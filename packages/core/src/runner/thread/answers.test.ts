import {
  eachStore,
  factsOf,
  happens,
  type Kit,
  listen,
  openKit,
  paying,
  pays,
  requestOf,
  said,
  waiting,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type Answer, approve, humanApproval, humanInput, jsonSchema, reject, respond, tool } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const START = Date.UTC(2026, 0, 1);

/** Says it in both ways: to the session, and with resume(). Nothing is written, and the request is as it was. */
async function refused(kit: Kit, id: string, answer: unknown, wanted: object): Promise<void> {
  const facts = await factsOf(kit.store);
  const open = kit.session.interrupts.map((interrupt) => interrupt.id);
  await expect(kit.session.answer(id, answer as Answer)).rejects.toMatchObject(wanted);
  await expect(kit.runner.answer(id, answer as Answer)).rejects.toMatchObject(wanted);
  const result = await (async () => kit.session.resume({ answers: { [id]: answer as Answer } }).result)().catch(
    (error) => ({ status: "failed", error }),
  );
  expect(result).toMatchObject({ status: "failed", error: wanted });
  expect(await factsOf(kit.store)).toEqual(facts);
  expect(kit.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
  expect(kit.session.interrupts.map((interrupt) => interrupt.id)).toEqual(open);
}

const invalid = (problem: string | RegExp) => ({
  code: "ANSWER_INVALID",
  message: expect.stringMatching(problem),
});

describe.each(eachStore)("answers ($name)", ({ make }) => {
  test("Q3: a turn that asks again after an answered one is recorded, and costs one model call", async () => {
    const { tools } = paying();
    const kit = await openKit([pays("p"), pays("q"), "done"], { store: await make(), tools });
    await kit.session.run("go").result;
    const answered = listen(kit.session.resume({ answers: { [requestOf(kit, "p").id]: approve({ by: "ann" }) } }));
    expect(said(await answered.all)).toEqual([
      "answered approve by ann",
      "state running continue",
      "turn-start 1",
      "tool-start p",
      "tool-end p ok",
      "turn-end 1",
      "turn-start 2",
      "message assistant: call q",
      "asks approval pay",
      "turn-end 2",
      "waits",
      "state paused tool_interrupt",
    ]);
    expect(kit.requests).toHaveLength(2);
  });

  test("Q6: unknown: a request that was never raised, and a value that is no id", async () => {
    const { tools, ran } = paying();
    const kit = await waiting(["a"], { store: await make(), tools });
    await refused(kit, "nonsense", approve(), {
      code: "ANSWER_UNKNOWN",
      message: "There is no request nonsense.",
    });
    for (const of of [kit.runner, kit.session]) {
      await expect(of.answer(7 as never, approve())).rejects.toMatchObject({ code: "OPTION_INVALID" });
    }
    await kit.session.answer(requestOf(kit, "a").id, approve());
    await happens(ran, "pay 1");
  });

  test("Q6: taken: it names the person, the time and the decision, also for an old turn and in a new process", async () => {
    const clock = fakeClock(START);
    const { tools, ran } = paying();
    const store = await make();
    const kit = await openKit([pays("p"), pays("q", "r"), "done"], { store, tools, clock });
    await kit.session.run("go").result;
    const first = requestOf(kit, "p").id;
    await kit.session.resume({ answers: { [first]: reject("no", { by: "ann" }) } }).result;
    const taken = (how: string, id: string) => ({
      code: "ANSWER_TAKEN",
      message: `Request ${id} was already ${how} by ann at 2026-01-01T00:00:00.000Z.`,
    });
    await refused(kit, first, approve({ by: "bob" }), taken("rejected", first));
    const second = requestOf(kit, "q").id;
    await kit.session.answer(second, approve({ by: "ann" }));
    await happens(ran, "pay 1");
    const other = await openKit([], { store, tools, clock });
    await refused(other, first, approve({ by: "bob" }), taken("rejected", first));
    await refused(other, second, reject("no", { by: "bob" }), taken("approved", second));
    expect(other.session.interrupts.map(({ callId }) => callId)).toEqual(["r"]);
  });

  test("Q6: invalid: in the words of the tool's schema, for edited arguments", async () => {
    const { tools, ran } = paying();
    const kit = await waiting(["a"], { store: await make(), tools });
    const { id } = requestOf(kit, "a");
    await refused(kit, id, approve({ args: { n: "many" } }), invalid(/n.*integer/));
    await refused(kit, id, approve({ args: { n: 1, and: 2 } }), invalid(/and/));
    await refused(kit, id, approve({ args: [1] }), invalid("arguments are a JSON object"));
    await refused(kit, id, approve({ args: null }), invalid("arguments are a JSON object"));
    expect(ran).toEqual([]);
    await kit.session.answer(id, approve({ args: { n: 5 } }));
    await happens(ran, "pay 5");
  });

  test("Q6: invalid: a value that was not made by approve(), reject() or respond(), has unknown fields, or inherits its own", async () => {
    const { tools, ran } = paying();
    const kit = await waiting(["a"], { store: await make(), tools });
    const { id } = requestOf(kit, "a");
    const notMade = "it was not made by approve\\(\\), reject\\(\\) or respond\\(\\)";
    await refused(kit, id, undefined, invalid("it is no answer at all"));
    await refused(kit, id, true, invalid("it is no answer at all"));
    await refused(kit, id, [approve()], invalid("it is no answer at all"));
    await refused(kit, id, {}, invalid(notMade));
    await refused(kit, id, { approved: true }, invalid(notMade));
    await refused(kit, id, { type: "constructor" }, invalid(notMade));
    await refused(kit, id, JSON.parse('{"__proto__":{"approved":true}}'), invalid("__proto__"));
    await refused(kit, id, JSON.parse('{"__proto__":{"type":"approve"}}'), invalid("__proto__"));
    await refused(kit, id, JSON.parse('{"type":"approve","args":{"__proto__":{"n":1}}}'), invalid("__proto__"));
    await refused(kit, id, Object.create({ type: "approve" }), invalid(/Object/));
    await refused(kit, id, Object.assign(Object.create(null), { typ: "approve" }), invalid(notMade));
    await refused(kit, id, { type: "approve", approved: true }, invalid('approve has no field "approved"'));
    await refused(kit, id, { type: "approve", reason: "so" }, invalid('approve has no field "reason"'));
    await refused(kit, id, { type: "reject", reason: "so", args: {} }, invalid('reject has no field "args"'));
    await refused(kit, id, { type: "reject" }, invalid("a rejection needs a reason"));
    await refused(kit, id, { type: "respond" }, invalid("a response needs a value"));
    await refused(kit, id, { type: "approve", by: 7 }, invalid("its by is not text"));
    await refused(kit, id, { type: "approve", by: "" }, invalid("its by is empty"));
    await refused(kit, id, { type: "approve", note: () => {} }, invalid("a function at note"));
    for (const remember of ["ever", null, 7, [], {}, { scope: "ever" }, { scope: "thread", tool: "*" }]) {
      await refused(kit, id, { type: "approve", remember }, invalid("remember"));
    }
    for (const args of [null, [], "x", { "a..b": 1 }, { "constructor.name": 1 }, { n: undefined }]) {
      await refused(kit, id, { type: "approve", remember: { scope: "always", args } }, invalid("remember"));
    }
    expect([ran, await kit.runner.rules()]).toEqual([[], []]);
    await kit.session.answer(id, { type: "approve" });
    await happens(ran, "pay 1");
  });

  test("Q6: invalid: the kind of answer that its kind of request does not take", async () => {
    const name = jsonSchema<string>({ type: "string", minLength: 2 });
    const ask = tool({
      name: "ask",
      description: "",
      input: jsonSchema({ type: "object" }),
      execute: async (_args, ctx) => {
        const [who, may] = await Promise.all([
          ctx.ask(humanInput("Who?", { schema: name }), { key: "who" }),
          ctx.ask(humanApproval("May I?"), { key: "may" }),
        ]);
        return `${who} ${may.approved}`;
      },
    });
    const kit = await openKit([[{ call: "ask", id: "a" }], "done"], { store: await make(), tools: [ask] });
    await kit.session.run("go").result;
    const [who, may] = kit.session.interrupts.map(({ id }) => id) as [string, string];
    await refused(kit, who, approve(), invalid("a question takes respond\\(\\) or reject\\(\\)"));
    await refused(kit, who, respond("x"), invalid(/2/));
    await refused(kit, who, respond(7), invalid(/string/));
    await refused(kit, may, respond("yes"), invalid("an approval takes approve\\(\\) or reject\\(\\)"));
    await refused(kit, may, approve({ remember: "always" }), invalid("only the approval of a call can be remembered"));
    const answers = { [who]: respond("Bob"), [may]: approve() };
    expect(await kit.session.resume({ answers }).result).toMatchObject({ status: "completed" });
    expect(JSON.stringify(kit.session.messages)).toContain("Bob true");
  });

  test("Q6, Q7: forbidden: a person that is not among the approvers, by id or by group, and one without a name", async () => {
    const { tools, ran } = paying({
      needsApproval: () => humanApproval("Pay?", { approvers: ["ann", "group:bosses", "group:nobody"] }),
    });
    const options = { store: await make(), tools, runner: { groups: { bosses: ["bob"] } } };
    const kit = await waiting(["a", "b"], options);
    const { id } = requestOf(kit, "a");
    for (const by of [undefined, "cat", "group:bosses", "bosses", "toString", "constructor"]) {
      for (const answer of [approve(), reject("no"), respond("paid")]) {
        await refused(kit, id, by === undefined ? answer : { ...answer, by }, {
          code: "ANSWER_FORBIDDEN",
          message: `Request ${id} cannot be answered by ${by ?? "user"}; it waits for ann, group:bosses, group:nobody.`,
        });
      }
    }
    expect(ran).toEqual([]);
    await kit.session.answer(id, approve({ by: "bob" }));
    await kit.session.answer(requestOf(kit, "b").id, approve({ by: "ann" }));
    await happens(ran, "pay 1", "pay 2");
  });

  test("section 6: answers given with resume() that name no person are by the caller of resume()", async () => {
    const { tools, ran } = paying({ needsApproval: () => humanApproval("Pay?", { approvers: ["ann"] }) });
    const kit = await waiting(["a"], { store: await make(), tools });
    const answers = { [requestOf(kit, "a").id]: approve() };
    expect(await kit.session.resume({ answers, by: "bob" }).result).toMatchObject({
      status: "failed",
      error: { code: "ANSWER_FORBIDDEN" },
    });
    expect(await kit.session.resume({ answers, by: "ann" }).result).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["pay 1"]);
  });

  test("section 6: one answer of several that does not count: none does", async () => {
    const { tools, ran } = paying();
    const kit = await waiting(["a", "b"], { store: await make(), tools });
    const facts = await factsOf(kit.store);
    const answers = {
      [requestOf(kit, "a").id]: approve(),
      [requestOf(kit, "b").id]: approve({ args: { n: "many" } }),
    };
    expect(await kit.session.resume({ answers }).result).toMatchObject({
      status: "failed",
      error: { code: "ANSWER_INVALID" },
    });
    expect(await factsOf(kit.store)).toEqual(facts);
    expect([ran, kit.session.interrupts.length]).toEqual([[], 2]);
  });

  test("section 9: an answer given twice under one id is given once, wherever; another id is another answer", async () => {
    const { tools, ran } = paying();
    const store = await make();
    const kit = await waiting(["a", "b"], { store, tools });
    const { id } = requestOf(kit, "a");
    expect(await kit.session.answer(id, approve(), { id: "mine" })).toEqual({ open: 1 });
    expect(await kit.session.answer(id, approve(), { id: "mine" })).toEqual({ open: 1 });
    await happens(ran, "pay 1");
    const other = await openKit([], { store, tools });
    expect(await other.runner.answer(id, approve(), { id: "mine" })).toEqual({ open: 1 });
    await expect(other.runner.answer(id, approve(), { id: "yours" })).rejects.toMatchObject({ code: "ANSWER_TAKEN" });
    const { id: next } = requestOf(kit, "b");
    expect(await other.runner.answer(next, approve(), { id: "mine" })).toEqual({ open: 0 });
    await happens(ran, "pay 1", "pay 2");
    expect(ran).toHaveLength(2);
  });

  test("Q4: a response is the result of a call, which then does not run", async () => {
    const { tools, ran } = paying();
    const kit = await waiting(["a"], { store: await make(), tools });
    await kit.session.resume({ answers: { [requestOf(kit, "a").id]: respond({ paid: "by hand" }) } }).result;
    expect(ran).toEqual([]);
    expect(JSON.stringify(kit.requests[1]!.messages)).toContain('{"paid":"by hand"}');
    expect(kit.problems()).toEqual([]);
  });

  test("Q3: a session with an older state of the thread answers later requests", async () => {
    const { tools, ran } = paying();
    const store = await make();
    const kit = await openKit([pays("p"), pays("q"), "done"], { store, tools });
    await kit.session.run("go").result;
    const old = await openKit(["done"], { store, tools });
    expect(old.session.interrupts.map(({ callId }) => callId)).toEqual(["p"]);
    await kit.session.resume({ answers: { [requestOf(kit, "p").id]: approve() } }).result;
    const { id } = requestOf(kit, "q");
    const before = await factsOf(store);
    expect(await old.session.answer(id, approve())).toEqual({ open: 0 });
    await happens(ran, "pay 1");
    expect((await factsOf(store)).slice(before.length).map(({ segment }) => segment)).toEqual([2, 2, 2]);
    expect(await old.session.resume().result).toMatchObject({ status: "completed", segment: 3 });
  });
});
