// The everyday parts beside the stop: guides of a folder, commands of the prompt, inputs of other threads, the meter.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { wireServer } from "@belay/testkit/wire";
import { expect, test } from "vitest";
import { SEEN_MS, testTalks, write } from "../testing/talk.ts";
import { CTRL_D, ENTER, ESC } from "../testing/terminal.ts";

const { program, talk } = testTalks(wireServer);
const FOCUS_OUT = `${ESC}[O`;
const CTRL_R = "\u0012";

function folderWith(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(program().place, name);
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return folder;
}

test("AGENTS.md is in the header and in the request, and a change of it is in the next input", async () => {
  const folder = folderWith("guided", { "AGENTS.md": "Mind the knots.\n" });
  const terminal = await talk([["One."], ["Two."], ["Three."]], { folder });
  await terminal.untilSeen("guided · AGENTS.md");
  terminal.ask("first");
  await terminal.untilSeen("One.");
  const [system] = (await terminal.wire.arrived(1)).body.messages;
  expect(JSON.stringify(system)).toContain("Mind the knots.");
  writeFileSync(join(folder, "AGENTS.md"), "Mind the harness.\n");
  terminal.ask("second");
  await terminal.untilSeen("AGENTS.md changed since this program started");
  await terminal.untilSeen("Two.");
  terminal.ask("third");
  await terminal.untilSeen("Three.");
  expect(terminal.text().split("changed since this program").length).toBe(2);
});

test("a run that is resumed under another AGENTS.md says that its instructions changed", async () => {
  const folder = folderWith("drifting", { "AGENTS.md": "Mind the knots.\n" });
  const first = await talk([["Half ", { stall: true }]], { folder });
  first.ask("begin");
  await first.untilSeen("Half");
  first.press(ESC);
  await first.untilSeen("── stopped");
  first.press(CTRL_D);
  await first.exited;
  writeFileSync(join(folder, "AGENTS.md"), "Mind the harness.\n");
  const second = await talk([["whole."]], { folder, args: ["--continue"], ready: "to continue" });
  second.press(ENTER);
  await second.untilSeen("Since this run began:");
  await second.untilSeen("its instructions changed");
  await second.untilSeen("whole.");
});

test("the bell rings for a person that looks elsewhere when a request waits, and it is no bell of the model's", async () => {
  const terminal = await talk([["Now.\u0007", write("a.txt")]]);
  terminal.press(FOCUS_OUT);
  await sleep(100);
  const before = terminal.raw.split("\u0007").length;
  terminal.ask("write it");
  await terminal.untilSeen("Yes, once");
  await sleep(100);
  expect(terminal.raw.split("\u0007").length).toBe(before + 1);
});

test("in a terminal with notifications it is one, with words of our own", async () => {
  const env = { TERM_PROGRAM: "WezTerm" };
  const terminal = await talk([["Done."]], { env });
  terminal.press(FOCUS_OUT);
  await sleep(100);
  terminal.ask("do it");
  await terminal.untilSeen("Done.");
  await expect.poll(() => terminal.raw).toContain(`${ESC}]9;belay is done\u0007`);
});

test("an unknown command never reaches the model; the palette completes and runs those there are", async () => {
  const terminal = await talk([["Never."]]);
  terminal.press("/model-x");
  await terminal.untilSeen("› /model-x");
  terminal.press(ENTER);
  await terminal.untilSeen("There is no command /model-x, and it was not sent.");
  terminal.press("\u0015/");
  await terminal.untilSeen("/help keys and commands");
  terminal.press("ru");
  await terminal.untilSeen("❯ /rules");
  terminal.press(ENTER);
  await terminal.untilSeen("For the rest:");
  terminal.press(`/cost${ENTER}`);
  await terminal.untilSeen("This thread has used 0 tokens in and 0 out.");
  expect(terminal.wire.requests).toHaveLength(0);
});

test("/compact sums up before the next request, in view, with its focus; the meter starts again", async () => {
  const long = "A long answer about ropes. ".repeat(40);
  const terminal = await talk([[long], ["Ropes were discussed."], ["Short."]]);
  terminal.ask("tell me about ropes");
  await terminal.untilSeen("% context");
  terminal.press(`/compact the knots${ENTER}`);
  await terminal.untilSeen("what was said so far is summed up");
  terminal.ask("and now?");
  await terminal.untilSeen("The context was summed up");
  await terminal.untilSeen("Short.");
  expect(JSON.stringify((await terminal.wire.arrived(2)).body)).toContain("keep above all: the knots");
  expect(JSON.stringify((await terminal.wire.arrived(3)).body)).toContain("Ropes were discussed.");
});

test("/export writes the thread to a file and replaces none; /new starts another; Ctrl-R finds inputs of both", async () => {
  const terminal = await talk([["One."], ["Two."]]);
  terminal.ask("count the ropes");
  await terminal.untilSeen("One.");
  await terminal.untilSeen("· ready");
  terminal.press(`/export talk.md${ENTER}`);
  await terminal.untilSeen("Written to talk.md.");
  expect(readFileSync(join(terminal.folder, "talk.md"), "utf8")).toContain("count the ropes");
  terminal.press(`/export talk.md${ENTER}`);
  await terminal.untilSeen("talk.md already exists.");
  terminal.press(`/new${ENTER}`);
  await terminal.untilGone("count the ropes");
  terminal.ask("count the knots");
  await terminal.untilSeen("Two.");
  await terminal.untilSeen("· ready");
  terminal.press(CTRL_R);
  await terminal.untilSeen(/❯ count the knots.*count the ropes/);
  terminal.press("ropes");
  await terminal.untilSeen("❯ count the ropes");
  terminal.press(ENTER);
  await terminal.untilSeen("› count the ropes");
  expect(existsSync(join(terminal.folder, "belay-undefined.md"))).toBe(false);
  await sleep(SEEN_MS);
  expect(terminal.wire.requests).toHaveLength(2);
});
