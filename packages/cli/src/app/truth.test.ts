// The screen shows the truth: the work of the model, changes, failures. In a real terminal.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { wireServer } from "@belay/testkit/wire";
import { describe, expect, test } from "vitest";
import { testTalks, write } from "../testing/talk.ts";
import { ENTER, ESC } from "../testing/terminal.ts";

const { talk } = testTalks(wireServer);

const CTRL_O = "\u000f";
const anything = { default: "allow" };

describe("a finished change is its difference", () => {
  test("an edit that a rule allows shows it; the next terminal that opens the thread, too", async () => {
    const args = { path: "a.txt", old: "two", new: "zwei" };
    const first = await talk([["I edit.", { call: "edit", id: "c1", args }], ["Edited."]], { rules: anything });
    writeFileSync(join(first.folder, "a.txt"), "one\ntwo\nthree\n");
    first.ask("translate");
    await first.untilSeen("Edited.");
    await first.untilSeen(/✓ edit a\.txt .*-two \d+ \+zwei/);
    expect(JSON.stringify((await first.wire.arrived(2)).body.messages)).not.toContain("+zwei");
    first.kill();
    await first.exited;
    const second = await talk([], { folder: first.folder, args: ["--continue"], rules: anything });
    await second.untilSeen(/✓ edit a\.txt .*-two \d+ \+zwei/);
  });

  test("past 20 lines it is folded, and ctrl-o shows all of it", async () => {
    const text = Array.from({ length: 30 }, (_, at) => `line ${at + 1} of it\n`).join("");
    const terminal = await talk([["I write.", write("long.txt", text)], ["Written."]], { rules: anything, rows: 60 });
    terminal.ask("write");
    await terminal.untilSeen("Written.");
    const seen = await terminal.untilSeen("+line 20 of it");
    expect(seen).not.toContain("+line 21 of it");
    expect(seen).toContain("10 more lines (ctrl-o shows all)");
    terminal.press(CTRL_O);
    await terminal.untilSeen("+line 30 of it");
  });
});

describe("the status names what the run waits for", () => {
  test("arguments that are being written, by their path and size", async () => {
    const args = `{"path": "poem.txt", "text": "${"a rope ".repeat(300)}`;
    const call = { call: "write", id: "c1", args, unfinished: true };
    const terminal = await talk([["I write. ", call, { stall: true }]]);
    terminal.ask("write a poem");
    await terminal.untilSeen(/writing poem\.txt · 1\.1 kB/);
  });

  test("reasoning is one line while it streams, and stays as one; ctrl-o shows it", async () => {
    let finish = () => {};
    const until = new Promise<void>((resolve) => (finish = resolve));
    const reasoning = "First I look at the rope. Then I look at the knot. At last I decide. ".repeat(4);
    const terminal = await talk([[{ reasoning }, { until }, "Decided."]]);
    terminal.ask("decide");
    await terminal.untilSeen(/thought: … .*At last I decide\./);
    await terminal.untilSeen("thinking");
    finish();
    await terminal.untilSeen("Decided.");
    const rows = terminal.view().filter((row) => row.includes("First I look at the rope."));
    expect(rows).toHaveLength(1);
    terminal.press(CTRL_O);
    await terminal.until(/At last I decide\. First I look at the rope\./);
  });
});

test("stdout and stderr stand in the order in which they were written", async () => {
  const command = "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done; exit 1";
  const terminal = await talk([[{ call: "shell", id: "c1", args: { command } }], ["Done."]], { rules: anything });
  terminal.ask("run it");
  await terminal.untilSeen("Done.");
  const { messages } = (await terminal.wire.arrived(2)).body;
  const order = Array.from({ length: 9 }, (_, at) => `out ${at + 1}\nerr ${at + 1}\n`).join("");
  expect(messages.at(-1).content).toBe(`${order}[exit code 1]`);
});

describe("a resize", () => {
  test.each([
    [
      "lower and higher",
      [
        [90, 14],
        [90, 30],
      ],
    ],
    [
      "higher and lower",
      [
        [90, 44],
        [90, 30],
      ],
    ],
    [
      "narrower and wider",
      [
        [70, 30],
        [90, 30],
      ],
    ],
    ["a storm", Array.from({ length: 30 }, (_, at) => [60 + (at % 7) * 5, 12 + (at % 5) * 4])],
  ] as const)("%s leaves no copy of the screen in the scroll-back", async (_, sizes) => {
    const lines = Array.from({ length: 60 }, (_, at) => `- item number ${at + 1} of the list`).join("\n");
    const terminal = await talk([[`${lines}\n`]]);
    terminal.ask("list them");
    await terminal.untilSeen("item number 60 of");
    await terminal.untilSeen("· ready");
    for (const [columns, rows] of sizes) {
      terminal.resize(columns!, rows!);
      if (sizes.length < 10) await sleep(300);
    }
    await sleep(500);
    await terminal.untilSeen("item number 60 of");
    const count = () =>
      Array.from({ length: 60 }, (_, at) => terminal.text().split(`item number ${at + 1} of`).length - 1);
    // On a busy machine the last drawing is still on its way.
    for (let looks = 0; looks < 50 && Math.min(...count()) < 1; looks += 1) await sleep(100);
    const counts = count();
    // All rows are written, and a terminal that wraps anew may push a few of them off before they are drawn again.
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(1);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThan(60 + 20);
  });
});

describe("a failure in a person's words", () => {
  test("a refused key names the variable, in both languages", async () => {
    for (const [args, words] of [
      [[], "The key in BELAY_API_KEY was refused for"],
      [["--lang", "zh"], "BELAY_API_KEY 中的密钥被"],
    ] as const) {
      const ready = args.length === 0 ? "Ask, or tell it" : "›";
      const terminal = await talk([{ status: 401, message: "no such key" }], { args, ready });
      terminal.ask("hello");
      await terminal.until(words);
      expect(terminal.text()).not.toContain("resume()");
    }
  });

  test("a limit of turns is a pause: Enter continues", async () => {
    const call = (at: number) => [{ call: "list", id: `c${at}`, args: {} }];
    const terminal = await talk([...Array.from({ length: 100 }, (_, at) => call(at)), ["The end."]]);
    terminal.ask("loop");
    await terminal.untilSeen("100 turns used. ⏎ continues with as many again.");
    await terminal.untilSeen("· turns used · ⏎");
    terminal.press(ENTER);
    await terminal.untilSeen("The end.");
    terminal.press(ESC);
  });
});
