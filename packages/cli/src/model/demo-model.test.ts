import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { approve, type BelayEvent, reject, respond } from "@belay/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type BelaySetup, openBelay } from "../setup.ts";

let home: string;
let folder: string;
let setup: BelaySetup;

async function begin(delayMs = 0): Promise<void> {
  setup = await openBelay({
    folder,
    dataFolder: join(home, "data"),
    config: join(home, "config"),
    model: "demo",
    delayMs,
  });
}
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "belay-demo-"));
  folder = join(home, "folder");
  mkdirSync(join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, "README.md"), "# Rope\n\nHolds a fall.\n");
  writeFileSync(join(folder, "src/main.ts"), "export const session = 1;\n");
  await begin();
});
afterEach(async () => {
  await setup.close();
  rmSync(home, { recursive: true, force: true });
});

async function say(text: string) {
  const session = await setup.openThread();
  const result = await session.run(text).result;
  const calls = session.messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "call" ? [part.tool] : [])),
  );
  return { session, result, calls };
}

/** Sends it, answers each request, and resumes. */
async function sayAndAnswer(text: string, answer: ReturnType<typeof approve | typeof reject | typeof respond>) {
  const { session, result } = await say(text);
  expect(result).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
  const { items: asked } = await setup.runner.inbox({ threadId: session.threadId });
  const answers = Object.fromEntries(asked.map(({ id }) => [id, answer]));
  return { session, asked, result: await session.resume({ answers }).result };
}

describe("what to type", () => {
  test("summarise: lists, then reads in parallel, and describes the folder", async () => {
    writeFileSync(join(folder, "package.json"), `{ "name": "rope", "description": "holds" }`);
    const { result, calls } = await say("Summarise this folder");
    expect(calls).toEqual(["list", "read", "read"]);
    expect(result).toMatchObject({ status: "completed" });
    expect((result as { text: string }).text).toContain("This folder has 3 files. README.md says: “Holds a fall.”");
  });

  test("search, read, list and focus look, and need no approval", async () => {
    for (const [text, tool, words] of [
      ["Which files mention session?", "search", "src/main.ts: 1 line, first in line 1: export const session = 1;"],
      ["read README.md", "read", "Holds a fall."],
      ["list", "list", "2 files:\n- README.md\n- src/main.ts"],
      ["focus on session", "search", "I would begin with src/main.ts"],
    ] as const) {
      const { result, calls } = await say(text);
      expect([calls[0], (result as { text: string }).text], text).toEqual([tool, expect.stringContaining(words)]);
    }
  });

  test("write and edit show their effect; the answer counts", async () => {
    const made = await sayAndAnswer("write a summary to SUMMARY.md", approve());
    expect(setup.previewOf(made.asked[0]!)).toMatchObject({ kind: "diff", path: "SUMMARY.md" });
    expect(made.result).toMatchObject({ text: "Done: Made SUMMARY.md, 44 bytes." });
    const edited = await sayAndAnswer('edit README.md: "fall" to "climb"', approve());
    expect(setup.previewOf(edited.asked[0]!)).toMatchObject({
      diff: expect.stringContaining("-Holds a fall.\n+Holds a climb."),
    });
    expect(readFileSync(join(folder, "README.md"), "utf8")).toContain("climb");
    const refused = await sayAndAnswer("run touch made", reject("no"));
    expect(setup.previewOf(refused.asked[0]!)).toEqual({
      kind: "command",
      command: "touch made",
      folder: setup.folder,
    });
    expect((refused.result as { text: string }).text).toContain("It did not run to its end.");
  });

  test("three approvals at once, a question, and a command that writes as it goes", async () => {
    const several = await sayAndAnswer("three approvals", approve());
    expect(several.asked.map(({ tool }) => tool)).toEqual(["write", "write", "shell"]);
    expect((several.result as { text: string }).text).toContain("- ok: Made notes/one.txt");
    const asked = await sayAndAnswer("ask me", respond("the docs"));
    expect(asked.asked[0]).toMatchObject({
      kind: "input",
      context: { options: ["the code", "the docs", "the tests"] },
    });
    expect(asked.result).toMatchObject({ text: "So it is “the docs”. Thank you." });
    const slow = await sayAndAnswer("slow 1", approve());
    expect((slow.result as { text: string }).text).toContain("1 of 1");
  });

  test("long, markdown, think, help and fail", async () => {
    expect(((await say("long 100")).result as { text: string }).text).toContain("paragraph 100 of 100");
    expect(((await say("markdown")).result as { text: string }).text).toContain("```ts");
    const { session } = await say("think");
    expect(session.messages.some(({ parts }) => parts.some(({ type }) => type === "reasoning"))).toBe(true);
    expect(((await say("help")).result as { text: string }).text).toContain("three approvals");
    expect(((await say("/help")).result as { text: string }).text).toContain("three approvals");
    expect((await say("fail")).result).toMatchObject({ status: "failed" });
  });
});

test("R2: stopped in the middle it continues from exactly there, and its whole answer is the same", async () => {
  const whole = ((await say("long 3")).result as { text: string }).text;
  await setup.close();
  await begin(2);
  const session = await setup.openThread();
  const run = session.run("long 3");
  let heard = "";
  for await (const event of run as AsyncIterable<BelayEvent>) {
    if (event.type === "text-delta") heard += event.text;
    if (heard.length > 150) break;
  }
  await session.interrupt();
  expect(await run.result).toMatchObject({ status: "interrupted" });
  await session.resume().result;
  expect(session.messages.at(-1)!.parts).toMatchObject([{ type: "text", text: whole }]);
});

test("R1: stopped and given another input, it names the cut and does the new task", async () => {
  await setup.close();
  await begin(2);
  const session = await setup.openThread();
  const run = session.run("long");
  for await (const event of run as AsyncIterable<BelayEvent>)
    if (event.type === "text-delta" && event.offset > 50) break;
  await session.interrupt();
  const result = await session.resume({ input: "read README.md" }).result;
  expect(result).toMatchObject({ status: "completed" });
  expect(JSON.stringify(session.messages)).toContain("You stopped me at “…");
});
