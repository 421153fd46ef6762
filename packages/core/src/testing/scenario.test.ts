import { describe, expect, it } from "vitest";
import { agent } from "../chat/agent.ts";
import { END, graph, START } from "../index.ts";
import { jsonSchema } from "../schema/schema.ts";
import { memoryStore } from "../store/memory.ts";
import { tool } from "../tool/tool.ts";
import { interruptAnywhere } from "./interrupt-anywhere.ts";
import type { Scenario, ScenarioKit } from "./scenario.ts";
import { scriptedModel } from "./scripted-model.ts";
import { speak } from "./speak.ts";

const noArgs = jsonSchema<object>({ type: "object" });

const polite: Scenario = {
  agent: () => agent({ name: "polite", model: scriptedModel((request) => speak("Hello.")(request)) }),
  input: "Greet.",
  faults: ["stop"],
};

/** Calls the tool once, and says that it is done. */
function caller(execute: (times: number) => unknown, more: object = {}) {
  let times = 0;
  return () => {
    const act = tool({ name: "act", description: "", input: noArgs, ...more, execute: () => execute(++times) });
    const model = scriptedModel((request) =>
      request.messages.length > 1 ? speak("Done.")(request) : [{ call: "act" }],
    );
    return agent({ name: "caller", model, tools: [act] });
  };
}

describe("a scenario that would find nothing", () => {
  it.each<[string, object]>([
    ['faults is \\["crsh"\\]; it must be a list of some of stop, ', { faults: ["crsh"] }],
    ["faults is \\[\\]", { faults: [] }],
    ["mostPoints is 0", { mostPoints: 0 }],
    ["mostPoints is NaN", { mostPoints: Number.NaN }],
    ["passMs is -1", { passMs: -1 }],
    ["agent is .* it must be a function that makes an agent", { agent: polite.agent({} as never) }],
    ["agent is undefined", { agent: undefined }],
    ['answer is "yes"; it must be a function', { answer: "yes" }],
    ["store is none; it must be a function that makes a new store", { store: () => undefined }],
  ])("is refused: %s", async (words, wrong) => {
    const attack = interruptAnywhere({ ...polite, ...wrong } as never);
    await expect(attack).rejects.toMatchObject({ code: "OPTION_INVALID", message: expect.stringMatching(words) });
  });

  it("is refused without one", async () => {
    await expect(interruptAnywhere(undefined as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  it("is refused where each pass gets the store of the one before", async () => {
    const store = memoryStore();
    const attack = interruptAnywhere({ ...polite, store: () => store });
    await expect(attack).rejects.toThrow("Option store is one that was used");
  });

  it("is reported if the person's other act fails", async () => {
    const play = () => Promise.reject(new Error("no such button"));
    await expect(interruptAnywhere({ ...polite, play })).rejects.toThrow(
      "Without any fault:\nplay threw: no such button",
    );
  });

  it("is reported if it returns no answer", async () => {
    const asks = caller(() => "acted", { needsApproval: true });
    const attack = interruptAnywhere({ ...polite, agent: asks, answer: () => undefined as never });
    await expect(attack).rejects.toThrow(/it threw: .* it is no answer at all/);
  });

  it("is reported if its agent fails without any fault", async () => {
    const model = scriptedModel([[{ throw: new Error("no key") }]]);
    const attack = interruptAnywhere({ ...polite, agent: () => agent({ name: "keyless", model }) });
    await expect(attack).rejects.toThrow(/^Without any fault:\nit failed: MODEL_FAILED: .*no key/);
  });
});

describe("an effect that is named by its address", () => {
  const paying = (kit: ScenarioKit, times: (ctx: { readonly address: string }) => number) =>
    graph("pay")
      .node("money", (_input: unknown, ctx) => {
        for (let i = 0; i < times(ctx); i++) kit.effect(ctx.address);
        return ctx.step("log", () => kit.effect(`${ctx.address}/s:log`));
      })
      .edge(START, "money")
      .edge("money", END)
      .compile();

  it("H1, F4: happens again in the next run of the thread, and that is no problem", async () => {
    const attack = interruptAnywhere({ agent: (kit) => paying(kit, () => 1), input: "go", faults: ["enqueue"] });
    expect(await attack).toMatchObject({ problems: [] });
  });

  it("F4: happens twice in one run, and that is one", async () => {
    const attack = interruptAnywhere({ agent: (kit) => paying(kit, () => 2), input: "go", faults: ["enqueue"] });
    await expect(attack).rejects.toThrow(/effect pay\/.*money happened twice/);
  });
});

describe("a scenario that does not end", () => {
  it("is reported with its last point, and the next attack can begin", async () => {
    const deaf = caller(() => new Promise(() => {}));
    const attack = interruptAnywhere({ ...polite, agent: deaf, passMs: 2_000 });
    await expect(attack).rejects.toThrow(
      /^Without any fault:\nit did not end within 2000 ms \(passMs\); its last point was \d+ \(tool:start\)$/,
    );
    expect(await interruptAnywhere(polite)).toMatchObject({ problems: [] });
  });

  it("is waited for as long as it takes where passMs says so", async () => {
    expect(await interruptAnywhere({ ...polite, passMs: Number.POSITIVE_INFINITY })).toMatchObject({ problems: [] });
  });

  it("ends if a process stands still, and its store keeps the lease of it", async () => {
    // By the clock of the machine, not by the one that it is given.
    const store = () => memoryStore();
    const attack = interruptAnywhere({ ...polite, faults: ["freeze"], store, passMs: 2_000 });
    await expect(attack).rejects.toThrow(/freeze at point \d+ .*: it did not end within 2000 ms/);
  });

  it("ends the attack at the fault that makes it hang", async () => {
    const stuck = caller((times) => (times === 1 ? "acted" : new Promise(() => {})), { repeatable: true });
    const passes: string[] = [];
    const onPass = ({ fault, at }: { fault: string; at: number }) => passes.push(`${fault} ${at}`);
    const attack = interruptAnywhere({ ...polite, agent: stuck, faults: ["crash"], passMs: 2_000, onPass });
    await expect(attack).rejects.toThrow(
      /^1 problems in 1 passes:\ncrash at point 1 .*: it did not end within 2000 ms/,
    );
    expect(passes).toEqual(["crash 1"]);
  });
});
