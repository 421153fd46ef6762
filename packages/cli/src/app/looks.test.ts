import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { wireServer } from "@belay/testkit/wire";
import { describe, expect, test } from "vitest";
import { SEEN_MS, testTalks, write } from "../testing/talk.ts";
import { CTRL_D, ENTER, ESC, TAB } from "../testing/terminal.ts";

const { talk } = testTalks(wireServer);

describe("what is drawn", () => {
  const hostile = `red ${ESC}[31mtext${ESC}[2J ${ESC}]0;pwned\u0007 ${ESC}]52;c;cHduZWQ=\u0007 ${ESC}]8;;https://evil.example${ESC}\\link${ESC}]8;;${ESC}\\ \u009b2J end`;

  test("words of a model, a tool and a file name cannot draw, title, copy or link", async () => {
    const pieces = [...hostile].map((character) => character);
    const terminal = await talk([
      [...pieces, { call: "read", id: "c1", args: { path: "hostile.txt" } }],
      [`${hostile}.`],
    ]);
    writeFileSync(join(terminal.folder, "hostile.txt"), hostile);
    terminal.ask("speak");
    await terminal.untilSeen("end.");
    for (const sequence of [
      `${ESC}[31mtext`,
      `${ESC}]0;`,
      `${ESC}]52`,
      `${ESC}]8;`,
      "pwned",
      "evil.example",
      "\u009b",
    ]) {
      expect(terminal.raw, JSON.stringify(sequence)).not.toContain(sequence);
    }
    expect(terminal.text()).toContain("red text link end.");
  });

  test("NO_COLOR: no colour at all", async () => {
    const terminal = await talk([["# Title\n\n**bold** and `code`"]], { env: { NO_COLOR: "1" } });
    terminal.ask("speak");
    await terminal.untilSeen("bold and code");
    await terminal.untilSeen("· ready");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what a terminal gets.
    expect(terminal.raw.match(/\u001b\[[0-9;]*[1-9][0-9;]*m/g) ?? []).toEqual([]);
  });

  test("40 columns: every row fits, and no word is lost", async () => {
    const terminal = await talk(
      [["A long line that has to be broken into several rows, with `code` in it.", write("a.txt")]],
      {
        columns: 40,
        rows: 24,
      },
    );
    terminal.ask("speak");
    const seen = await terminal.untilSeen("Yes, once");
    expect(seen).toContain("broken into several");
    await terminal.untilSeen("waiting for your answer");
  });

  test("Chinese, by --lang or the environment", async () => {
    const terminal = await talk([["你好", { stall: true }]], { env: { LANG: "zh_CN.UTF-8" }, ready: "请提问" });
    terminal.ask("你好");
    await terminal.untilSeen("esc 停止");
    terminal.press(ESC);
    // Y10: the rows that a person reads after a stop.
    await terminal.untilSeen("执行已暂停");
  });

  test("plain: nothing is painted over, states are said, requests are read out", async () => {
    const terminal = await talk([["Hello there.", write("a.txt")], ["Written."]], { args: ["--plain"], ready: ">" });
    terminal.ask("hi");
    await terminal.until("You: hi");
    await terminal.until("Agent: Hello there.");
    await terminal.until("State: waiting for your answer");
    await terminal.until("y: Yes, once");
    await sleep(SEEN_MS);
    terminal.press(`y${ENTER}`);
    await terminal.until("Agent: Written.");
    await terminal.until("State: ready");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what a terminal gets.
    expect(terminal.raw.match(/\u001b\[\d*[ABCDHJ]/g) ?? []).toEqual([]);
  });

  test("a terminal that is dumb gets lines and no sequence at all", async () => {
    const terminal = await talk([["Hello there."]], { env: { TERM: "dumb" }, ready: ">" });
    terminal.press("hu");
    await terminal.until("> hu");
    terminal.press(`\u007fi${ENTER}`);
    await terminal.until("Agent: Hello there.");
    await terminal.until("State: ready");
    terminal.press(CTRL_D);
    expect(await terminal.exited).toBe(0);
    expect(terminal.raw).not.toContain(ESC);
  });

  test("plain: pending input is announced once, and again when a stop holds it", async () => {
    const terminal = await talk([["Working ", { stall: true }]], { args: ["--plain"], ready: ">" });
    terminal.ask("begin");
    await terminal.until("State: answering");
    terminal.ask("mind the rope");
    await terminal.until("pending: mind the rope alt-up takes it back");
    terminal.press(`then that${TAB}`);
    await terminal.until("queued: then that alt-up takes it back");
    terminal.press(ESC);
    await terminal.until("held: then that ctrl-s sends the queue · alt-up takes it back");
    await terminal.until("State: stopped");
    for (const line of ["pending: mind", "queued: then", "held: then"])
      expect(terminal.text().split(line).length).toBe(2);
  });

  test("the keys can all be read in a small terminal", async () => {
    const terminal = await talk([], { columns: 40, rows: 16, ready: "Ask, or tell it" });
    terminal.press("?");
    expect(await terminal.untilSeen("↑↓ · Esc closes")).not.toContain("this page");
    for (let pressed = 0; pressed < 12; pressed += 1) terminal.press(`${ESC}[B`);
    await terminal.untilSeen(/this page, when nothing is typed/);
    terminal.press(ESC);
    await terminal.untilGone("Esc closes");
  });

  test("a terminal that becomes narrow and wide again keeps every word", async () => {
    const terminal = await talk([["Every word of this answer stays, however wide the screen is."]]);
    terminal.ask("speak");
    await terminal.untilSeen("wide the screen is.");
    terminal.resize(34, 20);
    await sleep(200);
    terminal.resize(100, 30);
    await terminal.untilSeen("Every word of this answer stays, however wide the screen is.");
    await terminal.untilSeen("· ready");
  });
});
