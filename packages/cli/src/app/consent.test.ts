// The reach of a yes, in a real terminal: sentences typed into a request, files that change in between, modes.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { wireServer } from "@belay/testkit/wire";
import { describe, expect, test } from "vitest";
import { SEEN_MS, testTalks, write } from "../testing/talk.ts";
import { ENTER, ESC } from "../testing/terminal.ts";

const { program, talk } = testTalks(wireServer);

const SHIFT_TAB = `${ESC}[Z`;
const PAGE_DOWN = `${ESC}[6~`;
const run = (command: string, id = command) => ({ call: "shell", id, args: { command } });
const rulesOf = (data: string) => (existsSync(join(data, "rules")) ? readdirSync(join(data, "rules")) : []);

describe("TC1: a sentence that is typed into a request", () => {
  test("a letter shows the rule that it would make, and Enter grants it", async () => {
    const calls = [["I test.", run("npm test -- a", "c1")], ["Again.", run("npm test -- b", "c2")], ["Done."]] as const;
    const terminal = await talk(calls, { env: { PATH: fakeNpm() } });
    terminal.ask("test");
    await terminal.untilSeen("Always allow npm test * in this folder");
    await sleep(SEEN_MS);
    terminal.press("p");
    await terminal.untilSeen("makes the rule: allow shell npm test *, in this folder");
    await sleep(SEEN_MS);
    expect(rulesOf(terminal.env.BELAY_DATA)).toEqual([]);
    terminal.press(ENTER);
    // The second one is not asked for.
    await terminal.untilSeen("Done.");
    expect(rulesOf(terminal.env.BELAY_DATA)).toHaveLength(1);
  });
});

test("TC2: a call that is always allowed in one folder asks in another", async () => {
  const first = await talk([["I run.", run("echo ruled")], ["Ran."]]);
  first.ask("run");
  await first.untilSeen("Always allow this in this folder");
  await sleep(SEEN_MS);
  first.press("a");
  await first.untilSeen("makes the rule: allow shell echo ruled, in this folder");
  await sleep(SEEN_MS);
  first.press(ENTER);
  await first.untilSeen("Ran.");
  const env = { BELAY_DATA: first.env.BELAY_DATA };
  const other = await talk([["I run.", run("echo ruled")], ["Ran."]], { env });
  other.ask("run");
  await other.untilSeen("Yes, once");
  const same = await talk([["I run.", run("echo ruled")], ["Ran there."]], { env, folder: first.folder });
  same.ask("run");
  await same.untilSeen("Ran there.");
});

test("TC3: a file that changes between the difference and the yes is not overwritten; the new difference is shown", async () => {
  const overwrite = { call: "write", id: "c1", args: { path: "a.txt", text: "theirs\n", overwrite: true } };
  const folder = mkdtempSync(join(program().place, "folder-"));
  const file = join(folder, "a.txt");
  writeFileSync(file, "old\n");
  const terminal = await talk([["I write.", overwrite], ["Written."]], { folder });
  terminal.ask("write");
  await terminal.untilSeen("Replace a.txt?");
  await sleep(SEEN_MS);
  writeFileSync(file, "mine\n");
  terminal.press(`y${ENTER}`);
  await terminal.untilSeen("a.txt has changed since you saw it");
  await terminal.untilSeen(/1 -mine .*1 \+theirs/);
  expect(readFileSync(file, "utf8")).toBe("mine\n");
  await sleep(SEEN_MS);
  terminal.press(`y${ENTER}`);
  await terminal.untilSeen("Written.");
  expect(readFileSync(file, "utf8")).toBe("theirs\n");
});

test("TC6: npm test* in the rules of a person does not let a chain run", async () => {
  const rules = { rules: [{ tool: "shell", args: { command: "npm test*" }, effect: "allow" }] };
  const terminal = await talk([["I test.", run("npm test; touch chained")], ["Done."]], { rules });
  terminal.ask("test");
  await terminal.untilSeen("Yes, once");
  expect(existsSync(join(terminal.folder, "chained"))).toBe(false);
});

test("TC7: words sent under a request are pending, the request stays, and the model reads both", async () => {
  const terminal = await talk([["I write.", write("a.txt")], ["Written."]]);
  terminal.ask("write");
  await terminal.untilSeen("Yes, once");
  await sleep(SEEN_MS);
  terminal.press(`and mind the tests${ENTER}`);
  await terminal.untilSeen("pending: and mind the tests");
  expect(await terminal.untilSeen("Yes, once")).toContain("Create a.txt?");
  await sleep(3 * SEEN_MS);
  terminal.press(`y${ENTER}`);
  await terminal.untilSeen("Written.");
  expect(readFileSync(join(terminal.folder, "a.txt"), "utf8")).toBe("hello\n");
  expect(JSON.stringify((await terminal.wire.arrived(2)).body)).toContain("and mind the tests");
});

