import { eachStore, factsOf } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  approve,
  createRunner,
  END,
  graph,
  humanApproval,
  humanInput,
  type Json,
  memoryStore,
  type RunnerOptions,
  reject,
  START,
  type Store,
} from "../index.ts";
import { fakeClock } from "../testing/index.ts";

type Options = Partial<RunnerOptions<unknown, unknown>>;

const open = (root: Agent<unknown, never>, store: Store, more: Options = {}) => {
  const runner = createRunner({ agent: root as Agent<unknown, unknown>, store, ...more } as RunnerOptions<
    unknown,
    unknown
  >);
  return runner.open("t").then((session) => ({ runner, session }));
};

/** prepare → deploy → report, and undo if a person says no. */
function release(seen: unknown[], approveBefore: unknown) {
  return graph("release")
    .node("prepare", (input: Json) => ({ version: input }))
    .node("deploy", (input: Json, ctx) => {
      seen.push(["deploy", input, ctx.approval]);
      return `deployed ${JSON.stringify(input)}`;
    })
    .node("undo", (input: Json, ctx) => {
      seen.push(["undo", input, ctx.approval]);
      return "undone";
    })
    .edge(START, "prepare")
    .edge("prepare", "deploy")
    .edge("deploy", END)
    .edge("undo", END)
    .compile({ approveBefore: approveBefore as never });
}

const withUndo = { node: "deploy", request: humanApproval("Deploy it?"), onReject: "undo" };

/** The same without a node for rejections. */
function plain(seen: unknown[], approveBefore: unknown) {
  return graph("release")
    .node("prepare", (input: Json) => ({ version: input }))
    .node("deploy", (input: Json, ctx) => {
      seen.push(["deploy", input, ctx.approval]);
      return `deployed ${JSON.stringify(input)}`;
    })
    .edge(START, "prepare")
    .edge("prepare", "deploy")
    .edge("deploy", END)
    .compile({ approveBefore: approveBefore as never });
}

