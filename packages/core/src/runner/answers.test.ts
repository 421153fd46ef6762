import { describe, expect, test } from "vitest";
import { approve } from "../interrupt/answer.ts";
import { jsonSchema } from "../schema/schema.ts";
import { eachStore } from "../testing/each-store.ts";
import { listen, openKit, said } from "../testing/session-kit.ts";
import { tool } from "../tool/tool.ts";

const input = jsonSchema<{ n?: number }>({ type: "object", properties: { n: { type: "number" } } });

describe.each(eachStore)("answers ($name)", ({ make }) => {
  test("Q3: a turn that asks again after an answered one is recorded, and costs one model call", async () => {
    const pay = tool({ name: "pay", description: "", input, needsApproval: true, execute: () => "paid" });
    const turns = [[{ call: "pay", id: "p" }], [{ call: "pay", id: "q" }], "done"];
    const kit = await openKit(turns, { store: await make(), tools: [pay] });
    await kit.session.run("go").result;
    const answered = listen(
      kit.session.resume({ answers: { [kit.session.interrupts[0]!.id]: approve({ by: "ann" }) } }),
    );
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
      "state paused tool_interrupt",
    ]);
    expect(kit.requests).toHaveLength(2);
  });
});