test("TC8: each open request has its command or path, and a call that runs stays in sight beside them", async () => {
  const rules = { rules: [{ tool: "shell", args: { command: "sleep *" }, effect: "allow" }] };
  const calls = [
    run("sleep 60"),
    { call: "fetch", id: "f1", args: { url: "https://a.test/" } },
    { call: "fetch", id: "f2", args: { url: "https://b.test/" } },
  ];
  const terminal = await talk([["All at once.", ...calls]], { rules });
  terminal.ask("go");
  await terminal.untilSeen("2 requests open");
  await terminal.untilSeen("shell sleep 60");
  const seen = await terminal.untilSeen("fetch https://b.test/");
  expect(seen).toContain("❯ fetch https://a.test/");
  expect(seen).toMatch(/shell sleep 60/);
  terminal.press(ESC);
  await terminal.untilGone("requests open");
});

describe("permission modes", () => {
  test("accept edits: files are changed unasked, commands ask; the stop by Esc falls back to ask", async () => {
    const terminal = await talk([
      ["I write.", write("a.txt")],
      ["Then run.", run("touch ran")],
      ["I write again.", write("b.txt")],
      ["Done."],
    ]);
    await terminal.untilSeen("ask · ready");
    terminal.press(SHIFT_TAB);
    await terminal.untilSeen("accept edits · ready");
    terminal.ask("go");
    await terminal.untilSeen("Yes, once");
    expect(existsSync(join(terminal.folder, "a.txt"))).toBe(true);
    expect(existsSync(join(terminal.folder, "ran"))).toBe(false);
    terminal.press(ESC);
    await terminal.untilSeen("ask · stopped");
    terminal.ask("go on");
    await terminal.untilSeen("Yes, and accept edits until Esc");
    expect(existsSync(join(terminal.folder, "b.txt"))).toBe(false);
    await sleep(SEEN_MS);
    terminal.press("s");
    await terminal.untilSeen("files of this folder are changed unasked");
    await sleep(SEEN_MS);
    terminal.press(ENTER);
    await terminal.untilSeen("accept edits · ");
    await terminal.untilSeen("Done.");
  });

  test("an edit that was accepted and had not begun when Esc came is asked for when the run continues", async () => {
    const rules = { rules: [{ tool: "shell", args: { command: "sleep *" }, effect: "allow" }] };
    const terminal = await talk([["I wait, then write.", run("sleep 60"), write("a.txt")], ["Done."]], { rules });
    terminal.press(SHIFT_TAB);
    await terminal.untilSeen("accept edits · ready");
    terminal.ask("go");
    await terminal.untilSeen("shell sleep 60");
    terminal.press(ESC);
    await terminal.untilSeen("ask · stopped");
    terminal.press(ENTER);
    await terminal.untilSeen("Create a.txt?");
    expect(existsSync(join(terminal.folder, "a.txt"))).toBe(false);
  });

  test("plan: tools that only read run, and tools that make a change neither run nor ask", async () => {
    const rules = { rules: [{ tool: "shell", effect: "allow" }] };
    const calls = [{ call: "list", id: "l", args: {} }, write("a.txt"), run("touch ran")];
    const terminal = await talk([["I look and do.", ...calls], ["I would do this."]], { rules });
    terminal.press(SHIFT_TAB + SHIFT_TAB);
    await terminal.untilSeen("plan · ready");
    terminal.ask("go");
    await terminal.untilSeen("I would do this.");
    expect([existsSync(join(terminal.folder, "a.txt")), existsSync(join(terminal.folder, "ran"))]).toEqual([
      false,
      false,
    ]);
    const told = JSON.stringify((await terminal.wire.arrived(2)).body);
    expect(told.match(/plan mode, in which nothing is changed/g)).toHaveLength(2);
    terminal.press(ESC);
    await terminal.untilSeen("ask · ready");
  });
});

test("a long difference has line numbers and is scrolled in the request", async () => {
  const lines = (text: string) => Array.from({ length: 60 }, (_, at) => `${text} ${at + 1}`).join("\n");
  const terminal = await talk([["I write.", write("a.txt", `${lines("line")}\n`)]]);
  terminal.ask("write");
  await terminal.untilSeen(/1 \+line 1 .*of 60 · PgUp PgDn/);
  await sleep(SEEN_MS);
  for (let page = 0; page < 9; page += 1) terminal.press(PAGE_DOWN);
  const end = await terminal.untilSeen("60 +line 60");
  expect(end).toContain("–60 of 60");
  expect(end).toContain("Yes, once");
  terminal.press(`${ESC}[5~`);
  await terminal.untilGone("60 +line 60");
});

/** A PATH on which npm is a program that ends well. */
function fakeNpm(): string {
  const bin = mkdtempSync(join(program().place, "bin-"));
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "npm"), "#!/bin/sh\necho tested\n", { mode: 0o755 });
  return `${bin}:${process.env.PATH}`;
}
