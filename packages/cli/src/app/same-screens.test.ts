// How the app looks, kept as files in `kept-screens`: one story in every size, palette and language. A difference is looked at,
// and then kept with `npx vitest run packages/cli/src/app/same-screens --update`.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type WireReply, wireServer } from "@belay/testkit/wire";
import { expect, test } from "vitest";
import { DARK, LIGHT, screenSvg } from "../testing/screen-svg.ts";
import { SEEN_MS, testTalks } from "../testing/talk.ts";
import { ENTER, ESC, type Terminal } from "../testing/terminal.ts";
import { en } from "../texts/en.ts";
import type { Texts } from "../texts/texts.ts";
import { zh } from "../texts/zh.ts";

const kept = fileURLToPath(new URL("kept-screens", import.meta.url));
const { program, talk } = testTalks(wireServer);

const english = {
  asked: "Do the tests pass?",
  first: "I look first.",
  table:
    "Two of them fail:\n\n| test | file | ms |\n|---|---|---:|\n| returns within 30 days | `returns.test.ts` | 12 |\n| mail | `mail.test.ts` | 1204 |\n\n```ts\nexport const DAYS = 30; // was 14\n```\n\nI would change ",
  next: "leave the mail alone",
};
const chinese = {
  asked: "测试通过了吗？",
  first: "我先看看。",
  table:
    "有两个失败：\n\n| 测试 | 文件 | 毫秒 |\n|---|---|---:|\n| 三十天内退货 | `returns.test.ts` | 12 |\n| 邮件 | `mail.test.ts` | 1204 |\n\n我想修改 ",
  next: "先不要动邮件",
};

interface Variant {
  readonly name: string;
  readonly columns: number;
  readonly rows: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly paper?: typeof DARK;
  readonly texts?: Texts;
}

const usual = { columns: 80, rows: 24 };
const variants: readonly Variant[] = [
  { name: "dark", ...usual, env: { COLORTERM: "truecolor" }, paper: DARK },
  { name: "light", ...usual, env: { COLORTERM: "truecolor", BELAY_THEME: "light" }, paper: LIGHT },
  { name: "256-colours", ...usual, paper: DARK },
  { name: "16-colours-light", ...usual, env: { TERM: "xterm", BELAY_THEME: "light" }, paper: LIGHT },
  { name: "chinese", ...usual, env: { COLORTERM: "truecolor", LANG: "zh_CN.UTF-8" }, paper: DARK, texts: zh },
  { name: "no-color", ...usual, env: { NO_COLOR: "1" } },
  { name: "40x10", columns: 40, rows: 10, env: { NO_COLOR: "1" } },
];

/** A stop after this time is shown in whole seconds, on fast and on slow machines. */
const A_SECOND = 1_200;

/** Makes equal what differs from run to run. */
const steady = (text: string) =>
  text
    .replace(/\/\S*belay-app-[^/]+\/\w+/g, "~")
    .replace(/127\.0\.0\.1:\d{5}\/test/g, "ollama/qwen3.5-coder")
    .replace(/\b\d s\b/g, "3 s")
    .replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, "⠹");

/** The screen when it has come to rest. */
async function keep(terminal: Terminal, { name, paper }: Variant, moment: string): Promise<void> {
  const drawn = () =>
    paper === undefined
      ? `${steady(terminal.view().join("\n"))}\n`
      : screenSvg(terminal.screen, `${name}: ${moment}`, steady, paper);
  for (let before = ""; before !== drawn(); await sleep(150)) before = drawn();
  await expect(drawn()).toMatchFileSnapshot(join(kept, `${name}-${moment}.${paper === undefined ? "txt" : "svg"}`));
}

function shop(name: string) {
  const folder = join(program().place, name, "rope-shop");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "README.md"), "# Ropes\n\nA shop that sells ropes to climbers.\n");
  writeFileSync(join(folder, "AGENTS.md"), "Write tests first.\n");
  return { folder, home: join(program().place, name) };
}

