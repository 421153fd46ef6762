// People answer for all of what they are asked about: what has no room in the dialog stands above it, whole.

import { wireServer } from "@belay/testkit/wire";
import { expect, test } from "vitest";
import { testTalks, write } from "../testing/talk.ts";
import { CTRL_D } from "../testing/terminal.ts";

const { talk } = testTalks(wireServer);

const lines = (n: number) => Array.from({ length: n }, (_, at) => `line ${at + 1}`);
/** In the dialog each row has a bar before it. */
const above = (n: number) =>
  lines(n)
    .map((line) => `+${line}`)
    .join(" ");

test("when it is asked, and again where the thread is opened again", async () => {
  const text = `${lines(40).join("\n")}\n`;
  const first = await talk([["I write.", write("a.txt", text)]]);
  first.ask("write");
  await first.untilSeen("Yes, once");
  await first.until(above(40));
  first.press(CTRL_D);
  await first.exited;
  const second = await talk([], { folder: first.folder, args: ["--continue"], ready: "Yes, once" });
  await second.until(above(40));
  expect(second.text().split(above(40))).toHaveLength(2);
});

test("when the terminal has become too small for it", async () => {
  const terminal = await talk([["I write.", write("a.txt", `${lines(9).join("\n")}\n`)]], { rows: 40 });
  terminal.ask("write");
  await terminal.untilSeen("Yes, once");
  await terminal.untilSeen("│ +line 9");
  expect(terminal.text()).not.toContain(above(9));
  terminal.resize(60, 16);
  await terminal.until(above(9));
  await terminal.untilSeen("Yes, once");
});
