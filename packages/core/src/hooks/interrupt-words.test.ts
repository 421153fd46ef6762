import { eachStore, factsOf } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agent, createRunner, hub, type Message, messageText } from "../index.ts";
import { promptProblems, scriptedModel } from "../testing/index.ts";

const texts = (messages: readonly Message[]) => messages.map(({ role, parts }) => `${role}: ${messageText({ parts })}`);

/** A model that says half a sentence and stalls; afterwards it answers. */
const half = () => scriptedModel((_request, call) => (call === 0 ? [{ text: "Half a" }, { stall: true }] : "And on."));

describe.each(eachStore)("words after a stop, on $name", ({ make }) => {
  async function stopped(options: object) {
    const store = await make();
    const model = half();
    const runner = createRunner({ agent: agent({ name: "a", model, ...options }), store });
    const session = await runner.open("t");
    const run = session.run("go");
    for await (const event of run) if (event.type === "text-delta") break;
    await session.interrupt();
    return { store, model, runner, session, result: await run.result };
  }

  test("O6: words with `remember` are shown, recorded and read by the model before the next input; the history stays valid", async () => {
    const hooks = { onInterrupt: () => ({ text: "I was stopped. What now?", remember: true }) };
    const { model, runner, session, result } = await stopped({ hooks });
    expect(result).toMatchObject({ said: [{ isInterrupted: true, remembered: true }] });
    expect(texts(session.messages)).toEqual(["user: go", "assistant: Half a", "assistant: I was stopped. What now?"]);
    await session.resume({ input: "shorter" }).result;
    const prompt = model.requests[1]!.messages;
    expect(promptProblems(prompt)).toEqual([]);
    expect(texts(prompt)).toEqual([
      "user: go",
      expect.stringMatching(/^assistant: Half a.*I was stopped\. What now\?$/s),
      "user: shorter",
    ]);
    await runner.close();
  });

  test("O6: without `remember` no model reads them", async () => {
    const { model, runner, session } = await stopped({ hooks: { onInterrupt: () => ({ text: "Stopped." }) } });
    await session.resume({ input: "shorter" }).result;
    expect(JSON.stringify(model.requests[1]!.messages)).not.toContain("Stopped.");
    await runner.close();
  });

  test("O6: interruptMessage speaks if no hook does; without it no message is added", async () => {
    const own = await stopped({ interruptMessage: "As you wish." });
    expect(texts(own.session.messages).at(-1)).toBe("assistant: As you wish.");
    await own.runner.close();
    const hooked = await stopped({
      interruptMessage: "As you wish.",
      hooks: { onInterrupt: () => "The hook speaks." },
    });
    expect(texts(hooked.session.messages).at(-1)).toBe("assistant: The hook speaks.");
    await hooked.runner.close();
    const silent = await stopped({});
    expect(texts(silent.session.messages)).toEqual(["user: go", "assistant: Half a"]);
    await silent.runner.close();
    expect(() => agent({ name: "a", model: half(), interruptMessage: " " })).toThrow(/interruptMessage/);
    expect(() => agent({ name: "a", model: half(), interruptMessage: 5 as never })).toThrow(/interruptMessage/);
  });

  test('O11: a stop without a reason is "general", in the event, the interrupt and the cut message', async () => {
    const { store, runner, session, result } = await stopped({});
    expect(result).toMatchObject({ interrupts: [{ kind: "user", reason: "general" }] });
    expect(session.messages.at(-1)).toMatchObject({ interrupted: { by: "user", reason: "general" } });
    const actions = (await factsOf(store, "t")).filter(({ type }) => type === "action");
    expect(actions).toMatchObject([{ action: { interrupted: { reason: "general" } } }]);
    await runner.close();
  });

  test("O5: a hub hands on a reply that was stopped, marked, with the words after the stop; the others observe it", async () => {
    const store = await make();
    const speaker = createRunner({
      agent: agent({ name: "ana", model: half(), interruptMessage: "Sorry." }),
      store,
    });
    const model = scriptedModel(["I see."]);
    const listener = createRunner({ agent: agent({ name: "bo", model }), store });
    const deaf = createRunner({ agent: agent({ name: "cy", model: scriptedModel(["?"]) }), store });
    const [ana, bo, cy] = [await speaker.open("a"), await listener.open("b"), await deaf.open("c")];
    const all = hub([ana, bo]);
    const quiet = hub([ana, cy], { interrupts: false });
    const run = ana.run("go");
    for await (const event of run) if (event.type === "text-delta") break;
    await ana.interrupt({ by: "eve" });
    await run.result;
    await all.settled();
    await quiet.settled();
    await bo.run("what did ana say?").result;
    expect(texts(model.requests[0]!.messages)).toEqual([
      "user: ana: Half a [interrupted by eve] Sorry.",
      "user: what did ana say?",
    ]);
    expect(await cy.waiting()).toEqual([]);
    expect(cy.messages).toEqual([]);
    // The next part is a reply of its own.
    await ana.resume().result;
    await all.settled();
    expect(texts(bo.messages).at(-1)).toMatch(/^user: ana: Half aAnd on\.$/);
    all.close();
    quiet.close();
    expect(() => hub([ana], { interrupts: "yes" as never })).toThrow(/interrupts/);
    await Promise.all([speaker.close(), listener.close(), deaf.close()]);
  });
});
