// The pictures in the docs are screens of the app. `npx vitest run packages/cli/src/app/screens --update` draws them anew.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type WireReply, wireServer } from "@belay/testkit/wire";
import { expect, test } from "vitest";
import { DARK, LIGHT, screenSvg } from "../testing/screen-svg.ts";
import { SEEN_MS, testTalks } from "../testing/talk.ts";
import { ENTER, ESC, TAB, type Terminal } from "../testing/terminal.ts";

const docs = fileURLToPath(new URL("../../../../docs/screens", import.meta.url));
const { program, talk } = testTalks(wireServer);

function shop(name: string): string {
  const folder = join(program().place, name, "rope-shop");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "README.md"), "# Ropes\n\nA shop that sells ropes to climbers.\n");
  writeFileSync(join(folder, "AGENTS.md"), "Write tests first.\n");
  return folder;
}

async function inShop(name: string, replies: readonly WireReply[], more: Readonly<Record<string, string>> = {}) {
  const folder = shop(name);
  const env = { HOME: join(program().place, name), COLORTERM: "truecolor", ...more };
  const allow = (command: string) => ({ tool: "shell", args: { command }, effect: "allow" });
  const rules = { rules: [allow("npm *"), allow("sleep *")] };
  return talk(replies, { folder, env, rules, columns: 84, rows: 26 });
}

/** Replaces the parts that differ from run to run. */
function steady(text: string): string {
  return text
    .replace(/127\.0\.0\.1:\d{5}\/test/g, "ollama/qwen3.5-coder")
    .replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, "⠹")
    .replace(/\b\d s\b/g, "3 s")
    .replaceAll(`by ${userInfo().username}`, "by ana");
}

async function picture(terminal: Terminal, name: string, title: string, paper = DARK): Promise<void> {
  const file = join(docs, `${name}.svg`);
  const drawn = () => screenSvg(terminal.screen, title, steady, paper);
  const kept = existsSync(file) ? readFileSync(file, "utf8") : undefined;
  // Not all of it need be on the screen yet: it is another picture when it stays another one.
  for (const started = Date.now(); drawn() !== kept && Date.now() - started < 3_000; ) await sleep(20);
  await expect(drawn()).toMatchFileSnapshot(file);
}

const answer =
  "This shop takes **returns** within 30 days. Three places decide that:\n\n- `src/returns.ts` counts the days\n- `src/mail.ts` tells the customer\n\n```ts\nexport const DAYS = 30; // was 14\n```\n\nThe tests do not ";

test("ESC: the text stays, and the next instruction changes the direction", async () => {
  const terminal = await inShop("esc", [[answer, { stall: true }]]);
  terminal.ask("How do returns work here?");
  await terminal.untilSeen("The tests do not");
  // A stop after a second is shown in whole seconds, on fast and on slow machines.
  await sleep(1_200);
  terminal.press(ESC);
  await terminal.untilSeen("── stopped");
  terminal.press("focus on the tests");
  await terminal.untilSeen("› focus on the tests");
  await picture(terminal, "interrupted", "An answer that was stopped, and a new instruction on the prompt");
});

test("the same in light colours", async () => {
  const terminal = await inShop("light", [[answer, { stall: true }]], { BELAY_THEME: "light" });
  terminal.ask("How do returns work here?");
  await terminal.untilSeen("The tests do not");
  // A stop after a second is shown in whole seconds, on fast and on slow machines.
  await sleep(1_200);
  terminal.press(ESC);
  await terminal.untilSeen("── stopped");
  await picture(terminal, "light", "A stop, in light colours", LIGHT);
});

test("the demo: inputs to type", async () => {
  const home = join(program().place, "demo");
  const env = { HOME: home, BELAY_DATA: join(home, "data"), COLORTERM: "truecolor" };
  const cwd = shop("demo");
  const terminal = program().open(["--model", "demo", "--no-mcp"], { cwd, env, columns: 84, rows: 26 });
  await terminal.untilSeen("Take the tour");
  terminal.press(TAB);
  await terminal.untilSeen("❯ Take the tour");
  await picture(terminal, "demo", "The first screen of the demo");
});

test("an approval: the exact effect of a yes, and the ways to answer", async () => {
  const edit = { path: "README.md", old: "to climbers.", new: "to climbers, and takes them back." };
  const terminal = await inShop("approval", [["I say so on the first page.", { call: "edit", id: "c1", args: edit }]]);
  terminal.ask("Say in the README that we take ropes back");
  await terminal.untilSeen("Yes, once");
  await picture(terminal, "approval", "A request: the difference, and the ways to answer");
});

test("steering: pending input, and input for the next run", async () => {
  const command = "npm --version; sleep 60";
  const terminal = await inShop("steer", [["I run the tests first.", { call: "shell", id: "c1", args: { command } }]]);
  terminal.ask("Make the tests pass");
  await terminal.untilSeen("working");
  terminal.press(`leave the snapshots alone${ENTER}`);
  await terminal.untilSeen("pending: leave");
  terminal.press(`then write the changelog${TAB}`);
  await terminal.untilSeen("queued: then write");
  await terminal.untilSeen(/\d+\.\d+\.\d+/);
  await expect(terminal.untilSeen("esc to stop")).resolves.toContain("pending: leave the snapshots alone");
});

test("going back: the messages, and the effects since", async () => {
  const write = { path: "CHANGELOG.md", text: "# Changes\n" };
  const terminal = await inShop("rewind", [
    ["I write it.", { call: "write", id: "c1", args: write }],
    ["Written."],
    ["Bye."],
  ]);
  terminal.ask("Begin a changelog");
  await terminal.untilSeen("Yes, once");
  await sleep(SEEN_MS);
  terminal.press(`y${ENTER}`);
  await terminal.untilSeen("Written.");
  await terminal.untilSeen("· ready");
  terminal.ask("Thank you");
  await terminal.untilSeen("Bye.");
  await terminal.untilSeen("· ready");
  terminal.press(ESC);
  await terminal.untilSeen("Esc again to rewind");
  terminal.press(ESC);
  await terminal.untilSeen("Rewind to before which message?");
  terminal.press(`${ESC}[A`);
  await terminal.untilSeen("Done since then");
  await picture(terminal, "rewind", "The messages to go back to, and the effects since");
});
