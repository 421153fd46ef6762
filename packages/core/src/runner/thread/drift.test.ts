import { eachStore, factsOf, type KitOptions, listen, openKit, paying, pays, requestOf, said } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, type DriftReport, type Fact } from "../../index.ts";

describe.each(eachStore)("an agent that has changed while its run was paused ($name)", ({ make }) => {
  /** Paused by one agent, opened by another. */
  async function changed(more: KitOptions, turns: readonly string[] = ["done"]) {
    const { tools } = paying();
    const store = await make();
    const kit = await openKit([pays("a", "b")], { store, tools, agent: { instructions: "Be kind." } });
    await kit.session.run("go").result;
    const next = await openKit(turns, { store, tools, agent: { instructions: "Be kind." }, ...more });
    return { kit, next, store };
  }

  const answerOf = (next: Awaited<ReturnType<typeof changed>>["next"], call: string) => ({
    [requestOf(next, call).id]: approve(),
  });

  test("R7: warn: the report is an event, before it continues, once and not at each resume", async () => {
    const { next, store } = await changed({ agent: { instructions: "Be quick." }, script: { id: "other" } });
    const first = listen(next.session.resume({ answers: answerOf(next, "a") }));
    expect(said(await first.all)).toEqual([
      "drift model instructions",
      "answered approve by user",
      "state running continue",
      "turn-start 1",
      "tool-start a",
      "tool-end a ok",
      "turn-end 1",
      "waits",
      "state paused tool_interrupt",
    ]);
    expect((await next.session.resume({ answers: answerOf(next, "b") }).result).status).toBe("completed");
    const facts = (await factsOf(store)).filter((fact) => fact.type === "drift");
    expect(facts).toMatchObject([
      { report: { model: { was: "scripted", is: "other" }, instructions: true }, fingerprint: { model: "other" } },
    ]);
    const [{ seq, at, report }] = facts as [Extract<Fact, { type: "drift" }>];
    expect(await next.runner.look(next.session.threadId)).toMatchObject({ lastDrift: { seq, at, report } });
  });

  test("R7: tools that were added, removed or changed are named", async () => {
    const reports: DriftReport[] = [];
    const drift = (report: DriftReport) => {
      reports.push(report);
      return true;
    };
    const { next } = await changed({ tools: [paying({ version: "2" }).tools[0]!] });
    await next.session.resume({ drift }).result;
    expect(reports).toEqual([{ tools: { added: [], removed: ["look"], changed: ["pay"] } }]);
    await next.session.resume({ drift }).result;
    expect(reports).toHaveLength(1);
  });

  test("R7: an agent that is the same says nothing", async () => {
    const { next, store } = await changed({});
    await next.session.resume().result;
    expect((await factsOf(store)).filter((fact) => fact.type === "drift")).toEqual([]);
  });

  test.each([
    ["refuse", "refuse" as const],
    ["a function that says no", () => false],
    ["a function that says refuse, later", async () => "refuse" as const],
    [
      "a function that throws",
      () => {
        throw new Error("no idea");
      },
    ],
  ])("R7: %s: nothing is spent, and resume() with another word continues", async (_what, drift) => {
    const { next, store } = await changed({ script: { id: "other" } });
    const handle = await next.session.handle();
    const facts = await factsOf(store);
    const answers = answerOf(next, "a");
    const refused = {
      code: "DRIFT_REFUSED",
      message: "The agent of thread thread has changed since the run began: model scripted is now other.",
    };
    expect(await next.session.resume({ drift, answers }).result).toMatchObject({ status: "failed", error: refused });
    await expect(next.runner.resume(handle, { drift, answers })).rejects.toMatchObject(refused);
    expect(await factsOf(store)).toEqual(facts);
    expect(next.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    expect(next.session.interrupts).toHaveLength(2);
    const run = await next.runner.resume(handle, { drift: async () => true, answers });
    expect((await run.result).status).toBe("interrupted");
  });

  test("R7: a new run is compared with no other, and later segments are compared with it", async () => {
    const { next, store } = await changed({ script: { id: "other" } }, ["done", "again"]);
    await next.session.resume({ input: "never mind" }).result;
    await next.session.run("more").result;
    expect((await factsOf(store)).filter((fact) => fact.type === "drift")).toHaveLength(1);
    const back = await openKit(["hm", "ok"], { store, tools: paying().tools, agent: { instructions: "Be kind." } });
    await back.session.run("and now").result;
    expect((await factsOf(store)).filter((fact) => fact.type === "drift")).toHaveLength(1);
  });
});
