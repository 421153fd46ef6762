import { eachStore } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agent, createRunner, defineAgent, type LogEntry, messageText, say, sequential } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";

describe.each(eachStore)("hooks that see the text as it is shown, on $name", ({ make }) => {
  test("O10: onText of runner and agent gets each piece, with its message and place, whether or not a reader follows", async () => {
    const store = await make();
    const shown: unknown[] = [];
    const writer = agent({
      name: "writer",
      model: scriptedModel([[{ text: ["Hello ", "you."] }]]),
      hooks: { onText: (delta, { offset, agentName }) => void shown.push(["agent", agentName, offset, delta]) },
    });
    const guide = defineAgent({
      name: "guide",
      async *run() {
        yield say("Said.");
        return null;
      },
    });
    const root = sequential({ name: "both", agents: [writer, guide] });
    const hooks = {
      onText: (delta: string, info: { agentName: string; messageId: string }) => {
        shown.push(["runner", info.agentName, delta, info.messageId.includes(info.agentName)]);
        return "something else" as never;
      },
    };
    const runner = createRunner({ agent: root as never, store, hooks });
    const session = await runner.open("t");
    await session.run("go").result;
    expect(shown).toEqual([
      ["runner", "writer", "Hello ", true],
      ["agent", "writer", 0, "Hello "],
      ["runner", "writer", "you.", true],
      ["agent", "writer", 6, "you."],
      ["runner", "guide", "Said.", true],
    ]);
    await runner.close();
  });

  test("O10: one that throws is logged once, is not called again in that run, and changes nothing", async () => {
    const store = await make();
    const log: LogEntry[] = [];
    let calls = 0;
    const onText = () => {
      calls += 1;
      throw new Error("no printer");
    };
    const model = scriptedModel(() => [{ text: ["one ", "two ", "three"] }]);
    const runner = createRunner({
      agent: agent({ name: "a", model }),
      store,
      hooks: { onText },
      log: (entry) => void log.push(entry),
    });
    const session = await runner.open("t");
    expect(await session.run("go").result).toMatchObject({ text: "one two three" });
    expect(calls).toBe(1);
    expect(log.map(({ error }) => error?.code)).toEqual(["HOOK_FAILED"]);
    await session.run("again").result;
    expect(calls).toBe(2);
    expect(session.messages.map(messageText).filter((text) => text.startsWith("one"))).toHaveLength(2);
    await runner.close();
  });
});
