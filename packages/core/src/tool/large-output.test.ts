import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { factsOf, gate, listen, openKit, settle, toolOf } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { jsonSchema } from "../index.ts";
import type { StandardResult, StandardSchema } from "../schema/schema.ts";
import type { ToolContext } from "./context.ts";
import { type ToolOptions, tool } from "./tool.ts";

const limited = { runner: { maxBytes: 1000 }, agent: { graceMs: 1 } };
const large = "x".repeat(2000);
const calls = (name: string) => [[{ call: name, id: "c" }], "done"] as const;

describe("other values of a tool than its result, larger than maxBytes", () => {
  it("P12: a piece that it yields is shown as a sentence that says so, and so is its result", async () => {
    const yields = toolOf("yields", async function* () {
      yield "small";
      yield large;
    });
    const kit = await openKit(calls("yields"), { ...limited, tools: [yields] });
    const events = await listen(kit.session.run("go")).all;
    const shown = events.flatMap((event) => (event.type === "tool-progress" ? [event.data] : []));
    expect(shown).toEqual(["small", "Output too large to store (2002 bytes)."]);
    const output = "Ran, result too large to store (2002 bytes).";
    expect(kit.session.messages[2]!.parts).toMatchObject([{ outcome: "ok", output }]);
  });

  it("P12: of endless yields no more is held than a stop could record; the stop reports the size", async () => {
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    const done = gate();
    const yields = toolOf("yields", async function* (ctx) {
      for (let n = 0; n < 200; n++) yield { n };
      done.open();
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
    });
    const kit = await openKit(calls("yields"), { ...limited, tools: [yields] });
    let first: WeakRef<object> | undefined;
    void (async () => {
      for await (const event of kit.session.run("go")) {
        if (event.type === "tool-progress") first ??= new WeakRef(event.data as object);
      }
    })();
    await done.opened;
    await settle();
    gc();
    await settle();
    expect([first === undefined, first?.deref()]).toEqual([false, undefined]);
    await kit.session.interrupt();
    const bytes = JSON.stringify(Array.from({ length: 200 }, (_, n) => ({ n }))).length;
    const output = `Output too large to store (${bytes} bytes).`;
    expect((await factsOf(kit.store)).filter(({ type }) => type === "tool-end")).toMatchObject([
      { outcome: "interrupted", output },
    ]);
  });

  it("P12, S5: a late result that is too large is a sentence that says so", async () => {
    const [begun, end] = [gate(), gate<string>()];
    const deaf = toolOf("deaf", () => {
      begun.open();
      return end.opened;
    });
    const kit = await openKit([[{ call: "deaf", id: "c" }], "done"], { ...limited, tools: [deaf] });
    void kit.session.run("go");
    await begun.opened;
    await kit.session.interrupt();
    end.open(large);
    await settle();
    await kit.session.resume({ input: "and?" }).result;
    const late = (await factsOf(kit.store)).filter(({ type }) => type === "tool-late");
    expect(late).toMatchObject([{ output: "Ran, result too large to store (2002 bytes)." }]);
  });

  it.each<[string, (ctx: ToolContext) => void]>([
    ["exit()", (ctx) => ctx.exit(large)],
    ["breakLoop()", (ctx) => ctx.breakLoop(large)],
    ["customAction()", (ctx) => ctx.customAction(large)],
  ])("P12: %s is TOO_LARGE in the tool, and nothing comes of it", async (_, act) => {
    const caught: string[] = [];
    const acts = toolOf("acts", (ctx) => {
      try {
        act(ctx);
      } catch (error) {
        caught.push((error as { code: string }).code);
      }
      return "went on";
    });
    const kit = await openKit(calls("acts"), { ...limited, tools: [acts] });
    expect(await kit.session.run("go").result).toMatchObject({ status: "completed", text: "done" });
    expect(caught).toEqual(["TOO_LARGE"]);
    expect((await factsOf(kit.store)).filter(({ type }) => type === "action")).toEqual([]);
  });

  const endless = "e".repeat(5_000_000);
  const fails = (): never => {
    throw new Error(endless);
  };
  const schema = (validate: () => StandardResult<object>): StandardSchema<object> => {
    const jsonSchema = { input: () => ({ type: "object" }) };
    return { "~standard": { version: 1, vendor: "own", validate, ...{ jsonSchema } } };
  };

  it.each<[string, Partial<ToolOptions<StandardSchema<object>, unknown>>]>([
    ["a needsApproval throws", { needsApproval: fails }],
    ["a schema gives for its refusal", { input: schema(() => ({ issues: [{ message: endless }] })) }],
    ["a schema throws", { input: schema(fails) }],
  ])("P12: of words without end that %s, the beginning is recorded", async (_, options) => {
    const input = jsonSchema<object>({ type: "object" });
    const looks = tool({ name: "looks", description: "", input, execute: () => "seen", ...options });
    const kit = await openKit(calls("looks"), { ...limited, tools: [looks] });
    await kit.session.run("go").result;
    const facts = JSON.stringify(await factsOf(kit.store));
    expect([facts.includes("eee"), facts.length < 100_000]).toEqual([true, true]);
  });

  it("P12: the model reads the beginning of a long name of a tool that does not exist", async () => {
    const kit = await openKit([[{ call: "n".repeat(900), id: "c" }], "done"], limited);
    await kit.session.run("go").result;
    const output = `There is no tool "${"n".repeat(99)}… (902 characters). The tools are: none.`;
    expect(kit.session.messages[2]!.parts).toMatchObject([{ outcome: "error", output }]);
  });
});