describe.each(eachStore)("a node that a person approves, on $name", ({ make }) => {
  test("O3: it is a request in the inbox; an approval in another process runs the node once, with the approver and the time", async () => {
    const store = await make();
    const seen: unknown[] = [];
    const first = await open(plain(seen, ["deploy"]), store);
    const result = await first.session.run("v1").result;
    expect(result).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
    expect(await first.session.checkpoint()).toMatchObject({
      beforeNodes: ["deploy"],
      inputs: { deploy: { version: "v1" } },
    });
    const [item] = (await first.runner.inbox()).items;
    expect(item).toMatchObject({
      kind: "approval",
      node: "deploy",
      by: "release",
      args: { version: "v1" },
      address: "release/deploy#0/approval",
      reason: "Run node deploy of release?",
    });
    await first.runner.close();

    // The process has ended in between: another one answers, and a third one resumes.
    const second = await open(plain(seen, ["deploy"]), store);
    expect(await second.runner.answer(item!.id, approve({ by: "ana", note: "fine" }))).toMatchObject({ open: 0 });
    expect(second.session.state).toBe("paused");
    expect(seen).toEqual([]);
    await second.runner.close();
    const third = await open(plain(seen, ["deploy"]), store);
    expect(await third.session.resume().result).toMatchObject({
      status: "completed",
      output: 'deployed {"version":"v1"}',
    });
    expect(seen).toEqual([
      ["deploy", { version: "v1" }, { approved: true, by: "ana", at: expect.any(Number), note: "fine" }],
    ]);
    await third.runner.close();
  });

  test("O3: two of three must approve, each on the same input; an edited input starts the count anew and is the one that runs", async () => {
    const store = await make();
    const seen: unknown[] = [];
    const request = humanApproval("Deploy it?", { approvers: ["ana", "bo", "cy"], quorum: 2 });
    const { runner, session } = await open(plain(seen, [{ node: "deploy", request }]), store);
    await session.run("v1").result;
    const [{ id } = { id: "" }] = (await runner.inbox()).items;
    await expect(runner.answer(id, approve({ by: "eve" }))).rejects.toMatchObject({ code: "ANSWER_FORBIDDEN" });
    expect(await runner.answer(id, approve({ by: "ana" }))).toMatchObject({ open: 1 });
    await expect(runner.answer(id, approve({ by: "ana" }))).rejects.toMatchObject({ code: "ANSWER_TAKEN" });
    expect(await runner.answer(id, approve({ by: "bo", args: { version: "v2" } }))).toMatchObject({ open: 1 });
    expect(await runner.answer(id, approve({ by: "cy", args: { version: "v2" } }))).toMatchObject({ open: 0 });
    expect(await session.resume().result).toMatchObject({ output: 'deployed {"version":"v2"}' });
    expect(seen).toEqual([
      ["deploy", { version: "v2" }, { approved: true, by: "cy", at: expect.any(Number), args: { version: "v2" } }],
    ]);
    await runner.close();
  });

  test("O3: a rejection goes to `onReject`, with the input, the person and the reason", async () => {
    const store = await make();
    const seen: unknown[] = [];
    const { runner, session } = await open(release(seen, [withUndo]), store);
    await session.run("v1").result;
    const [{ id } = { id: "" }] = (await runner.inbox()).items;
    await runner.answer(id, reject("not on a Friday", { by: "bo" }));
    expect(await session.resume().result).toMatchObject({ status: "completed", output: "undone" });
    expect(seen).toEqual([
      ["undo", { version: "v1" }, { approved: false, by: "bo", at: expect.any(Number), note: "not on a Friday" }],
    ]);
    await runner.close();
  });

  test("O3: a rejection without `onReject` leaves the thread paused, and fails the run when it is resumed", async () => {
    const store = await make();
    const { runner, session } = await open(plain([], ["deploy"]), store);
    await session.run("v1").result;
    const [{ id } = { id: "" }] = (await runner.inbox()).items;
    await runner.answer(id, reject("no", { by: "bo" }));
    expect(session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    const result = await session.resume().result;
    expect(result).toMatchObject({ status: "failed", error: { code: "REQUEST_REJECTED" } });
    expect(session.state).toBe("error");
    await runner.close();
  });

  test("O3: a stop withdraws the request; a continue asks anew", async () => {
    const store = await make();
    const seen: unknown[] = [];
    const { runner, session } = await open(plain(seen, ["deploy"]), store);
    await session.run("v1").result;
    const [{ id } = { id: "" }] = (await runner.inbox()).items;
    expect(await session.interrupt()).toMatchObject({ accepted: true });
    await expect(runner.answer(id, approve())).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
    expect(await session.resume().result).toMatchObject({ interruptType: "tool_interrupt" });
    const [again] = (await runner.inbox()).items;
    expect(again!.id).not.toBe(id);
    await runner.answer(again!.id, approve({ by: "ana" }));
    expect(await session.resume().result).toMatchObject({ status: "completed" });
    expect(seen).toHaveLength(1);
    await runner.close();
  });

  test("O3: in a loop each visit is asked for, and a fork asks anew", async () => {
    const store = await make();
    const g = graph<{ n: number }>("g")
      .node("add", (_input: Json, ctx) => {
        ctx.setState(({ n }) => ({ n: n + 1 }));
        return ctx.approval?.by ?? "nobody";
      })
      .edge(START, "add")
      .branch("add", (_output, { n }) => (n < 2 ? "add" : END), ["add", END])
      .compile({ state: { n: 0 }, approveBefore: ["add"] });
    const { runner, session } = await open(g, store);
    await session.run("go").result;
    const facts = await factsOf(store, "t");
    const fork = await runner.fork("t", { at: facts.length, as: "f" });
    for (const by of ["ana", "bo"]) {
      const [item] = (await runner.inbox({ threadId: "t" })).items;
      await runner.answer(item!.id, approve({ by }));
      const result = await session.resume().result;
      if (by === "bo") expect(result).toMatchObject({ status: "completed", output: "bo" });
      else expect(result).toMatchObject({ interruptType: "tool_interrupt" });
    }
    const [asked] = (await runner.inbox({ threadId: "f" })).items;
    await runner.answer(asked!.id, approve({ by: "cy" }));
    await fork.session.resume().result;
    expect((await runner.inbox({ threadId: "f" })).items.map(({ address }) => address)).toEqual(["g/add#1/approval"]);
    await runner.close();
  });
});

test("O3: a request that expires counts by its `onExpire`", async () => {
  const clock = fakeClock();
  for (const [onExpire, ends] of [
    ["approve", { status: "completed" }],
    ["reject", { status: "failed", error: { code: "REQUEST_REJECTED" } }],
    ["fail", { status: "failed", error: { code: "ANSWER_EXPIRED" } }],
  ] as const) {
    const seen: unknown[] = [];
    const expiresAt = clock.now() + 1_000;
    const point = { node: "deploy", request: () => humanApproval("Deploy it?", { expiresAt, onExpire }) };
    const { runner, session } = await open(plain(seen, [point]), memoryStore({ clock }), { clock });
    await session.run("v1").result;
    expect((await runner.inbox()).items).toHaveLength(1);
    await clock.advance(2_000);
    expect(await session.resume().result).toMatchObject(ends);
    expect(seen).toHaveLength(onExpire === "approve" ? 1 : 0);
    await runner.close();
  }
});

test("O3: in an unattended run the node is rejected", async () => {
  const seen: unknown[] = [];
  const { runner, session } = await open(release(seen, [withUndo]), memoryStore(), { unattended: true });
  expect(await session.run("v1").result).toMatchObject({ status: "completed", output: "undone" });
  await runner.close();
});

describe("approveBefore given wrongly is refused by compile()", () => {
  const wrong: readonly (readonly [string, unknown, RegExp])[] = [
    ["an unknown node", ["missing"], /approved at "missing", which is no node/],
    ["no list", "deploy", /approveBefore is "deploy"/],
    ["a node twice", ["deploy", "deploy"], /node deploy twice/],
    ["a rejection that leads nowhere", [{ node: "deploy", onReject: "missing" }], /leads to missing, which is no node/],
    ["a rejection that leads back", [{ node: "deploy", onReject: "deploy" }], /leads back to it/],
    ["a question", [{ node: "deploy", request: humanInput("Which?") }], /is no approval/],
    ["an unknown option", [{ node: "deploy", onRejected: END }], /onReject/],
  ];
  test.each(wrong)("O3: %s", (_name, approveBefore, message) => {
    expect(() => plain([], approveBefore)).toThrow(message);
  });

  test("O3: a node that only a rejection leads to is reachable; without the rejection it is not", () => {
    expect(() => release([], [withUndo])).not.toThrow();
    expect(() => release([], ["deploy"])).toThrow(/node undo is unreachable/);
  });
});