function story(words: typeof english): readonly WireReply[] {
  const command = "echo '2 of 14 tests failed'; exit 1";
  return [
    [words.first, { call: "read", id: "c1", args: { path: "README.md" } }],
    [{ call: "shell", id: "c2", args: { command } }],
    [words.table, { stall: true }],
  ];
}

test.each(variants)("$name", async (variant) => {
  const { name, columns, rows, texts = en } = variant;
  const words = texts === en ? english : chinese;
  const { folder, home } = shop(name);
  const env = { HOME: home, ...variant.env };
  const terminal = await talk(story(words), { folder, env, columns, rows, ready: texts.app.prompt.slice(0, 4) });
  await keep(terminal, variant, "1-start");
  terminal.ask(words.asked);
  await terminal.untilSeen(texts.dialog.once);
  await sleep(SEEN_MS);
  await keep(terminal, variant, "2-asks");
  terminal.press(ENTER);
  await terminal.until(words.table.slice(-6).trim());
  await sleep(A_SECOND);
  terminal.press(ESC);
  await terminal.untilSeen(texts.stop.continue);
  terminal.press(words.next);
  await keep(terminal, variant, "3-stopped");
});

test("plain: the same in lines that are written once", async () => {
  const { folder, home } = shop("plain");
  const env = { HOME: home };
  const terminal = await talk(story(english), { folder, env, ...usual, args: ["--plain"], ready: ">" });
  terminal.ask(english.asked);
  await terminal.until("Yes, once");
  await sleep(SEEN_MS);
  terminal.press(ENTER);
  // The last line is said when it is whole.
  await terminal.until("export const DAYS");
  await sleep(A_SECOND);
  terminal.press(ESC);
  await terminal.until("State: stopped");
  const { active } = terminal.screen.buffer;
  const lines = Array.from({ length: active.length }, (_, at) => active.getLine(at)?.translateToString(true) ?? "");
  // States that may pass too quickly to be said.
  const said = lines.filter((line) => !/^State: (?:thinking|answering|working|writing|stopping)/.test(line));
  await expect(`${steady(said.join("\n")).trimEnd()}\n`).toMatchFileSnapshot(join(kept, "plain.txt"));
});

const demos: readonly (Variant & { readonly texts: Texts })[] = [
  { name: "demo", ...usual, env: { COLORTERM: "truecolor" }, paper: DARK, texts: en },
  { name: "demo-chinese", ...usual, env: { COLORTERM: "truecolor", LANG: "zh_CN.UTF-8" }, paper: DARK, texts: zh },
];

test.each(demos)("$name lists inputs to type, and gives a tour", async (variant) => {
  const { name, texts, ...size } = variant;
  const { folder, home } = shop(name);
  const env = { HOME: home, BELAY_DATA: join(home, "data"), ...variant.env };
  const terminal = program().open(["--model", "demo", "--no-mcp"], { ...size, cwd: folder, env });
  await terminal.untilSeen(texts.demo.choose);
  await keep(terminal, variant, "1-start");
  terminal.press(`\t`);
  await terminal.untilSeen(`› ${texts.demo.tour}`);
  terminal.press(ENTER);
  await terminal.untilSeen(texts.demo.steps[0]!);
  await sleep(A_SECOND);
  terminal.press(ESC);
  await terminal.untilSeen(texts.demo.steps[1]!);
  terminal.press(`\t`);
  await terminal.untilSeen(`› ${texts.demo.tourInstead}`);
  terminal.press(ENTER);
  await terminal.untilSeen(texts.demo.steps[2]!);
  await sleep(SEEN_MS);
  terminal.press(ENTER);
  await terminal.untilSeen(texts.demo.steps[3]!);
  terminal.press(ESC);
  await terminal.untilSeen(texts.status.rewindHint);
  terminal.press(ESC);
  // How much was said before the stop differs: this screen is not kept.
  const seen = await terminal.untilSeen(texts.picker.rewind);
  for (const words of [texts.demo.tour, `❯ ${texts.demo.tourInstead}`, "· write TOUR.md"])
    expect(seen).toContain(words);
});
