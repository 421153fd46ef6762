// The terminal when the agent wants to do something that a person must allow.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureBuilt } from "../../scripts/ensure.mjs";
import { CTRL_C, CTRL_D, ENTER, ESC, openTerminal, type Terminal } from "./terminal-kit.ts";
import { readVerdict } from "./verdict.mjs";

const main = fileURLToPath(new URL("main.mjs", import.meta.url));
const QUESTION = "Write SUMMARY.md, 4 lines? y / n / e(dit) · ESC: never mind ›";
const WAITING = "Interrupted. What should I do instead? (Enter = go on)";

const place = mkdtempSync(join(tmpdir(), "belay-approval-"));
const terminals: Terminal[] = [];

beforeAll(() => ensureBuilt(), 120_000);

afterAll(() => {
  for (const terminal of terminals) terminal.kill();
  rmSync(place, { recursive: true, force: true });
});

/** A folder of its own, in which the agent wants to write; `files` is what is in it now. */
async function wants(): Promise<Terminal & { files(): string[] }> {
  const own = mkdtempSync(join(place, "write-"));
  writeFileSync(join(own, "notes.txt"), "notes");
  writeFileSync(join(own, `a.${ESC}]0;pwned\u0007md`), "");
  const terminal = openTerminal(process.execPath, [main], own);
  terminals.push(terminal);
  await terminal.until("›");
  terminal.press(`Write a summary to SUMMARY.md${ENTER}`);
  await terminal.until(QUESTION);
  return Object.assign(terminal, { files: () => readdirSync(own).filter((name) => !name.startsWith("a.")) });
}

describe.concurrent("npm start asks before it writes", { timeout: 60_000 }, () => {
  test("the person sees what would be written; y lets it happen", async ({ expect }) => {
    const terminal = await wants();
    expect(terminal.text()).toContain("│ # What is here │ │ - .\\u{1b}]0;pwned\\u{7}md: 1 file │ - .txt: 1 file Write");
    expect(terminal.raw).not.toContain(`${ESC}]0;`);
    expect(terminal.files()).toEqual(["notes.txt"]);
    terminal.press(`y${ENTER}`);
    await terminal.until(/✓ write_file SUMMARY\.md · 55 bytes SUMMARY\.md is there now, 55 bytes\. ›$/);
    expect(terminal.files()).toEqual(["SUMMARY.md", "notes.txt"]);
  });

  test("n with a reason: nothing is written, and the model is told why", async ({ expect }) => {
    const terminal = await wants();
    terminal.press(`no, it is late${ENTER}`);
    await terminal.until("I have written nothing. Not executed: a person rejected it: it is late");
    expect(terminal.files()).toEqual(["notes.txt"]);
  });

  test("e changes what is written; what the tool refuses then is told, too", async ({ expect }) => {
    const terminal = await wants();
    terminal.press(`e${ENTER}`);
    await terminal.until("path › SUMMARY.md");
    terminal.press(ESC);
    await terminal.until(/never mind ›$/);
    terminal.press(`e${ENTER}`);
    await terminal.until(/path › SUMMARY.md$/);
    terminal.press(`\u0015HERE.md${ENTER}`);
    await terminal.until("As you wanted it: HERE.md is there now, 55 bytes.");
    expect(terminal.files()).toEqual(["HERE.md", "notes.txt"]);
    for (const [path, refusal] of [
      ["notes.txt", "notes.txt is there already, and I overwrite nothing."],
      ["../out.txt", "../out.txt is not in this folder."],
      [".profile", ".profile is no name for a file here."],
    ]) {
      terminal.press(`Write it to SUMMARY.md${ENTER}`);
      await terminal.until(/lines\? y \/ n \/ e\(dit\) · ESC: never mind ›$/);
      terminal.press(`e${ENTER}`);
      await terminal.until(/path › SUMMARY.md$/);
      terminal.press(`\u0015${path}${ENTER}`);
      await terminal.until(`${refusal} ›`);
    }
    expect(terminal.files()).toEqual(["HERE.md", "notes.txt"]);
  });

  test("ESC withdraws the question: a yes comes too late, and the run goes on without it", async ({ expect }) => {
    const terminal = await wants();
    terminal.press(ESC + ESC);
    await terminal.until(`${WAITING} ›`);
    terminal.press(ENTER);
    await terminal.until(/I have written nothing\. .*›$/);
    expect(terminal.files()).toEqual(["notes.txt"]);
  });

  test("something else instead of an answer is a new instruction; only a plain yes is a yes", async ({ expect }) => {
    const terminal = await wants();
    terminal.press(`${ENTER}${ENTER}yes but first list the files${ENTER}`);
    await terminal.until("2 files:");
    expect(terminal.files()).toEqual(["notes.txt"]);
    terminal.press(CTRL_D);
    expect(await terminal.exited).toBe(0);
  });

  test("Ctrl-D and Ctrl-C twice quit while it asks, and nothing is written", async ({ expect }) => {
    for (const keys of [CTRL_D, CTRL_C + CTRL_C]) {
      const terminal = await wants();
      terminal.press(keys);
      expect(await terminal.exited).toBe(0);
      expect(terminal.files()).toEqual(["notes.txt"]);
    }
  });
});

test.each([
  ["y", { type: "approve" }],
  ["Yes.", { type: "approve" }],
  ["n", { type: "reject", reason: "" }],
  ["No, it is late", { type: "reject", reason: "it is late" }],
  ["edit", "edit"],
  ["yes but elsewhere", undefined],
  ["yy", undefined],
  ["not now", undefined],
  ["nothing", undefined],
])("%s is a verdict, or a new instruction", (line, verdict) => {
  expect(readVerdict(line)).toEqual(verdict);
});
