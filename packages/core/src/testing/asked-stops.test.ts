// The check of stops from elsewhere, against a kernel that is right: each stop arrives late, and so does its receipt.

import { expect, test } from "vitest";
import { agent } from "../chat/agent.ts";
import type { Clock } from "../clock.ts";
import { jsonSchema } from "../schema/schema.ts";
import { memoryStore } from "../store/memory.ts";
import { wrapStore } from "../store/wrap-store.ts";
import { tool } from "../tool/tool.ts";
import { interruptAnywhere } from "./interrupt-anywhere.ts";
import type { ScenarioKit } from "./scenario.ts";
import { type ScriptedPart, scriptedModel } from "./scripted-model.ts";

test("S2: a stop from elsewhere that a resume overtakes is for the segment before, and the resume may call the model", async () => {
  let overtaken = 0;
  /** Keeps each stop that meets answered calls until they have ended, and the pause is there alone. */
  const store = (clock: Clock) => {
    const inner = memoryStore({ clock });
    let send: (() => Promise<void>) | undefined;
    const released = async () => {
      await send?.();
      send = undefined;
    };
    return wrapStore(inner, {
      async append(key, append) {
        const appended = await inner.append(key, append);
        if (append.release) await released();
        return appended;
      },
      async release(key, fence) {
        await inner.release(key, fence);
        await released();
      },
      // Without hints: the owner reads the stop with the next append, and the sender looks when the next segment is under way.
      watch: () => () => {},
      async send(key, command) {
        const row = (await inner.load(key, Number.MAX_SAFE_INTEGER))?.row;
        if (command.kind !== "stop" || row?.state !== "paused" || row.lease === undefined)
          return inner.send(key, command);
        overtaken += 1;
        return new Promise((resolve) => {
          send = async () => resolve(await inner.send(key, command));
        });
      },
    });
  };
  const worker = ({ effect }: ScenarioKit) => {
    const pay = tool({
      name: "pay",
      description: "pays",
      input: jsonSchema<object>({ type: "object" }),
      needsApproval: true,
      onCrash: "fail",
      execute: (_args, ctx) => void effect(ctx.address),
    });
    const look = tool({
      name: "look",
      description: "looks at the account",
      input: jsonSchema<object>({ type: "object" }),
      readOnly: true,
      execute: () => "empty",
    });
    const turns: (string | ScriptedPart[])[] = [[{ call: "pay" }, { call: "pay" }], [{ call: "look" }], "paid"];
    const model = scriptedModel(
      ({ messages }) => turns[messages.filter(({ role }) => role === "assistant").length] ?? "",
    );
    return agent({ name: "worker", model, tools: [pay, look] });
  };
  const report = await interruptAnywhere({
    agent: worker,
    input: "Pay twice.",
    store,
    faults: ["stop-elsewhere"],
    mostPoints: 25,
  });
  expect(report.problems).toEqual([]);
  expect(overtaken).toBeGreaterThan(0);
});
